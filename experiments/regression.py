"""ESOL solubility: embedding, Morgan fingerprints and atom counts in ridge regression and SVR.

Five folds, repeated. Regularisation and kernel width are chosen inside the training part.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import models
from experiments.baselines.counting import LabelHistogram
from experiments.data import load_properties
from experiments.statistics import interval, markdown

Array = NDArray[np.float64]
N_FOLDS = 5
BITS, RADIUS = 2048, 2


def morgan_bits(smiles: Sequence[str]) -> Array:
    """Return folded Morgan fingerprints, (n_molecules, 2048)."""
    from rdkit import Chem
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=BITS)
    return np.array(
        [generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(one)) for one in smiles], dtype=float
    )


def regressors() -> dict[str, Any]:
    """Return regressors whose parameters are chosen by inner cross-validation."""
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    grid = {"svr__C": [1, 10, 100], "svr__gamma": ["scale"], "svr__epsilon": [0.1]}
    return {
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 5, 17))),
        "SVR": GridSearchCV(make_pipeline(StandardScaler(), SVR()), grid, cv=3),
    }


def measure(
    *,
    repeats: int = 3,
    seed: int = 0,
    n_jobs: int = 1,
    limit: int | None = None,
    only: Sequence[str] = (),
) -> dict[str, Any]:
    """Return root mean squared errors (log mol/l) by description, regressor and fold.

    limit: use the first molecules only.
    """
    from sklearn.model_selection import RepeatedKFold

    data = load_properties("ESOL")
    smiles, graphs, measured = (x[:limit] for x in (data.smiles, data.graphs, data.values))
    bits = morgan_bits(smiles)

    def fitted(make: Callable[[], Any]) -> Callable[[Any], Array]:
        def describe(train: Any) -> Array:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*label.*")  # unseen in training
                model = make().fit([graphs[i] for i in train])
                return np.asarray(model.transform(graphs), dtype=np.float64)

        return describe

    ways: dict[str, Callable[[Any], Array]] = {
        "DDGK": fitted(lambda: models.make(seed, n_jobs=n_jobs)),
        "Morgan fingerprints": lambda _: bits,
        "atom histogram": fitted(LabelHistogram),
        "mean": lambda _: np.zeros((len(graphs), 1)),
    }
    folds = list(RepeatedKFold(n_splits=N_FOLDS, n_repeats=repeats, random_state=seed).split(bits))
    rows: dict[str, list[float]] = {}
    for title, describe in ways.items():
        if only and title not in only:
            continue
        for train, test in folds:
            columns = describe(train)
            for name, regressor in regressors().items():
                if title == "mean" and name != "ridge":
                    continue
                found = regressor.fit(columns[train], measured[train]).predict(columns[test])
                error = float(np.sqrt(np.mean((found - measured[test]) ** 2)))
                rows.setdefault(title if title == "mean" else f"{title}, {name}", []).append(error)
    return {"n_molecules": len(smiles), "repeats": repeats, "errors": rows}


def table(contents: Sequence[dict[str, Any]]) -> str:
    """Return root mean squared errors with intervals."""
    lines = []
    for title, errors in contents[0]["errors"].items():
        found = interval(errors, test_share=0.2)
        lines.append([title, f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f})"])
    return markdown(["", "root mean squared error, log mol/l"], lines)
