"""Plots of fitted models. Each takes a model (and data), returns matplotlib Axes, and needs no truth.

The colours come from Okabe and Ito; colour-blind people can tell them apart; markers and lines differ, too.
"""

from gasg21.plotting._fits import convergence, outlier_map, residuals, scree
from gasg21.plotting._pictures import images, sphere
from gasg21.plotting._unions import affinity, subspaces

__all__ = ["affinity", "convergence", "images", "outlier_map", "residuals", "scree", "sphere", "subspaces"]
