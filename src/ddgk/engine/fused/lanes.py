"""Vectors of eight numbers: the value every kernel computes with.

A `Lanes` value is one LLVM vector of LANES numbers, a single AVX2 register in float32. Kernels
read and write it at an offset of a flat array and use it like a number; nothing ever passes from
one lane to another, except where a function says so.

Kernels train in float32 and sum losses in float64. Elementary functions are polynomials in float32:
Numba's compiler has no vector library, and a call per number would cost more than all products
together. They are accurate to a few 1e-7 relative, as torch's are; nan comes out as nan.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.types.misc import unliteral
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import lower_builtin, register_model

from ddgk.compiling import inlined

LANES = 8


def intrinsic(function: Callable[..., Any]) -> Any:
    """Make a function that writes LLVM instructions callable in kernels."""
    return numba_intrinsic(function)


class LanesType(types.Type):
    """The type of LANES numbers of one kind."""

    def __init__(self, element: Any) -> None:
        super().__init__(name=f"Lanes({element})")
        self.element = element

    @property
    def key(self) -> Any:
        """Tell lanes of unlike numbers apart."""
        return self.element


LANES_OF = {element: LanesType(element) for element in (types.float32, types.float64)}


def vector_type(element: Any) -> ir.VectorType:
    """Return the LLVM type of LANES numbers."""
    number = ir.FloatType() if element == types.float32 else ir.DoubleType()
    return ir.VectorType(number, LANES)


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    """Lanes are held as an LLVM vector everywhere."""

    def __init__(self, manager: Any, kind: LanesType) -> None:
        super().__init__(manager, kind, vector_type(kind.element))


def spread(builder: Any, number: Any) -> Any:
    """Emit a vector with the same number in every lane."""
    vector = ir.VectorType(number.type, LANES)
    first = ir.Constant(ir.IntType(32), 0)
    single = builder.insert_element(ir.Constant(vector, ir.Undefined), number, first)
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(single, ir.Constant(vector, ir.Undefined), zeros)


def data_pointer(context: Any, builder: Any, kind: Any, array: Any, offset: Any) -> Any:
    """Emit the address of entry `offset` of a flat array."""
    data = cgutils.create_struct_proxy(kind)(context, builder, value=array).data
    return builder.gep(data, [offset])


def read_vector(builder: Any, pointer: Any, element: Any) -> Any:
    """Emit an unaligned read of LANES numbers."""
    wide = builder.bitcast(pointer, vector_type(element).as_pointer())
    return builder.load(wide, align=4 if element == types.float32 else 8)


def write_vector(builder: Any, pointer: Any, value: Any, element: Any) -> None:
    """Emit an unaligned write of LANES numbers."""
    wide = builder.bitcast(pointer, vector_type(element).as_pointer())
    builder.store(value, wide, align=4 if element == types.float32 else 8)


def multiply_add(builder: Any, left: Any, right: Any, addend: Any) -> Any:
    """Emit left * right + addend, in one rounding where the processor can."""
    return call_vector(builder, "llvm.fmuladd", left, right, addend)


def call_vector(builder: Any, name: str, *values: Any) -> Any:
    """Emit a call of an LLVM intrinsic from vectors to a vector of the same type."""
    kind = values[0].type
    bits = 32 if kind.element == ir.FloatType() else 64
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [kind] * len(values)), f"{name}.v{LANES}f{bits}"
    )
    return builder.call(function, values)


@intrinsic
def take(_typing: Any, array: Any, offset: Any) -> Any:  # noqa: ARG001
    """Read the LANES numbers from `offset` on."""
    kind = LANES_OF[array.dtype]

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = data_pointer(context, builder, array, *arguments)
        return read_vector(builder, pointer, array.dtype)

    return kind(array, types.intp), emit


@intrinsic
def store(_typing: Any, array: Any, offset: Any, value: Any) -> Any:  # noqa: ARG001
    """Write LANES numbers from `offset` on."""

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = data_pointer(context, builder, array, *arguments[:2])
        write_vector(builder, pointer, arguments[2], array.dtype)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), emit


@intrinsic
def repeat(_typing: Any, array: Any, offset: Any) -> Any:  # noqa: ARG001
    """Read one number into every lane."""

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return spread(builder, builder.load(data_pointer(context, builder, array, *arguments)))

    return LANES_OF[array.dtype](array, types.intp), emit


@intrinsic
def fill(_typing: Any, like: Any, number: Any) -> Any:
    """Put a number into every lane, in the precision of the array or the lanes `like`."""
    element = like.element if isinstance(like, LanesType) else like.dtype

    def emit(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return spread(builder, context.cast(builder, arguments[1], sig.args[1], element))

    return LANES_OF[element](like, number), emit


@intrinsic
def fma(_typing: Any, left: Any, right: Any, addend: Any) -> Any:
    """Return left * right + addend; any of them may be a number."""
    kind = next(t for t in (left, right, addend) if isinstance(t, LanesType))

    def emit(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        values = _as_lanes(context, builder, sig, arguments, kind)
        return multiply_add(builder, *values)

    return kind(left, right, addend), emit


@intrinsic
def square_root(_typing: Any, value: Any) -> Any:
    """Return the square root of every lane."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return call_vector(builder, "llvm.sqrt", *arguments)

    return value(value), emit


