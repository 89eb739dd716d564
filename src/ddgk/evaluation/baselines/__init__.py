"""What an embedding is compared with, on the same folds; a new one is a function and a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from ddgk.errors import ParameterError
from ddgk.evaluation.representations import Learner, Representation
from ddgk.graphs import Graph


@dataclass(frozen=True)
class Baseline:
    """A way to describe graphs; home: the module and function that does it, imported when used.

    supervised: it learns from classes itself, and cannot be joined to an embedding.
    """

    title: str
    home: str
    supervised: bool = False

    def describe(self, graphs: Sequence[Graph], seed: int) -> Representation | Learner:
        """Describe graphs; classes are not known here."""
        module, _, function = self.home.partition(":")
        found: Callable[[Sequence[Graph], int], Representation | Learner] = getattr(
            import_module(f"ddgk.evaluation.baselines.{module}"), function
        )
        return found(graphs, seed)


BASELINES: dict[str, Baseline] = {
    "sizes": Baseline("(n, m)", "trivial:sizes"),
    "histogram": Baseline("(label histogram, n, m)", "trivial:histogram"),
    "sp": Baseline("SP kernel", "shortest_paths:shortest_paths"),
    "wl": Baseline("WL kernel", "weisfeiler_lehman:subtree"),
    "wl-oa": Baseline("WL-OA", "weisfeiler_lehman:optimal_assignment"),
    "wwl": Baseline("WWL", "weisfeiler_lehman:wasserstein"),
    "walks": Baseline("random walks (eq. 1)", "random_walks:random_walks"),
    "netlsd": Baseline("NetLSD", "heat_traces:heat_traces"),
    "graph2vec": Baseline("graph2vec", "documents:graph2vec"),
    "node2vec": Baseline("node2vec means", "documents:node2vec"),
    "gin": Baseline("GIN (supervised)", "networks:isomorphism_network", supervised=True),
}
ALWAYS = ("sizes", "histogram")


def chosen(names: Sequence[str]) -> list[str]:
    """Return the baselines to run, the trivial ones always among them; "all" means all.

    >>> chosen(["wl"])
    ['sizes', 'histogram', 'wl']
    """
    unknown = [name for name in names if name not in BASELINES and name != "all"]
    if unknown:
        raise ParameterError(
            f"baselines must be some of {', '.join(BASELINES)}, or all, not {unknown[0]!r}"
        )
    wanted = set(BASELINES) if "all" in names else {*ALWAYS, *names}
    return [name for name in BASELINES if name in wanted]
