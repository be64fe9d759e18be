"""RobustMD: REAPER's problem one vector at a time, by mirror descent."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from gasg21._validation import Array, check_components, check_number, seed_of, unchanged_on_error
from gasg21.baselines._base_subspace import IterativeSubspace, Solution
from gasg21.baselines._linear_algebra import largest_angle, unit_rows
from gasg21.exceptions import InvalidInputError

_REPAIR = 1000  # samples after which the eigenvectors are made orthonormal again


class RobustMD(IterativeSubspace):
    """Robust stochastic PCA by mirror descent (Goes, Zhang, Arora and Lerman).

    Minimises ``E |Q x|`` over the symmetric Q with ``0 <= Q <= I / (n - d)`` and trace 1, which is REAPER's problem
    in terms of the orthogonal complement: Q = (I - P) / (n - d). Each sample, scaled to unit length, makes one step
    of mirror descent in the quantum relative entropy, with the authors' step ``1 / sqrt(t)``:
    ``log Q <- log Q - step (x x^T Q + Q x x^T) / (2 |Q x|)``, then the projection back (large eigenvalues are capped).
    The subspace is spanned by the eigenvectors of the n_components smallest eigenvalues.

    A sample costs O(n_features^2 + n_features * k^2), where k eigenvalues are below their bound (a few times
    n_components; n_features at worst), and memory is O(n_features^2), whatever the number of samples. (The
    published code decomposes an n_features x n_features matrix for each.) Convergence is sublinear: the angle
    falls like a power of the number of samples.

    Prefer it for a stream of few features, where two digits are enough and REAPER's convex problem is wanted.

    Parameters
    ----------
    n_components : int
        Dimension of the subspace, in [1, n_features - 1].
    step_size : float
        Multiplies the authors' step 1 / sqrt(t); 1 is theirs.
    tol : float
        `fit` ends when a pass over the data turns the subspace by no more than this, in radians; 0, as the
        authors do, uses max_iter samples.
    max_iter : int
        Samples that `fit` uses, in shuffled passes; 3000 as in the authors' experiments.
    contamination : "auto" or float in (0, 0.99]
        How `predict` decides; see `gasg21.GASG21`. `partial_fit` takes a share of its last batch.
    random_state : int, RandomState, Generator or None
        Seed of the order in which `fit` uses the samples.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace.
    n_iter_ : int
        Samples used.
    converged_, status_, n_components_, offset_
        Whether to `tol`, and how `fit` ended ("converged" or "max_iter").
    history_ : list of dict
        One record per pass of `fit`: "n_iter", the samples used so far, and "moved".

    References
    ----------
    J. Goes, T. Zhang, R. Arora and G. Lerman, "Robust stochastic principal component analysis", AISTATS 2014.
    """

    _descent: MirrorDescent

    def __init__(
        self,
        n_components: int = 1,
        *,
        step_size: float = 1.0,
        tol: float = 0.0,
        max_iter: int = 3000,
        contamination: str | float = "auto",
        random_state: Any = None,
    ) -> None:
        super().__init__(n_components, tol=tol, max_iter=max_iter, contamination=contamination)
        self.step_size = step_size
        self.random_state = random_state

    def _solve(self, X: Array, d: int) -> Solution:
        rows = unit_rows(X)
        descent = MirrorDescent(X.shape[1], d)
        rng = np.random.default_rng(seed_of(self.random_state))
        history: list[dict[str, Any]] = []
        converged = False
        while not converged and descent.n_seen < self.max_iter:
            before = descent.components()
            for j in rng.permutation(len(rows))[: self.max_iter - descent.n_seen]:
                descent.update(rows[j], self.step_size)
            moved = largest_angle(before, descent.components())
            history.append({"n_iter": descent.n_seen, "moved": moved})
            converged = self.tol > 0 and moved <= self.tol
        return Solution(descent.components(), descent.n_seen, converged, history, {"_descent": descent})

    def partial_fit(self, X: Any, y: None = None, mask: Any = None) -> RobustMD:
        """Update the subspace with each sample, in the order given: the stream goes on where it was.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As for `fit`.
        y : ignored
        mask : bool array of the shape of X, optional
            True everywhere.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_parameters()
            first = not hasattr(self, "_descent")
            dtype = None if first else self.components_.dtype
            samples = self._check_complete(X, mask, reset=first, dtype=dtype)
            d = check_components(self.n_components, samples.n_features)
            if not first and d != self.n_components_:
                msg = f"n_components={d} must stay {self.n_components_} while a stream goes on; fit starts anew"
                raise InvalidInputError(msg)
            descent = MirrorDescent(samples.n_features, d) if first else self._descent.copy()
            for row in unit_rows(np.asarray(samples.data, np.float64)):
                descent.update(row, self.step_size)
            self._descent = descent
            self.n_iter_ = descent.n_seen
            self._publish_components(descent.components(), samples)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("step_size", self.step_size, 0, open_low=True)

    def _convergence_message(self, rank: int) -> str:
        return super()._convergence_message(rank) if self.tol > 0 else ""


