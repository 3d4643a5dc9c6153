"""jax.numpy.linalg.eig: matrices that are not finite among others, eigenvalues of all sizes, and derivatives."""

from __future__ import annotations

from typing import Any, Callable

import jax
import numpy as np

from runners.core.testing import properties
from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

_FINITE = [[4, 2, 1], [2, 1, 3], [1, 0, 2]]


def eig_not_finite(trial: Trial, number: str, size: int) -> None:
    """A matrix with a NaN or an infinity has eigenvalues that are NaN; the other matrices, and those of the next
    call, have their own eigenvalues and vectors."""
    host = np.array([_FINITE, _FINITE, _FINITE], "float32")[:, :size, :size]
    host[1, 0, -1] = float(number)
    for batch in (host, host[[0, 2]]):
        values, vectors = trial.call(trial.tensor(batch))
        finite = np.isfinite(batch).all(axis=(1, 2))
        # The host chooses among them: JAX would compile a program for each.
        of_finite = tuple(trial.tensor(trial.numpy(part)[finite]) for part in (values, vectors))
        properties.find("eig")(trial, of_finite, [widened(batch[finite])])
        found = trial.numpy(values)[~finite]
        trial.check(np.isnan(found).all(), f"expected NaN, got the eigenvalues {found}")


def eig_graded(trial: Trial) -> None:
    """Eigenvalues of very different sizes, which a triangular matrix has on its diagonal, are each right to the last
    digits, not only beside the largest: of both signs, in any order, alone and in a stack."""
    sizes = np.array([1e3, -1.0, 1e-3, -2e-5, 3e-7])
    hosts = [np.diag(np.roll(sizes, shift)) + np.triu(np.full((5, 5), each), 1) for shift, each in ((0, 0), (2, 1e-3))]
    for host in (hosts[0], hosts[1], np.stack([*hosts, hosts[0].T])):
        values = trial.numpy(trial.call(trial.tensor(host.astype("float32")))[0])
        ordered = np.sort(values.reshape(-1, 5).real, axis=-1)
        trial.close(ordered, np.broadcast_to(np.sort(sizes), ordered.shape), rtol=1e-4, atol=0)


def eig_refuses_derivatives(trial: Trial) -> None:
    """Eigenvectors have no derivative: their scale and order are arbitrary. Differentiating is an error, forward and
    backward, also of the eigenvalues beside them; the same function works afterwards."""
    host = np.array(_FINITE, "float32")
    x = trial.tensor(host)

    def forward(eig: Callable[..., Any], part: int) -> Any:
        return jax.jvp(lambda x: eig(x)[part], (x,), (x,))

    def backward(eig: Callable[..., Any], part: int) -> Any:
        return jax.grad(lambda x: abs(eig(x)[part]).sum())(x)

    for derived in (forward, backward):
        for part in (0, 1):
            trial.raises_inside(["NotImplementedError"], "eigenvectors", derived, part)
    properties.find("eig")(trial, trial.call(x), [widened(host)])


def svd_refuses_full_derivatives(trial: Trial) -> None:
    """The vectors beside those of the matrix are arbitrary: full ones of a tall and a wide matrix have no derivative,
    forward and backward. It is an error, also of the values beside them."""

    def forward(svd: Callable[..., Any], x: Any) -> Any:
        return jax.eval_shape(lambda x: jax.jvp(lambda x: svd(x)[1], (x,), (x,)), x)

    def backward(svd: Callable[..., Any], x: Any) -> Any:
        return jax.eval_shape(jax.grad(lambda x: svd(x, full_matrices=True)[2].sum()), x)

    for derived, host in ((forward, _FINITE[:2]), (backward, np.transpose(_FINITE[:2]))):
        x = trial.tensor(np.array(host, "float32"))
        trial.raises_inside(["NotImplementedError"], "full matrices", derived, x)
