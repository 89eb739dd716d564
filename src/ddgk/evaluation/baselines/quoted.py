"""What others report, for rows that are not measured here; protocols differ."""

from __future__ import annotations

from typing import NamedTuple


class Quoted(NamedTuple):
    """An accuracy in percent that somebody else published."""

    title: str
    dataset: str
    accuracy: float


_DATASETS = ("MUTAG", "PTC_MR", "NCI1", "DD")
_FIGURES: dict[str, tuple[float | None, ...]] = {
    "DDGK": (91.58, 63.14, 68.10, 83.14),
    "PSCN (supervised)": (88.95, 62.29, 76.34, 76.27),
    "DGCNN (supervised)": (85.83, 58.59, 74.44, None),
    "DGK": (87.40, 60.10, 80.30, None),
    "SP kernel": (83.00, 58.90, 74.50, 79.00),
    "WL kernel": (86.00, 61.30, 85.80, 79.00),
    "WL-OA": (86.00, 63.60, 86.10, 79.20),
    "graph2vec": (83.15, 60.17, 73.22, None),
    "node2vec": (82.01, 55.60, 61.91, None),
    "S2S-N2N-PP": (89.86, 64.54, 83.72, None),
    "WWL": (87.27, 66.31, 85.75, 79.69),
    "InfoGraph": (89.01, 61.70, 76.20, 72.85),
    "GraphCL": (86.80, 61.30, 77.87, 78.62),
    "GraphMAE": (88.19, None, 80.40, None),
}


def quoted(dataset: str) -> list[Quoted]:
    """Return what was published about a set.

    >>> quoted("PTC_MR")[0]
    Quoted(title='DDGK', dataset='PTC_MR', accuracy=63.14)
    """
    if dataset not in _DATASETS:
        return []
    place = _DATASETS.index(dataset)
    return [
        Quoted(title, dataset, accuracy)
        for title, figures in _FIGURES.items()
        if (accuracy := figures[place]) is not None
    ]
