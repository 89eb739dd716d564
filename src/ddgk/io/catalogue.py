"""Catalogue of the sets and networks known by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from ddgk.graphs import Policies


@dataclass(frozen=True)
class DatasetInfo:
    """A graph classification set of the TU collection.

    Parameters
    ----------
    name : str
    what : str
        What a graph and its class stand for.
    n_graphs : int
    classes : tuple of int
    node_labels, edge_labels : int
        How many different labels occur; 0 for none.
    node_attributes : int
        How many columns; 0 for none.
    fingerprint : str
        `Dataset.fingerprint` of the published content.
    citation : str
        Where the data was first published.
    """

    name: str
    what: str
    n_graphs: int
    classes: tuple[int, ...]
    node_labels: int
    edge_labels: int
    node_attributes: int
    fingerprint: str
    citation: str


@dataclass(frozen=True)
class NetworkInfo:
    """A single network.

    Parameters
    ----------
    name : str
        Its file is called ``name.gml``.
    what : str
    n_nodes, n_edges : int
        As an undirected simple graph.
    policies : Policies
        How the published file becomes an undirected simple graph.
    edge_weights : str or None
        The key of the edge weights in the file.
    citation : str
    """

    name: str
    what: str
    n_nodes: int
    n_edges: int
    policies: Policies
    edge_weights: str | None
    citation: str


DATASETS: dict[str, DatasetInfo] = {
    row.name: row
    for row in (
        DatasetInfo(
            name="MUTAG",
            what="nitro compounds: is one mutagenic on a bacterium?",
            n_graphs=188,
            classes=(-1, 1),
            node_labels=7,
            edge_labels=4,
            node_attributes=0,
            fingerprint="f7ca6d5138c5054bca6b7676ba334ff9d8cde259c949ead92e328a1cca332a99",
            citation="Debnath et al., J. Med. Chem. 34(2):786-797, 1991",
        ),
        DatasetInfo(
            name="PTC_MR",
            what="compounds: is one carcinogenic in male rats?",
            n_graphs=344,
            classes=(-1, 1),
            node_labels=18,
            edge_labels=4,
            node_attributes=0,
            fingerprint="d4b878ffd072877eb86cfdb89f5d91d734c6f5de8eb36e0e3f9f332a8a4fb7f5",
            citation="Helma et al., Bioinformatics 17(1), 2001; Kriege & Mutzel, ICML 2012",
        ),
        DatasetInfo(
            name="NCI1",
            what="compounds: does one hold back lung cancer cells?",
            n_graphs=4110,
            classes=(0, 1),
            node_labels=37,
            edge_labels=0,
            node_attributes=0,
            fingerprint="0d9b6209f68c133bb56ebb63dcebb7ec7d818b13e7518e4497c30167558bbb66",
            citation="Wale & Karypis, ICDM 2006; Shervashidze et al., JMLR 12:2539-2561, 2011",
        ),
        DatasetInfo(
            name="NCI109",
            what="compounds: does one hold back ovarian cancer cells?",
            n_graphs=4127,
            classes=(0, 1),
            node_labels=38,
            edge_labels=0,
            node_attributes=0,
            fingerprint="d6ae35931697c877dfa46da764e82a6e824275197c57520f6f230e83f18b74a7",
            citation="Wale & Karypis, ICDM 2006; Shervashidze et al., JMLR 12:2539-2561, 2011",
        ),
        DatasetInfo(
            name="DD",
            what="proteins as near amino acids: is one an enzyme?",
            n_graphs=1178,
            classes=(1, 2),
            node_labels=82,
            edge_labels=0,
            node_attributes=0,
            fingerprint="2eb726929e3f34d51fac7eb84186835c56a3e962c2d355404ebb04e917efa157",
            citation="Dobson & Doig, J. Mol. Biol. 330(4):771-783, 2003",
        ),
        DatasetInfo(
            name="ENZYMES",
            what="enzymes as secondary structure elements: which of 6 top classes?",
            n_graphs=600,
            classes=(1, 2, 3, 4, 5, 6),
            node_labels=3,
            edge_labels=0,
            node_attributes=18,
            fingerprint="aa977fbd93a8b94de016856e7334698021a5e0eccee922437881043fdce80c6a",
            citation="Borgwardt et al., Bioinformatics 21(Suppl 1):i47-i56, 2005",
        ),
        DatasetInfo(
            name="PROTEINS",
            what="proteins as secondary structure elements: is one an enzyme?",
            n_graphs=1113,
            classes=(1, 2),
            node_labels=3,
            edge_labels=0,
            node_attributes=1,
            fingerprint="757d1602e593a2c5c97b616dd9e0a6c85b706c3c103d767309b353c06df78a32",
            citation="Borgwardt et al., Bioinformatics 21(Suppl 1):i47-i56, 2005",
        ),
        DatasetInfo(
            name="BZR",
            what="ligands of the benzodiazepine receptor: is one active?",
            n_graphs=405,
            classes=(-1, 1),
            node_labels=10,
            edge_labels=0,
            node_attributes=3,
            fingerprint="377b2d9d8fe319e1c3956bbcae35fc676148d3eeb55304d528f416793331238c",
            citation="Sutherland et al., J. Chem. Inf. Comput. Sci. 43:1906-1915, 2003",
        ),
        DatasetInfo(
            name="Letter-med",
            what="drawn capital letters, distorted: which of 15?",
            n_graphs=2250,
            classes=tuple(range(15)),
            node_labels=0,
            edge_labels=0,
            node_attributes=2,
            fingerprint="dd020a07a1847e3af4e19b86e53b61e975dbf197b96e1924e9b2595e3a6e80da",
            citation="Riesen & Bunke, SSPR 2008",
        ),
        DatasetInfo(
            name="IMDB-BINARY",
            what="actors who played together, around one: action or romance?",
            n_graphs=1000,
            classes=(0, 1),
            node_labels=0,
            edge_labels=0,
            node_attributes=0,
            fingerprint="688ff24c638cd3b112d751874e019efbb35cbcd31fd8ecb7325b387ce0e0ceb6",
            citation="Yanardag & Vishwanathan, KDD 2015",
        ),
    )
}

NETWORKS: dict[str, NetworkInfo] = {
    row.name: row
    for row in (
        NetworkInfo(
            name="karate",
            what="friendships in a karate club",
            n_nodes=34,
            n_edges=78,
            policies=Policies(weights="ignore"),
            edge_weights="weight",
            citation="Zachary, J. Anthropol. Res. 33:452-473, 1977",
        ),
        NetworkInfo(
            name="celegansneural",
            what="neurons of the worm C. elegans",
            n_nodes=297,
            n_edges=2148,
            policies=Policies(directed="undirected", parallel_edges="merge", weights="ignore"),
            edge_weights="value",
            citation="Watts & Strogatz, Nature 393:440-442, 1998",
        ),
        NetworkInfo(
            name="adjnoun",
            what="adjectives and nouns that stand side by side in David Copperfield",
            n_nodes=112,
            n_edges=425,
            policies=Policies(),
            edge_weights=None,
            citation="Newman, Phys. Rev. E 74:036104, 2006",
        ),
    )
}


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: the known names that `name` may have meant.

    >>> suggest("mutga", DATASETS)
    "did you mean 'MUTAG'?"
    >>> suggest("qqq", ["one", "two"])
    'known here: one, two'
    """
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold()[:100], by_folded, n=3)
    if close:
        return "did you mean " + " or ".join(repr(by_folded[match]) for match in close) + "?"
    return "known here: " + ", ".join(by_folded.values())
