"""Baselines: the methods that GASG21 is compared with, each with the settings of its authors.

The methods for one subspace have the interface of `gasg21.GASG21`; docs/methods.md compares them. The methods for
several subspaces have the interface of a scikit-learn clusterer; docs/clustering_methods.md compares them. They use
NumPy, SciPy and scikit-learn only. `gasg21.GROUSE` and `gasg21.GRASTA` use the compiled core.
"""

from gasg21.baselines._fms import FMS
from gasg21.baselines._lbf import LBF
from gasg21.baselines._lrr import LRR
from gasg21.baselines._outlier_pursuit import OutlierPursuit
from gasg21.baselines._pca import PCA
from gasg21.baselines._reaper import REAPER
from gasg21.baselines._robust_md import RobustMD
from gasg21.baselines._spherical_pca import SphericalPCA
from gasg21.baselines._ssc import SSC
from gasg21.baselines._ssc_omp import SSCOMP
from gasg21.baselines._tme import TME

__all__ = [
    "FMS",
    "LBF",
    "LRR",
    "PCA",
    "REAPER",
    "SSC",
    "SSCOMP",
    "TME",
    "OutlierPursuit",
    "RobustMD",
    "SphericalPCA",
]
