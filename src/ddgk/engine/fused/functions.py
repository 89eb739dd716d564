"""Elementary functions of lanes: polynomials in float32, the C library in float64.

Numba's compiler has no vector library, and a call per number would cost more than all products
together. The float32 versions are accurate to a few 1e-7 relative, as the torch ones are; nan
comes out as nan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import overload

from ddgk.engine.fused.compiling import EXACTLY, inlined, intrinsic
from ddgk.engine.fused.lanes import LANES, LANES_OF, fma, multiply_add, where_above

SINGLE = LANES_OF[types.float32]


def _from_library(name: str) -> Any:
    """Return a kernel function that calls a function of the C library lane by lane."""

    def function(_typing: Any, value: Any) -> Any:
        def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return _emit_library(builder, name, arguments[0])

        return value(value), emit

    return intrinsic(function)


def _emit_library(builder: Any, name: str, vector: Any) -> Any:
    double = ir.DoubleType()
    called = cgutils.get_or_insert_function(builder.module, ir.FunctionType(double, [double]), name)
    result = vector
    for lane in range(LANES):
        place = ir.Constant(ir.IntType(32), lane)
        number = builder.call(called, [builder.extract_element(vector, place)])
        result = builder.insert_element(result, number, place)
    return result


_library_exp, _library_log, _library_log1p = map(_from_library, ("exp", "log", "log1p"))


@intrinsic
def _scale(_typing: Any, value: Any, shifted: Any) -> Any:
    """Return value 2^n, n held in the low bits of a float32 near 1.5 * 2^23 + n.

    n is added to the exponent in the bits of `value`, which must stay a normal number.
    """

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        whole = ir.VectorType(ir.IntType(32), LANES)
        bits, power = (builder.bitcast(argument, whole) for argument in arguments)
        power = builder.shl(power, ir.Constant(whole, [23] * LANES))
        return builder.bitcast(builder.add(bits, power), arguments[0].type)

    return value(value, shifted), emit


@intrinsic
def _exponent(_typing: Any, value: Any) -> Any:
    """Return e as a float32 such that value = 2^e m, m between sqrt(1/2) and sqrt(2)."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        whole = ir.VectorType(ir.IntType(32), LANES)
        bits = builder.bitcast(arguments[0], whole)
        above = builder.sub(bits, ir.Constant(whole, [0x3F3504F3] * LANES))  # sqrt(1/2)
        exponent = builder.ashr(above, ir.Constant(whole, [23] * LANES))
        return builder.sitofp(exponent, arguments[0].type)

    return value(value), emit


@inlined
def _single_exp(x: Any) -> Any:
    """e^x = 2^n e^r, n = round(x / ln 2), |r| <= ln(2) / 2."""
    x = where_above(-87.0, x, -87.0, x)
    x = where_above(x, 88.0, 88.0, x)
    shifted = fma(x, 1.44269504, 12582912.0)  # 1.5 * 2^23 rounds to a whole number
    n = shifted - 12582912.0
    r = fma(n, -0.693147182, x)  # ln 2 in float32, wrong by 2e-9
    p = fma(r, 0.008290308795, 0.04189793997)  # the best of degree 5 with p(0) = 1
    p = fma(p, r, 0.1666763634)
    p = fma(p, r, 0.4999914945)
    p = fma(p, r, 0.9999997071)
    p = fma(p, r, 1.0)
    return _scale(p, shifted)


@inlined
def _twice_artanh(s: Any) -> Any:
    """2 artanh(s) for |s| <= 1/3, by its series."""
    q = s * s
    p = fma(q, 2.0 / 15, 2.0 / 13)
    p = fma(p, q, 2.0 / 11)
    p = fma(p, q, 2.0 / 9)
    p = fma(p, q, 2.0 / 7)
    p = fma(p, q, 2.0 / 5)
    p = fma(p, q, 2.0 / 3)
    p = fma(p, q, 2.0)
    return p * s


@inlined
def _single_log(x: Any) -> Any:
    """Log x = e ln 2 + 2 artanh((m - 1) / (m + 1))."""
    e = _exponent(x)
    m = _scale(x, 12582912.0 - e)
    return fma(e, 0.693147182, _twice_artanh((m - 1.0) / (m + 1.0))) + x * 0.0  # nan stays nan


# tanh x = x p(x^2) / q(x^2) for |x| <= 7.9, beyond which it is 1 within 4e-7: the ratio of these
# degrees whose largest relative error is least, 2e-7, or 4e-7 with the rounding of float32.
TANH_BOUND = 7.9
TANH_ABOVE = (1.14843344e-05, 0.00295581829, 0.129299739, 0.999999879)
TANH_BELOW = (2.47791474e-07, 0.000239370477, 0.0238347155, 0.462631899, 1.0)


def emit_tanh(builder: Any, x: Any) -> Any:
    """Emit tanh of a vector: a ratio of polynomials in float32, the C library in float64."""
    if x.type.element != ir.FloatType():
        return _emit_library(builder, "tanh", x)

    def constant(number: float) -> Any:
        return ir.Constant(x.type, [number] * LANES)

    def polynomial(coefficients: Sequence[float], square: Any) -> Any:
        result = constant(coefficients[0])
        for coefficient in coefficients[1:]:
            result = multiply_add(builder, result, square, constant(coefficient))
        return result

    for comparison, bound in ((">", constant(TANH_BOUND)), ("<", constant(-TANH_BOUND))):
        x = builder.select(builder.fcmp_ordered(comparison, x, bound), bound, x)
    square = builder.fmul(x, x)
    above = builder.fmul(x, polynomial(TANH_ABOVE, square))
    return builder.fdiv(above, polynomial(TANH_BELOW, square))


@intrinsic
def hyperbolic_tangent(_typing: Any, x: Any) -> Any:
    """Return tanh x."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return emit_tanh(builder, arguments[0])

    return x(x), emit


def exponential(x: Any) -> Any:
    """Return e^x; meant for kernels."""
    raise NotImplementedError


def logarithm(x: Any) -> Any:
    """Return log x of positive numbers; meant for kernels."""
    raise NotImplementedError


def one_more_logarithm(x: Any) -> Any:
    """Return log(1 + x) for 0 <= x <= 1; meant for kernels."""
    raise NotImplementedError


def _offer(function: Any, single: Any, double: Any) -> None:
    """Let kernels call `function`; the precision of the argument decides."""
    options = {**EXACTLY, "forceinline": True}

    @overload(function, jit_options=options)  # type: ignore[untyped-decorator, unused-ignore]
    def choose(x: Any) -> Any:
        chosen = single if x == SINGLE else double

        def call(x: Any) -> Any:
            return chosen(x)

        return call


@inlined
def _single_log1p(x: Any) -> Any:
    return _twice_artanh(x / (x + 2.0))


_offer(exponential, _single_exp, _library_exp)
_offer(logarithm, _single_log, _library_log)
_offer(one_more_logarithm, _single_log1p, _library_log1p)


@inlined
def sigmoid(x: Any) -> Any:
    """1 / (1 + e^-x)."""
    return 1.0 / (exponential(0.0 - x) + 1.0)


@inlined
def softplus(x: Any) -> Any:
    """log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)."""
    size = where_above(x, 0.0, x, 0.0 - x)
    return where_above(0.0, x, 0.0, x) + one_more_logarithm(exponential(0.0 - size))
