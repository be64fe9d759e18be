"""The methods that GASG21 is measured against, each from its own paper with its authors' settings.

Those of one subspace have the interface of `gasg21.GASG21` (docs/methods.md compares them), those of several that of
a scikit-learn clusterer (docs/clustering_methods.md). Numpy, scipy and scikit-learn only. GROUSE and GRASTA come from
the compiled core: `gasg21.GROUSE`, `gasg21.GRASTA`.
"""

from gasg21.baselines._fms import FMS
from gasg21.baselines._lbf import LBF
from gasg21.baselines._lrr import LRR
from gasg21.baselines._outlier_pursuit import OutlierPursuit
from gasg21.baselines._pca import PCA, SphericalPCA
from gasg21.baselines._reaper import REAPER
from gasg21.baselines._robust_md import RobustMD
from gasg21.baselines._ssc import SSC
from gasg21.baselines._tme import TME

__all__ = [
    "FMS",
    "LBF",
    "LRR",
    "PCA",
    "REAPER",
    "SSC",
    "TME",
    "OutlierPursuit",
    "RobustMD",
    "SphericalPCA",
]
