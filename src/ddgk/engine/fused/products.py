"""Products of matrices of lanes, a small tile of the result in registers at a time.

A matrix is a view into a flat array: (address, step from row to row, step from column to column),
in numbers, so that a transpose swaps the two steps. An entry is LANES adjacent numbers, or a single
number in a right factor that all lanes share.

Every entry of a result is summed over the inner index in ascending order, starting from 0 or from
what is there, so no way of cutting the work into tiles changes a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.types.misc import CPointer, unliteral

from ddgk.compiling import inlined, inner
from ddgk.engine.fused.lanes import (
    LANES,
    data_pointer,
    emit_tanh,
    intrinsic,
    multiply_add,
    read_vector,
    spread,
    vector_type,
    write_vector,
)

# 3 x 4 sums, and the 4 factors they share, are what fits into 16 registers.
TILE_ROWS = (1, 2, 3)
TILE_COLUMNS = (1, 4)
INNER = 128  # inner indices in one go: what of both factors stays in the first-level cache


class Matrix:
    """A view while instructions are being written: pointers to entries of it."""

    def __init__(self, builder: Any, kind: Any, view: Any) -> None:
        self.start, self.row_step, self.column_step = cgutils.unpack_tuple(builder, view)
        self.builder = builder
        self.element = kind[0].dtype

    def entry(self, row: Any, column: Any) -> Any:
        """Emit the address of an entry."""
        b = self.builder
        step = b.add(b.mul(row, self.row_step), b.mul(column, self.column_step))
        return b.gep(self.start, [step])


def _emit_tile(
    builder: Any,
    views: list[Matrix],
    numbers: Any,
    shape: tuple[int, int],
    kind: str,
    finish: Callable[[Any, Any, Any], Any] | None,
) -> None:
    """Emit out[i + r, j + c] (+)= sum_k left[i + r, k] right[k, j + c] for a tile of that shape."""
    left, right, out = views[:3]
    row, column, n_inner, adds = numbers
    rows, columns = shape
    index = row.type
    vector = vector_type(left.element)
    zero = ir.Constant(vector, [0.0] * LANES)

    def plus(number: Any, constant: int) -> Any:
        return builder.add(number, ir.Constant(index, constant))

    outs = [[out.entry(plus(row, r), plus(column, c)) for c in range(columns)] for r in range(rows)]
    sums = [[cgutils.alloca_once(builder, vector) for _ in range(columns)] for _ in range(rows)]
    for r in range(rows):
        for c in range(columns):
            builder.store(zero, sums[r][c])
    if kind != "summed":
        with builder.if_then(adds):
            for r in range(rows):
                for c in range(columns):
                    builder.store(read_vector(builder, outs[r][c], left.element), sums[r][c])
    origin = ir.Constant(index, 0)
    lefts = [left.entry(plus(row, r), origin) for r in range(rows)]
    rights = [right.entry(origin, plus(column, c)) for c in range(columns)]
    with _loop(builder, n_inner, left.column_step, right.row_step) as (along, down):
        factors = [read_vector(builder, builder.gep(p, [along]), left.element) for p in lefts]
        for c in range(columns):
            pointer = builder.gep(rights[c], [down])
            factor = (
                spread(builder, builder.load(pointer))
                if kind == "shared"
                else read_vector(builder, pointer, right.element)
            )
            for r in range(rows):
                total = multiply_add(builder, factors[r], factor, builder.load(sums[r][c]))
                builder.store(total, sums[r][c])
    for r in range(rows):
        for c in range(columns):
            if kind == "summed":
                _add_sum(builder, builder.load(sums[r][c]), outs[r][c])
            else:
                total = builder.load(sums[r][c])
                if finish is not None:
                    total = finish(total, plus(row, r), plus(column, c))
                write_vector(builder, outs[r][c], total, left.element)


@contextmanager
def _loop(builder: Any, count: Any, *steps: Any) -> Iterator[list[Any]]:
    """Emit a loop of `count` rounds; yields one number per step, 0, step, 2 step, ...

    The compiler is kept from unrolling it: that takes more addresses than there are registers.
    """
    zero, one = (ir.Constant(count.type, number) for number in (0, 1))
    with builder.if_then(builder.icmp_signed(">", count, zero)):
        before = builder.block
        body, after = (builder.append_basic_block(name) for name in ("body", "after"))
        builder.branch(body)
        builder.position_at_end(body)
        counters = [builder.phi(count.type) for _ in (one, *steps)]
        yield counters[1:]
        for counter, step in zip(counters, (one, *steps), strict=True):
            counter.add_incoming(zero, before)
            counter.add_incoming(builder.add(counter, step), builder.block)
        following = counters[0].incomings[1][0]
        back = builder.cbranch(builder.icmp_signed("<", following, count), body, after)
        module = builder.module
        keep = module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])
        itself = module.add_metadata([keep, ir.Constant(ir.IntType(32), len(module.metadata))])
        itself.operands = (itself, keep)
        back.set_metadata("llvm.loop", itself)
        builder.position_at_end(after)


def _add_sum(builder: Any, lanes: Any, pointer: Any) -> None:
    """Emit the addition of all lanes, in pairs, to a single number."""
    number = ir.IntType(32)
    half = LANES
    while half > 1:
        half //= 2
        parts = []
        for first in (0, half):
            places = ir.Constant(
                ir.VectorType(number, half), [first + place for place in range(half)]
            )
            parts.append(
                builder.shuffle_vector(lanes, ir.Constant(lanes.type, ir.Undefined), places)
            )
        lanes = builder.fadd(*parts)
    total = builder.extract_element(lanes, ir.Constant(number, 0))
    builder.store(builder.fadd(builder.load(pointer), total), pointer)


def _panel_of(kind: str, ending: Any = None) -> Any:
    """Return a kernel function that computes a few columns of a product, tile below tile.

    Its sizes are known when it runs. ending: what is done to a sum, given the address of the entry
    of a fourth matrix at its place.
    """

    def emit_panel(context: Any, builder: Any, given: Any, arguments: Any) -> Any:
        # One copy of the tiles for all callers: compiling takes long enough.
        builder.function.attributes.add("noinline")
        n_views = len(given) - 5
        views = [
            Matrix(builder, matrix, value)
            for matrix, value in zip(given[:n_views], arguments[:n_views], strict=True)
        ]

        def finish(total: Any, row: Any, column: Any) -> Any:
            return ending(builder, total, views[3].entry(row, column), views[3].element)

        j, n_rows, n_columns, inner, add = arguments[n_views:]
        add = builder.trunc(add, ir.IntType(1)) if add.type != ir.IntType(1) else add

        def tile(row: Any, rows: int, columns: int) -> None:
            numbers = (row, j, inner, add)
            _emit_tile(builder, views, numbers, (rows, columns), kind, finish if ending else None)

        def number(value: int) -> Any:
            return ir.Constant(n_rows.type, value)

        tall = max(TILE_ROWS)
        left_over = builder.srem(n_rows, number(tall))
        whole = builder.sub(n_rows, left_over)
        done = builder.append_basic_block("done")
        switch = builder.switch(n_columns, done)
        for columns in TILE_COLUMNS:
            block = builder.append_basic_block(f"columns{columns}")
            switch.add_case(number(columns), block)
            builder.position_at_end(block)
            with _loop(builder, builder.sdiv(whole, number(tall)), number(tall)) as (row,):
                tile(row, tall, columns)
            for rows in TILE_ROWS[:-1]:
                with builder.if_then(builder.icmp_signed("==", left_over, number(rows))):
                    tile(whole, rows, columns)
            builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    def panel(_typing: Any, given: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            values = cgutils.unpack_tuple(builder, arguments[0])
            return emit_panel(context, builder, tuple(sig.args[0]), values)

        return types.void(unliteral(given)), emit

    return intrinsic(panel)


def _tanh_ending(builder: Any, total: Any, bias: Any, _element: Any) -> Any:
    """Emit tanh(sum + b)."""
    return emit_tanh(builder, builder.fadd(total, spread(builder, builder.load(bias))))


def _bent_ending(builder: Any, total: Any, value: Any, element: Any) -> Any:
    """Emit sum (1 - x^2): the gradient before a tanh whose value is x."""
    x = read_vector(builder, value, element)
    slope = multiply_add(builder, builder.fneg(x), x, ir.Constant(x.type, [1.0] * LANES))
    return builder.fmul(total, slope)


@intrinsic
def address(_typing: Any, array: Any, offset: Any) -> Any:  # noqa: ARG001
    """Return where entry `offset` of a flat array is."""

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return data_pointer(context, builder, array, *arguments)

    return CPointer(array.dtype)(array, types.intp), emit


@inlined
def view(array: Any, offset: int, row_step: int, column_step: int) -> Any:
    """Return a matrix: where it starts, and how far it is to the next row and column."""
    return (address(array, offset), row_step, column_step)


@intrinsic
def _further(_typing: Any, start: Any, step: Any) -> Any:  # noqa: ARG001
    """Return the address `step` numbers after another."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return start(start, types.intp), emit


