"""What gasg21 raises and warns with.

Bad input raises `InvalidInputError`, a `ValueError`; whatever scikit-learn's own validation refuses
is a `ValueError` or `TypeError` as everywhere in scikit-learn.
"""

from sklearn.exceptions import ConvergenceWarning, NotFittedError

from gasg21._core import NumericalError

__all__ = ["ConvergenceWarning", "InvalidInputError", "NotFittedError", "NumericalError"]


class InvalidInputError(ValueError):
    """A parameter or an array is not what it must be; the estimator is as it was before."""
