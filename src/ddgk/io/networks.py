"""Load single networks: built in, stored by name, or read from GML files."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from ddgk.errors import DatasetNotFoundError
from ddgk.graphs import Graph, Policies
from ddgk.graphs.policies import chosen_policies
from ddgk.io.catalogue import DATASETS, NETWORKS, suggest
from ddgk.io.formats import convert
from ddgk.io.limits import MAX_PARSED_BYTES, budget, read_file
from ddgk.io.options import Options
from ddgk.io.storage import check_name, find_network, folders, list_stored

BUILT_IN = "karate"


def karate_club() -> Graph:
    """Return the friendships in Zachary's karate club: 34 nodes, 78 edges, structure only.

    Examples
    --------
    >>> from ddgk.io import karate_club
    >>> karate_club()
    Graph(n_nodes=34, n_edges=78, name='karate')
    """
    return load_network(BUILT_IN)


def load_network(
    name: str | PathLike[str],
    *,
    node_labels: str | None = None,
    policies: Policies | None = None,
    max_bytes: int = MAX_PARSED_BYTES,
) -> Graph:
    """Load a network by name, or from a GML file.

    "karate" comes with networkx. Any other name is looked for as ``networks/NAME.gml`` in the
    folder that the environment variable DDGK_DATA names, then in the cache. Only the structure is
    read, unless you ask for more.

    Parameters
    ----------
    name : str or path
        A path must be given as a path object or end in ".gml".
    node_labels : str, optional
        The key of node labels: in "adjnoun" ``"value"`` tells adjectives (0) from nouns (1).
    policies : Policies, optional
        How to read directions, repeated edges and weights. The networks in `NETWORKS` have
        defaults of their own, which make the undirected simple graph that the paper uses:
        "celegansneural" is a directed multigraph with weights, and "karate" has weights.
    max_bytes : int
        How large a file may be.

    Examples
    --------
    >>> from ddgk.io import load_network
    >>> load_network("karate", node_labels="club").node_labels[:2]
    ('Mr. Hi', 'Mr. Hi')
    >>> load_network("celegansneural")  # doctest: +SKIP
    Graph(n_nodes=297, n_edges=2148, name='celegansneural')
    """
    if not isinstance(name, str) or name.endswith(".gml"):
        path, name, known = Path(name), Path(name).stem, None
    else:
        known = NETWORKS.get(check_name(name))
        if name == BUILT_IN:
            path = None
        else:
            path = find_network(name)
            if path is None:
                raise _not_found(name)
    options = Options(
        node_labels=node_labels,
        edge_labels=None,
        node_attributes=None,
        edge_attributes=None,
        edge_weights="weight" if known is None else known.edge_weights,
        policies=known.policies
        if policies is None and known is not None
        else chosen_policies(policies),
    )
    if path is None:
        import networkx

        return options.convert(networkx.karate_club_graph(), name)
    data = read_file(path, budget(max_bytes))
    return convert(data, ".gml", os.fspath(path), name, options)[0]


def _not_found(name: str) -> DatasetNotFoundError:
    looked = " and ".join(str(folder / "networks") for folder in folders())
    how = (
        f"Looked in {looked}. Put {name}.gml into the folder networks/ of a folder that "
        "DDGK_DATA names"
    )
    if name in NETWORKS:
        return DatasetNotFoundError(
            f"network {name!r} ({NETWORKS[name].citation}) is not on this computer. {how}"
        )
    if name in DATASETS:
        return DatasetNotFoundError(f"{name!r} is a set, not a network; use load({name!r})")
    known = [*NETWORKS, *DATASETS, *list_stored()]
    return DatasetNotFoundError(f"no network {name!r} here; {suggest(name, known)} {how}")
