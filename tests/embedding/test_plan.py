from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ddgk.embedding.tiles import LANES, LONGEST_SECONDS, WANTED_SECONDS, cut_rows, plan_tiles
from ddgk.graphs import Graph
from degrees import DegreeEmbedder

sizes = st.lists(st.integers(1, 300), max_size=80)


@given(sizes, st.floats(1e-6, 100), st.integers(1, 10**6))
def test_every_plan_holds_each_graph_once(n_nodes, seconds, max_memory):
    embedder = DegreeEmbedder(seconds=seconds)
    graphs = [Graph(n, []) for n in n_nodes]
    tiles = plan_tiles(embedder, graphs, max_memory)
    assert sorted(p for tile in tiles for p in tile.positions) == [*range(len(graphs))]
    largest = [max(graphs[p].n_nodes for p in tile.positions) for tile in tiles]
    assert largest == sorted(largest, reverse=True)
    for tile in tiles:
        n_rows = len(tile.positions)
        memory = sum(1000 * graphs[p].n_nodes + 16 for p in tile.positions)
        assert n_rows == 1 or memory <= max_memory
        assert n_rows <= LANES or tile.cost <= WANTED_SECONDS + 1e-9
        assert n_rows == 1 or tile.cost <= LONGEST_SECONDS + 1e-9
    assert plan_tiles(embedder, graphs, max_memory) == tiles


def test_tiles_fill_lanes_and_there_are_many():
    tiles = plan_tiles(DegreeEmbedder(seconds=0.004), [Graph(10, [])] * 5000, 10**9)
    assert all(len(tile.positions) % LANES == 0 for tile in tiles)
    assert len(tiles) >= 32


@given(st.lists(st.integers(0, 100), max_size=50), st.integers(1, 200))
def test_parts_hold_all_rows_and_keep_the_limit(sizes, limit):
    parts = cut_rows(sizes, limit)
    assert [i for part in parts for i in range(part.start, part.stop)] == [*range(len(sizes))]
    for part in parts:
        assert sum(sizes[part]) <= limit or part.stop - part.start == 1
