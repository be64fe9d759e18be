"""Exceptions and warnings.

Invalid input raises `InvalidInputError`, which is a `ValueError`. Input that the validation of scikit-learn refuses
raises `ValueError` or `TypeError`, as in scikit-learn.
"""

from sklearn.exceptions import ConvergenceWarning, NotFittedError

from gasg21._core import NumericalError

__all__ = ["ConvergenceWarning", "InvalidInputError", "NotFittedError", "NumericalError"]


class InvalidInputError(ValueError):
    """A parameter or an array is invalid. The estimator is left unchanged."""
