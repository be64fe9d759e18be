"""The methods that GASG21 is measured against, each from its own paper, with the interface of `gasg21.GASG21`.

Numpy and scipy only. docs/methods.md compares them. GROUSE is `gasg21.GROUSE`, from the compiled core.
"""

from gasg21.baselines._fms import FMS
from gasg21.baselines._outlier_pursuit import OutlierPursuit
from gasg21.baselines._pca import PCA, SphericalPCA
from gasg21.baselines._reaper import REAPER
from gasg21.baselines._robust_md import RobustMD
from gasg21.baselines._tme import TME

__all__ = [
    "FMS",
    "PCA",
    "REAPER",
    "TME",
    "OutlierPursuit",
    "RobustMD",
    "SphericalPCA",
]
