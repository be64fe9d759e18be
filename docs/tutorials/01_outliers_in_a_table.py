"""
Outliers in a table
===================

A table of 357 rows has 40 rows that are wrong: a mix-up in the laboratory has combined the values of different
patients. Every single value is plausible, so no look at one column finds them. But the columns of a right row fit
together, and those of a mixed-up row do not. :class:`~gasg21.GASG21` learns what fits together from the same table.
"""

# %%
# The table
# ---------
# The measurements of benign tumours from scikit-learn, 30 columns. We spoil 40 rows: each of their values comes
# from another patient, drawn at random.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import RobustScaler

from gasg21 import GASG21, plotting

rng = np.random.default_rng(0)
cancer = load_breast_cancer(as_frame=True)
table = cancer.data[cancer.target == 1].reset_index(drop=True)
wrong = np.zeros(len(table), bool)
wrong[rng.choice(len(table), 40, replace=False)] = True
original = table.to_numpy()
for row in np.flatnonzero(wrong):
    table.loc[row] = original[rng.integers(len(table), size=table.shape[1]), np.arange(table.shape[1])]
table.iloc[:4, :6]

# %%
# Fit
# ---
# The columns have different units, so we scale them by their quartiles, which outliers do not move. The values do
# not vary about 0: ``center=True`` fits an affine subspace, as PCA does. ``n_components="auto"`` finds the
# dimension.

scaled = RobustScaler().set_output(transform="pandas").fit_transform(table)
model = GASG21(n_components="auto", center=True, random_state=0).fit(scaled)
print("dimension:", model.n_components_, " status:", model.status_)
print(f"standard error of the subspace: {model.estimated_angle_:.2f} radians")

# %%
# Which rows are wrong?
# ---------------------
# :meth:`~gasg21.GASG21.predict` says +1 or -1. There was nothing to tell it how many.

flagged = model.predict(scaled) == -1
print(f"{flagged.sum()} rows flagged; {(flagged & wrong).sum()} of the {wrong.sum()} wrong ones among them")

# %%
# The outlier map
# ---------------
# :func:`gasg21.plotting.outlier_map` shows two robust distances of each row. A row far to the right is extreme,
# but its values fit together: a large tumour is large in every column. A row high up breaks the pattern. Rings
# mark what we know here: the rows that are wrong.

ax = plotting.outlier_map(model, scaled)
ax.plot(*model.distances(scaled)[wrong].T, "o", mfc="none", mec="k", ms=10, mew=0.7, label="mixed up by us")
ax.legend()
plt.show()

# %%
# Which values look wrong?
# ------------------------
# The residual of a flagged row, column by column, in units of the usual residual of that column, shows what does
# not fit.

fitted = model.inverse_transform(model.transform(scaled))
residual = scaled - fitted
usual = residual[~flagged].abs().median()
row = np.flatnonzero(flagged)[0]
(residual.loc[row] / usual).sort_values(key=abs, ascending=False).head(5).round(1)

# %%
# Other ways
# ----------
# A look at each column alone, and a forest of random cuts, for comparison: the area under the ROC curve, 1 is
# perfect.

ways = {
    "largest value of a row": scaled.abs().max(axis=1),
    "IsolationForest": -IsolationForest(random_state=0).fit(scaled).score_samples(scaled),
    "GASG21": -model.decision_function(scaled),
}
for name, score in ways.items():
    print(f"{name:24} {roc_auc_score(wrong, score):.3f}")

# %%
# If you know the share of outliers, ``contamination=0.1`` makes ``predict`` flag that share. ``score_samples``,
# ``decision_function`` and ``predict`` have the meaning of scikit-learn's outlier detectors: larger is more normal.
# :doc:`/decisions` explains the rule, and when not to trust it.
