"""
Filling gaps in sensor data
===========================

Thirty weather stations report temperatures every hour. A quarter of the readings is missing: single ones, and whole
days of a station. Some hours are garbage, because the receiver was disturbed. :class:`~gasg21.SubspaceImputer` fills
the gaps from what the other stations report at the same hour, and the garbage does not spoil it.
"""

# %%
# The data
# --------
# Temperatures follow the day, the season and a few weather patterns, each station in its own way, with some noise
# of its own.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.impute import KNNImputer, SimpleImputer

from gasg21 import GASG21, SubspaceImputer

rng = np.random.default_rng(0)
hours, stations = 24 * 60, 30
time = pd.date_range("2024-03-01", periods=hours, freq="h")
t = np.arange(hours)
fronts = np.cumsum(rng.normal(size=(hours, 3)), axis=0)
fronts -= pd.DataFrame(fronts).rolling(240, min_periods=1, center=True).mean().to_numpy()
causes = np.column_stack([np.sin(2 * np.pi * t / 24), np.cos(2 * np.pi * t / 24), t / hours, fronts / 8])
reaction = rng.normal(size=(causes.shape[1], stations)) + np.array([[-4], [-3], [6], [3], [3], [3]])
truth = 9 + rng.normal(0, 3, stations) + causes @ reaction + 0.3 * rng.normal(size=(hours, stations))

reported = truth.copy()
garbage = rng.random(hours) < 0.05
reported[garbage] = rng.normal(10, 15, (garbage.sum(), stations))  # disturbed hours
reported[rng.random(reported.shape) < 0.15] = np.nan  # single readings
for _ in range(60):  # outages of one station
    start, length = rng.integers(hours), rng.integers(12, 96)
    reported[start : start + length, rng.integers(stations)] = np.nan
table = pd.DataFrame(reported, index=time, columns=[f"station {i}" for i in range(stations)])
print(f"{table.isna().to_numpy().mean():.0%} of the readings are missing")

# %%
# Fill the gaps
# -------------
# One line. The dimension is chosen by held-out readings, and the result is a table again.

imputer = SubspaceImputer(random_state=0).set_output(transform="pandas")
filled = imputer.fit_transform(table)
print("dimension:", imputer.n_components_)
print("scores of the dimensions tried:", {d: round(score, 3) for d, score in imputer.scores_.items()})

# %%
# An outage of one station, as reported, as filled in, and as it was. The two or three spikes are disturbed hours:
# there all other stations report garbage. The last section finds these hours.

gaps = table["station 7"].isna().astype(int)
end = int(np.argmax(gaps.rolling(36).sum().to_numpy() >= 30))
part = slice(max(end - 72, 0), end + 24)
fig, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
ax.plot(time[part], truth[part, 7], color="#95a5a6", lw=3, label="as it was")
ax.plot(time[part], filled["station 7"].iloc[part], color="#d35400", lw=1.2, ls="--", label="filled in")
ax.plot(time[part], table["station 7"].iloc[part], ".", color="#2471a3", ms=5, label="reported")
ax.set(ylabel="station 7 [°C]", ylim=(truth[part, 7].min() - 6, truth[part, 7].max() + 8))
ax.legend(frameon=False, ncols=3, loc="upper left")
ax.tick_params(axis="x", rotation=20)
plt.show()

# %%
# How good is it?
# ---------------
# Here we know the truth. The error of the missing readings in hours without disturbance, in degrees:

missing = table.isna().to_numpy() & ~garbage[:, None]
ways = {
    "mean of the station": SimpleImputer().fit_transform(table),
    "interpolation in time": table.interpolate(limit_direction="both").to_numpy(),
    "KNNImputer": KNNImputer().fit_transform(table),
    "SubspaceImputer": filled.to_numpy(),
}
for name, way in ways.items():
    print(f"{name:24} {np.sqrt(np.mean((way - truth)[missing] ** 2)):.2f}")

# %%
# The noise of a reading is 0.3 degrees: no method can do better than that.
#
# In a pipeline
# -------------
# The imputer is a transformer like any other: ``make_pipeline(SubspaceImputer(), StandardScaler(), Ridge())``.
# New rows are filled in without a new fit. If columns have different units, scale them first: ``StandardScaler``
# passes NaN on, and its ``inverse_transform`` leads back to the units.
#
# Disturbed hours keep their readings; ``GASG21.predict`` finds them:

model = GASG21(imputer.n_components_, center=True, random_state=0).fit(table)
disturbed = model.predict(table) == -1
print(f"disturbed hours: {garbage.sum()}; found {(disturbed & garbage).sum()}, wrongly {(disturbed & ~garbage).sum()}")
