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

InvalidInputError.__doc__ = """A parameter or the data is not allowed; the message names it. It is a `ValueError`.

Examples
--------
>>> import gasg21
>>> try:
...     gasg21.GASG21(n_components=3).fit([[1.0, 2.0], [3.0, 4.0]])
... except gasg21.exceptions.InvalidInputError as error:
...     print(error)
n_components=3 must be an integer in [1, n_features - 1 = 1]
"""

ModelFormatError.__doc__ = """A file or pickle is not a model of gasg21, or it is damaged. It is a `ValueError`.

Examples
--------
>>> import tempfile
>>> import gasg21
>>> with tempfile.NamedTemporaryFile() as file:
...     try:
...         gasg21.load(file.name)
...     except gasg21.exceptions.ModelFormatError:
...         print("not a model file")
not a model file
"""

NumericalError.__doc__ = """Something could not be computed, although the input is allowed. It is an `ArithmeticError`.

Examples
--------
>>> from gasg21.exceptions import NumericalError
>>> issubclass(NumericalError, ArithmeticError)
True
"""


class DataQualityWarning(ConvergenceWarning):  # type: ignore[misc]
    """The fit ran, but the data does not support what was asked of it, so the answer may mislead.

    It is a `ConvergenceWarning`, so a program that silences doubts about fits silences this one too.

    Examples
    --------
    >>> import warnings
    >>> from gasg21 import GASG21
    >>> from gasg21.datasets import make_low_rank
    >>> X = make_low_rank(500, 30, 2, noise=0.01, random_state=0).data + 10  # off the origin
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = GASG21(n_components=2, random_state=0).fit(X)
    >>> [w.category.__name__ for w in caught][-1]
    'DataQualityWarning'
    """
