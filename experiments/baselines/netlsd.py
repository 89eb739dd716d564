"""NetLSD (Tsitsulin et al. 2018): traces of the heat kernel over time.

Up to 2,000 nodes the whole spectrum is computed. Above, the trace is estimated from random vectors
by stochastic Lanczos quadrature, in time linear in the edges. The multiplicity of eigenvalue 0 and
the first moments of the spectrum are known and put in exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk import Graph

Array = NDArray[np.float64]

TIMES = np.logspace(-2, 2, 250)
MAX_EXACT = 2000
N_PROBES = 32
N_STEPS = 50  # heat at time 100 is a polynomial of this degree but for rounding
SMALLEST = 1e-10


def heat_traces(graphs: Sequence[Graph], seed: int) -> Array:
    """Return tr exp(-t L) / n at 250 times, (n_graphs, 250); labels are not used.

    seed: of the random vectors for graphs with more than 2,000 nodes.
    """
    rows = []
    for graph in graphs:
        exact = graph.n_nodes <= MAX_EXACT
        rows.append(exact_traces(graph) if exact else estimated_traces(graph, seed))
    return np.array(rows)


def exact_traces(graph: Graph) -> Array:
    """Return the traces from all eigenvalues, (n_times,)."""
    n = graph.n_nodes
    adjacency = np.zeros((n, n))
    adjacency[graph.edges[:, 0], graph.edges[:, 1]] = 1.0
    adjacency += adjacency.T
    degrees = adjacency.sum(axis=1)
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros(n), where=degrees > 0)
    laplacian = np.diag((degrees > 0).astype(float)) - scale[:, None] * adjacency * scale[None, :]
    values = np.linalg.eigvalsh(laplacian)
    found: Array = np.exp(-TIMES[:, None] * values).sum(axis=1) / max(n, 1)
    return found


def estimated_traces(graph: Graph, seed: int) -> Array:
    """Return the traces from Gauss quadratures at random vectors, (n_times,).

        tr f(L) = n_components f(0) + (n - n_components) E[v^T f(L) v],  v unit, off the null space

    Each v^T f(L) v is a sum over the Ritz values of a Lanczos recursion from v.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, (near, far) = graph.n_nodes, graph.edges.T
    ends = np.concatenate([near, far]), np.concatenate([far, near])
    degrees = np.bincount(ends[0], minlength=n).astype(np.float64)
    entries = 1.0 / np.sqrt(degrees[ends[0]] * degrees[ends[1]])
    joined = coo_array((entries, ends), shape=(n, n)).tocsr()
    isolated = degrees == 0
    n_components, component = connected_components(joined, directed=False)
    if n_components == n:
        return np.ones(len(TIMES))
    # The null space: the roots of degrees, component by component; a isolated node is one.
    mass = np.where(isolated, 1.0, degrees)
    null = np.sqrt(mass / np.bincount(component, mass)[component])
    inside = coo_array((null, (component, np.arange(n))), shape=(n_components, n)).tocsr()
    probes = np.random.default_rng(seed).choice([-1.0, 1.0], (n, N_PROBES))
    probes -= inside.T @ (inside @ probes)
    values, weights = _quadrature(joined, probes)
    # Of L - I, off the null space, where each component has an eigenvalue -1.
    moments = np.array(
        [n - n_components, n_components - isolated.sum(), entries @ entries + isolated.sum()]
    ) - [0, 0, n_components]
    calibrated = _calibrate(values, weights * moments[0], moments)
    left = np.exp(-TIMES[:, None] * (1.0 + values)) @ calibrated
    found: Array = (n_components + left) / n
    return found


def _quadrature(joined: Any, probes: Array) -> tuple[Array, Array]:
    """Return where L - I has its mass as the probes see it, and how much; the sum is 1.

    joined: I - L, sparse, (n, n); probes: (n, n_probes). Returns two of (n_probes * n_steps,).
    """
    from scipy.linalg import eigh_tridiagonal

    n_probes = probes.shape[1]
    diagonal, off_diagonal = np.zeros((N_STEPS, n_probes)), np.zeros((N_STEPS, n_probes))
    before, beta = np.zeros_like(probes), np.zeros(n_probes)
    now = probes / np.linalg.norm(probes, axis=0)
    for step in range(N_STEPS):
        # No orthogonalisation: copies of Ritz values share the mass of one, and sums stay right.
        after = -(joined @ now) - beta * before
        diagonal[step] = np.einsum("ij,ij->j", after, now)
        after -= diagonal[step] * now
        beta = np.linalg.norm(after, axis=0)
        beta[beta < SMALLEST] = 0.0  # the vectors seen so far are all there are
        off_diagonal[step] = beta
        before, now = now, np.divide(after, beta, out=np.zeros_like(after), where=beta > 0)
    found = [eigh_tridiagonal(d, b[:-1]) for d, b in zip(diagonal.T, off_diagonal.T, strict=True)]
    weights = np.concatenate([vectors[0] ** 2 for _, vectors in found]) / n_probes
    return np.concatenate([values for values, _ in found]), weights


def _calibrate(values: Array, weights: Array, moments: Array) -> Array:
    """Change weights as little as gives them the moments that are known, (n_values,).

    w' = w (1 + sum_j c_j x^j)  such that  sum w' x^k = moment_k
    """
    powers = values[:, None] ** np.arange(len(moments))
    gap = moments - powers.T @ weights
    change = np.linalg.lstsq(powers.T @ (weights[:, None] * powers), gap, rcond=1e-10)[0]
    found: Array = weights * (1.0 + powers @ change)
    return found
