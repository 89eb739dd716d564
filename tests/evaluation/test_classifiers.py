import numpy as np

from ddgk.evaluation import classifiers
from ddgk.evaluation.classifiers import PENALTIES, by_plateau, neighbourhood_means


def test_means_are_over_entries_that_touch():
    grid = np.arange(12.0).reshape(3, 4)
    means = neighbourhood_means(grid)
    assert means[1, 1] == grid[:3, :3].mean()
    assert means[0, 0] == grid[:2, :2].mean()
    assert means[2, 3] == grid[1:, 2:].mean()


def test_a_plateau_is_preferred_to_a_lone_peak(monkeypatch):
    """A machine among good ones beats one that is better but stands alone."""
    accuracies = np.full((4, len(PENALTIES)), 0.6)
    accuracies[0, 0] = 0.9
    accuracies[1:4, 2:5] = 0.8
    monkeypatch.setattr(classifiers, "mean_accuracies", lambda *_: accuracies.ravel())
    kernels = ["narrow", "middling", "wide", "widest"]
    order = by_plateau(kernels, np.array([]), [])
    assert order[0] == ("wide", PENALTIES[3])
    assert len(set(order)) == accuracies.size


def test_of_equal_ones_the_first_stays_ahead(monkeypatch):
    monkeypatch.setattr(
        classifiers, "mean_accuracies", lambda all_of_them, *_: np.ones(len(all_of_them))
    )
    assert by_plateau(["a", "b"], np.array([]), [])[0] == ("a", PENALTIES[0])
