"""Small examples that compile the kernels: ``python -m ddgk.warmup attention alignment``.

`ddgk.compiling.prepare` runs them in processes of their own, which share the cache on disk. Every
example calls the kernels of one part and no others, so that parts can be compiled at the same time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from ddgk.graphs.graph import Graph

PATH, STAR = Graph(4, [(0, 1), (1, 2), (2, 3)]), Graph(4, [(0, 1), (0, 2), (0, 3)])


def refinement() -> None:
    """Compile what gives the nodes of large graphs a canonical order."""
    from ddgk.symmetry import SMALL, Arcs, canonical_order

    tails = np.arange(SMALL)
    canonical_order(np.zeros(SMALL + 1, np.int64), Arcs(tails, tails + 1, np.zeros_like(tails)))


def encoders() -> None:
    """Compile what trains encoders."""
    from ddgk.config import Config
    from ddgk.engine import make_engine
    from ddgk.engine.initialisation import initial_weights
    from ddgk.targets import Encoding

    config = Config(encoder_epochs=1)
    training, engine = config.encoder_training, make_engine(precision=config.precision)
    encoded = Encoding().encode(PATH, quotient=False)
    engine.train_encoders([encoded], [initial_weights((4, 4), 0, training)], training, [0])


def attention() -> None:
    """Compile local attention and the compact embedding, with an encoder that is not trained."""
    from ddgk.config import Config
    from ddgk.encoder import Encoder
    from ddgk.engine.arrays import Source
    from ddgk.engine.initialisation import initial_weights
    from ddgk.features import CompactMap
    from ddgk.models import LocalModel
    from ddgk.targets import Encoding

    config = Config()
    source = Source(initial_weights((4, 4), 0, config.encoder_training), (), None, ())
    untrained = Encoder(PATH, np.arange(4), 0, source)
    model = LocalModel(config, Encoding(), (untrained,), 0)
    found = model.describe([PATH, STAR])
    CompactMap.fit(found, None, model.kernel_weights, 0).transform(found)


def pairs() -> None:
    """Compile global attention."""
    from ddgk.config import Config
    from ddgk.engine import make_engine
    from ddgk.engine.arrays import Source
    from ddgk.engine.initialisation import initial_weights
    from ddgk.targets import Encoding

    config = Config.preset("paper").replace(checkpoints=1)
    source = Source(initial_weights((4, 4), 0, config.encoder_training), (), None, ())
    encoded = Encoding().encode(PATH, quotient=False)
    engine = make_engine(precision=config.precision)
    engine.train_pairs([(encoded, source)], [0], config.pair_training(()))


def alignment() -> None:
    """Compile what aligns two graphs that are not isomorphic."""
    from ddgk.alignment.aligning import finish
    from ddgk.alignment.encoding import code_graphs, encode
    from ddgk.alignment.options import AlignmentOptions
    from ddgk.alignment.solving import Budget, solve

    options, budget, order = AlignmentOptions(), Budget(None, False), np.arange(4)
    encoded = encode(PATH, STAR, code_graphs((PATH, STAR), ()), (order, order), ())
    solution = solve(encoded, "soft", options, budget, 0)
    finish(PATH, STAR, encoded, solution, "soft", options, budget, None)


EXAMPLES: dict[str, Callable[[], None]] = {
    "refinement": refinement,
    "encoders": encoders,
    "attention": attention,
    "pairs": pairs,
    "alignment": alignment,
}

if __name__ == "__main__":
    for name in sys.argv[1:]:
        EXAMPLES[name]()
