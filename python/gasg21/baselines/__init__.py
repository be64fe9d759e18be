"""The methods that GASG21 is measured against, each from its own paper with its authors' settings."""

from gasg21.baselines._lbf import LBF
from gasg21.baselines._lrr import LRR
from gasg21.baselines._ssc import SSC

__all__ = [
    "LBF",
    "LRR",
    "SSC",
]
