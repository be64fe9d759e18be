"""
A stream that changes, with alarms
==================================

Sixty sensors of a plant report once a second. Four hidden causes drive them all. Single readings are garbage; for a
while nearly all are (a storm). Then the plant is switched to another product, and the relations between the sensors
change. The stream must raise an alarm for the switch, and only for that, and learn the new state by itself.
"""

# %%
# The stream
# ----------
# Causes change slowly, so consecutive vectors are alike. They come in their natural order; nothing is shuffled.

import matplotlib.pyplot as plt
import numpy as np

from gasg21 import GASG21

rng = np.random.default_rng(0)
sensors, d = 60, 4
phases = [("product A", 2500, 0.1), ("storm", 1500, 0.9), ("product A", 1500, 0.1), ("product B", 3500, 0.1)]
products = {name: np.linalg.qr(rng.normal(size=(sensors, d)))[0].T for name in ("product A", "product B")}
products["storm"] = products["product A"]


def slow(count, columns, memory=0.95):
    """Return processes of variance 1 that change slowly."""
    rows = [rng.normal(size=columns)]
    for _ in range(count - 1):
        rows.append(memory * rows[-1] + np.sqrt(1 - memory**2) * rng.normal(size=columns))
    return np.array(rows)


parts, outlier = [], []
for name, count, share in phases:
    part = slow(count, d) @ products[name] + 0.01 * rng.normal(size=(count, sensors))
    bad = rng.random(count) < share
    part[bad] = np.sqrt(d / sensors) * rng.normal(size=(bad.sum(), sensors))
    parts.append(part)
    outlier.append(bad)
stream, outlier = np.vstack(parts), np.concatenate(outlier)
switch = sum(count for _, count, _ in phases[:3])

# %%
# Follow it
# ---------
# A loop that you would run beside the plant. After each vector three attributes say what happens: ``residuals_``
# (is this vector an outlier?), ``status_`` (does the model still know the plant?) and ``changes_`` (has it
# changed?).

model = GASG21(n_components=d, random_state=0)
alarms, residuals, statuses = [], [], []
for second, x in enumerate(stream):
    model.partial_fit(x)
    residuals.append(model.residuals_[0])
    statuses.append(model.status_)
    if len(model.changes_) > len(alarms):
        alarms.append(second)
        print(f"second {second}: the plant has changed")
print(f"the switch was in second {switch}; status at the end: {model.status_}")

# %%
# What it saw
# -----------

residuals = np.array(residuals)
colours = {"starting": "#d5dbdb", "changed": "#f5b7b1", "lost": "#f9e79f"}
fig, ax = plt.subplots(figsize=(8.5, 3.6), layout="constrained")
for status, colour in colours.items():
    where = np.array(statuses) == status
    ax.fill_between(np.arange(len(where)), 0, 1.05, where=where, color=colour, lw=0, label=f'status "{status}"')
ax.plot(np.flatnonzero(~outlier), residuals[~outlier], ".", ms=1.5, color="#2471a3", label="good vectors")
ax.plot(np.flatnonzero(outlier), residuals[outlier], ".", ms=1.5, color="#7f8c8d", label="outliers")
for alarm in alarms:
    ax.axvline(alarm, color="#c0392b", lw=1.5, label="alarm")
begins = np.cumsum([0] + [count for _, count, _ in phases])
for (name, *_), begin, end in zip(phases, begins, begins[1:], strict=False):
    ax.text((begin + end) / 2, 1.08, name, ha="center")
ax.set(xlabel="second", ylabel="residual", ylim=(0, 1.05), xlim=(0, len(stream)))
ax.legend(frameon=True, fontsize="small", loc="center left", bbox_to_anchor=(1.01, 0.5), markerscale=6)
plt.show()

# %%
# During the storm nine of ten vectors are garbage. The model does not follow them, and raises no alarm. After the
# switch it takes about a hundred vectors to be sure, and a few hundred to learn product B.
#
# Keep it
# -------
# ``model.save("plant.gasg21")`` writes the stream to a file, with everything it needs to go on bit for bit;
# ``gasg21.load`` reads it, and so does a C++ program. :doc:`/streams` explains the status, and what is not
# reported: slow drift is followed without an alarm.
