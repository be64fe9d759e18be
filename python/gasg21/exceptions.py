"""Exceptions and warnings of gasg21.

Bad input raises `InvalidInputError`, a `ValueError`. What scikit-learn's own validation refuses is a `ValueError` or
`TypeError`, as everywhere in scikit-learn.
"""

from sklearn.exceptions import ConvergenceWarning, NotFittedError

from gasg21._core import InvalidInputError, ModelFormatError, NumericalError

__all__ = [
    "ConvergenceWarning",
    "DataQualityWarning",
    "InvalidInputError",
    "ModelFormatError",
    "NotFittedError",
    "NumericalError",
]

for _each in (InvalidInputError, ModelFormatError, NumericalError):
    _each.__module__ = __name__  # where users and pickles find them


class DataQualityWarning(ConvergenceWarning):  # type: ignore[misc]
    """The fit ran, but the data does not support what was asked of it, so the answer may mislead.

    It is a `ConvergenceWarning`, so a program that silences doubts about fits silences this one too.
    """