@inlined
def _part(left: Any, right: Any, k: int) -> Any:
    """Return the factors from inner index k on."""
    return (
        (_further(left[0], k * left[2]), left[1], left[2]),
        (_further(right[0], k * right[1]), right[1], right[2]),
    )


@inlined
def _width(n_left: int) -> int:
    """Return how many columns the next panel has."""
    return 4 if n_left >= 4 else 1


def _product_of(kind: str) -> Any:
    """Return a kernel for products out (+)= left right, as wide as the inner index allows."""
    panel = _panel_of(kind)

    def product(
        left: Any, right: Any, out: Any, n_rows: int, n_inner: int, n_columns: int, adds: bool
    ) -> None:
        for k in range(0, max(n_inner, 1), INNER):
            a, b = _part(left, right, k)
            n_now = min(INNER, n_inner - k)
            j = 0
            while j < n_columns:
                columns = _width(n_columns - j)
                panel((a, b, out, j, n_rows, columns, n_now, adds or k > 0))
                j += columns

    product.__qualname__ = f"multiply_{kind}"
    return inner(product)


def _finished_product_of(ending: Any) -> Any:
    """Return a kernel for products whose sums have an ending, given a fourth matrix."""
    panel = _panel_of("shared", ending)

    def product(
        left: Any, right: Any, other: Any, out: Any, n_rows: int, n_inner: int, n_columns: int
    ) -> None:
        j = 0
        while j < n_columns:
            columns = _width(n_columns - j)
            panel((left, right, out, other, j, n_rows, columns, n_inner, False))
            j += columns

    product.__qualname__ = f"multiply{ending.__name__}"
    return inner(product)


# left: (n_rows, n_inner) lanes; right: (n_inner, n_columns) lanes, or numbers that all lanes share.
# multiply, multiply_shared (left, right, out, sizes, adds): out (+)= left right.
multiply, multiply_shared = _product_of("lanes"), _product_of("shared")
# multiply_tanh (left, right, bias, out, sizes): out = tanh(left right + bias), bias (1, n_columns).
multiply_tanh = _finished_product_of(_tanh_ending)
# multiply_bent (left, right, values, out, sizes): out = (left right) (1 - values^2), values lanes.
multiply_bent = _finished_product_of(_bent_ending)
_panel_summed = _panel_of("summed")


@inner
def multiply_summed(
    left: Any, right: Any, out: Any, n_rows: int, n_inner: int, n_columns: int
) -> None:
    """Out += sum over all lanes of left right.

    left: (n_rows, n_inner) lanes; right: (n_inner, n_columns) lanes; out: numbers.
    """
    j = 0
    while j < n_columns:
        columns = _width(n_columns - j)
        _panel_summed((left, right, out, j, n_rows, columns, n_inner, True))
        j += columns