class MirrorDescent:
    """Q by its eigenvectors and the logarithms of its eigenvalues, decreasing: nothing underflows."""

    def __init__(self, n: int, d: int) -> None:
        self.d = d
        self.n_seen = 0
        self.vectors = np.eye(n, order="F")
        self.log_values = np.full(n, -np.log(n))

    def copy(self) -> MirrorDescent:
        """Return a descent that can go on by itself."""
        other = MirrorDescent(len(self.log_values), self.d)
        other.n_seen, other.vectors, other.log_values = self.n_seen, self.vectors.copy("F"), self.log_values
        return other

    def components(self) -> Array:
        """Return the eigenvectors of the smallest eigenvalues, (d, n), the smallest first."""
        return np.array(self.vectors[:, : -self.d - 1 : -1].T)

    def update(self, x: Array, step_size: float) -> None:
        """Make one step for a sample of length 1."""
        self.n_seen += 1
        # The largest eigenvalues are equal, for they are capped: only the direction of x among their vectors
        # matters, and the step is that of a small matrix.
        first = np.count_nonzero(self.log_values == self.log_values[0]) - 1
        y = self._turn_towards(x, first)  # in the eigenbasis of Q
        Qy = np.exp(self.log_values[first:]) * y
        length = np.linalg.norm(Qy)
        if length == 0:
            return  # it lies in the subspace, to the last bit
        cross = np.outer(y, Qy * (step_size / np.sqrt(self.n_seen) / (2 * length)))
        log_Q = np.diag(self.log_values[first:]) - cross - cross.T
        changed, rotation = scipy.linalg.eigh(log_Q, overwrite_a=True, check_finite=False)
        self.vectors[:, first:] = self.vectors[:, first:] @ rotation[:, ::-1]
        log_values = np.append(self.log_values[:first], changed[::-1])
        if log_values[first] > log_values[0]:  # at most one can rise above the others
            log_values[[0, first]] = log_values[[first, 0]]
            self.vectors[:, [0, first]] = self.vectors[:, [first, 0]]
        self.log_values = capped(log_values, len(x) - self.d)
        if self.n_seen % _REPAIR == 0:
            self.vectors = np.asfortranarray(np.linalg.qr(self.vectors)[0])

    def _turn_towards(self, x: Array, last: int) -> Array:
        """Reflect the first eigenvectors, of one eigenvalue, so that x has no part in those before ``last``.

        Returns the coordinates of x from there on.
        """
        y: Array = self.vectors.T @ x
        mirror = y[: last + 1].copy()
        length = np.linalg.norm(mirror)
        mirror[last] += np.copysign(length, mirror[last])
        if last > 0 and length > 0:
            group = self.vectors[:, : last + 1]
            group -= np.outer(group @ mirror, mirror * (2 / (mirror @ mirror)))
            y[last] = -np.copysign(length, y[last])
        return y[last:]


def capped(log_values: Array, most: int) -> Array:
    """Project onto ``{sum of values = 1, values <= 1 / most}`` in relative entropy; logarithms, decreasing.

    The projection is min(c * value, 1 / most) with the c that makes the sum 1; fewer than ``most`` values
    reach the cap before that, since the others are not zero.
    """
    log_rest = np.logaddexp.accumulate(log_values[::-1])[::-1][:most]  # of the sum of each and all smaller ones
    log_c = np.log(1 - np.arange(most) / most) - log_rest  # if so many are capped
    fits = log_values[:most] + log_c <= -np.log(most)
    first = int(np.argmax(fits)) if fits.any() else most - 1  # none by rounding: all but those in the subspace
    return np.asarray(np.minimum(log_values + log_c[first], -np.log(most)))