@intrinsic
def where_above(_typing: Any, value: Any, bound: Any, above: Any, otherwise: Any) -> Any:
    """Return `above` in the lanes where value > bound, else `otherwise`; nan is not above."""
    kind = next(t for t in (value, bound, above, otherwise) if isinstance(t, LanesType))

    def emit(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        v, b, a, o = _as_lanes(context, builder, sig, arguments, kind)
        return builder.select(builder.fcmp_ordered(">", v, b), a, o)

    return kind(value, bound, above, otherwise), emit


@intrinsic
def widen(_typing: Any, value: Any) -> Any:
    """Return the lanes in float64."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        wide = vector_type(types.float64)
        return arguments[0] if arguments[0].type == wide else builder.fpext(arguments[0], wide)

    return LANES_OF[types.float64](value), emit


def _as_lanes(context: Any, builder: Any, sig: Any, arguments: Any, kind: LanesType) -> list[Any]:
    """Widen plain numbers among the arguments to lanes."""
    return [
        value
        if isinstance(given, LanesType)
        else spread(builder, context.cast(builder, value, given, kind.element))
        for value, given in zip(arguments, sig.args, strict=True)
    ]


def _make_operator(symbol: Any, emit_vector: Callable[[Any, Any, Any], Any]) -> None:
    """Let `symbol` work between lanes, and between lanes and a number."""

    @infer_global(symbol)
    class Template(AbstractTemplate):  # type: ignore[misc]
        """The result has the precision of the lanes."""

        def generic(self, args: Any, kws: Any) -> Any:
            """Accept two operands of which at least one is lanes."""
            kinds = [t for t in args if isinstance(t, LanesType)]
            if kws or len(args) != 2 or not kinds:
                return None
            if all(isinstance(t, LanesType | types.Number | types.Literal) for t in args):
                return signature(kinds[0], *(unliteral(t) for t in args))
            return None

    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        kind = sig.return_type
        return emit_vector(builder, *_as_lanes(context, builder, sig, arguments, kind))

    for pair in (
        (LanesType, LanesType),
        (LanesType, types.Number),
        (types.Number, LanesType),
    ):
        lower_builtin(symbol, *pair)(lower)


_make_operator(operator.add, lambda builder, a, b: builder.fadd(a, b))
_make_operator(operator.sub, lambda builder, a, b: builder.fsub(a, b))
_make_operator(operator.mul, lambda builder, a, b: builder.fmul(a, b))
_make_operator(operator.truediv, lambda builder, a, b: builder.fdiv(a, b))


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
def exponential(x: Any) -> Any:
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
def logarithm(x: Any) -> Any:
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
    """Emit tanh of a vector in float32, a ratio of polynomials."""

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


@inlined
def one_more_logarithm(x: Any) -> Any:
    """Log(1 + x) for 0 <= x <= 1."""
    return _twice_artanh(x / (x + 2.0))


@inlined
def sigmoid(x: Any) -> Any:
    """1 / (1 + e^-x)."""
    return 1.0 / (exponential(0.0 - x) + 1.0)
