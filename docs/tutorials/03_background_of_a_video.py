"""
Background and foreground in a video
====================================

A camera looks at a road. The background stays, but for the light; cars pass. The frames, as vectors, lie near a
subspace of two or three dimensions, and what differs from it moves. This tutorial separates both, for a stored video
and frame by frame.
"""

# %%
# The video
# ---------
# 240 frames of 60 x 90 pixels: a street in changing light, three cars, camera noise, and some frames that were
# damaged in transmission.

import os
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from gasg21 import GASG21, GRASTA, plotting

rng = np.random.default_rng(0)
frames, height, width = 240, 60, 90
y, x = np.mgrid[:height, :width]
street = 120 + 40 * (y > 14) * (y < 52) - 30 * (y <= 14) + 8 * rng.normal(size=(height, width))
street[(y % 18 == 15) & (x % 14 < 8)] = 235  # lane markings
street[:14] += 25 * np.sin(x[:14] / 5) * np.cos(y[:14] / 3)  # trees
cars = [(17, 10, 18, 0.55, 40), (31, 9, 16, -0.8, 215), (43, 8, 20, 0.35, 70)]  # top, height, width, speed, gray
video, moving = np.empty((frames, height, width)), np.zeros((frames, height, width), bool)
for f in range(frames):
    video[f] = street * (1 + 0.12 * np.sin(f / 50)) + 10 * np.cos(f / 35) * (x / width)
    for top, tall, wide, speed, gray in cars:
        columns = (int(speed * f) + np.arange(wide)) % width
        video[f, top : top + tall, columns] = gray
        moving[f, top : top + tall, columns] = True
video += 3 * rng.normal(size=video.shape)
damaged = rng.random(frames) < 0.1
video[damaged] = rng.uniform(0, 255, (damaged.sum(), height, width))
X = video.reshape(frames, -1)  # one frame per row


def show(*pictures, titles):
    """Show pictures side by side."""
    _, axes = plt.subplots(1, len(pictures), figsize=(3 * len(pictures), 2.4), layout="constrained")
    for ax, picture, title in zip(axes, pictures, titles, strict=True):
        ax.imshow(np.reshape(picture, (height, width)), cmap="gray", vmin=0, vmax=255)
        ax.set_title(title, fontsize="medium")
        ax.axis("off")
    plt.show()


show(video[40], video[180], video[np.flatnonzero(damaged)[2]], titles=["frame 40", "frame 180", "a damaged frame"])

# %%
# A stored video
# --------------
# Cars cover a part of each frame: *entries* are corrupted. That is what :class:`~gasg21.GRASTA` is for. It
# minimises absolute values, so ``inverse_transform(transform(X))`` is the background even where a car stands.
# First :class:`~gasg21.GASG21` leaves out the damaged frames: whole *samples* that are garbage.
#
# ``fit`` would warn that the frames share an offset: it is the street. Here that is no mistake. Brighter light
# multiplies the street, so the frames lie on a subspace through the origin, and the street is its first
# direction. With ``center=True`` it would warn that the subspace explains too little, which is true as well: without
# the street, the cars are most of what is left, and no subspace of the light explains them. The damaged frames are
# found both ways.
#
# ``tol`` is the angle to aim at: 0.03 radians are enough for a picture, and the default of 1e-6 takes several times as
# long.

warnings.filterwarnings("ignore", message="the samples share an offset")
good = GASG21(n_components=2, random_state=0).fit(X).predict(X) == 1
print(f"damaged frames: {damaged.sum()}; found {(~good & damaged).sum()}, wrongly {(~good & ~damaged).sum()}")

model = GRASTA(n_components=2, tol=0.03, random_state=0).fit(X[good])
plotting.images(model, X, (height, width), rows=[40, 100, 180])
plt.show()

# %%
# A threshold makes a mask of the foreground. The share of right pixels in it, and of the cars that are found:

background = model.inverse_transform(model.transform(X))
foreground = np.abs(X - background) > 20
truth = moving.reshape(frames, -1)
found, real = foreground[good & ~damaged], truth[good & ~damaged]
print(f"precision {(found & real).sum() / found.sum():.2f}, recall {(found & real).sum() / real.sum():.2f}")

# %%
# A live video
# ------------
# Learn from the first half, then follow the camera: ``partial_fit`` takes one frame at a time, in the order in
# which they come, and the background follows the light. ``residuals_`` is the distance of a frame to the
# background *before* its update: damaged frames stand out at once.

half = frames // 2
live = GRASTA(n_components=2, tol=0.03, random_state=0).fit(X[:half][good[:half]])
residuals, masks = [], []
for frame in X[half:]:
    live.partial_fit(frame)
    residuals.append(live.residuals_[0])
    behind = live.inverse_transform(live.transform(frame[None]))[0]
    masks.append(np.abs(frame - behind) > 20)
print("status:", live.status_)

fig, ax = plt.subplots(figsize=(8, 2.8), layout="constrained")
number, residuals, broken = np.arange(half, frames), np.array(residuals), damaged[half:]
ax.plot(number[~broken], residuals[~broken], ".", color="#2471a3", ms=5, label="frames")
ax.plot(number[broken], residuals[broken], "^", color="#d35400", ms=6, label="damaged frames")
ax.set(xlabel="frame", ylabel="residual before the update", ylim=(0, 0.8))
ax.legend(frameon=False, ncols=2)
plt.show()

# %%
# The last frame, right after its update:

show(X[-1], behind, 255 * masks[-1], titles=["last frame", "background", "what moves"])

# %%
# Your own video
# --------------
# Read the frames with any library into an array ``(frames, height, width)``, and reshape it as above; color works
# the same, with three times the columns. If the variable ``GASG21_DATA`` names a folder with ``highway.npz`` (a
# traffic video of CDnet 2012), the same code runs on it:

real_video = Path(os.environ.get("GASG21_DATA", ""), "highway.npz")
if "GASG21_DATA" in os.environ and real_video.exists():
    with np.load(real_video) as archive:
        film = archive[archive.files[0]].astype(np.float32)
    rows = film.reshape(len(film), -1)
    highway = GASG21(n_components=2, random_state=0).fit(rows)
    print("highway:", film.shape, highway.status_)
