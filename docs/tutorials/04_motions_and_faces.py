"""
Motions and faces as unions of subspaces
========================================

Points on a rigid object that moves in front of a camera have trajectories in a subspace of four dimensions. Pictures of
one face under changing light lie near a subspace of nine. So several objects, or several people, are a *union* of
subspaces, and :class:`~gasg21.KGASG21` tells them apart without labels, although some vectors belong to none of them.
"""

# %%
# Motions
# -------
# Three objects turn and move for 25 frames. We know where 60 points on each of them are in each frame, as a
# tracker of points would say: one row per point, the x and y of all frames as columns. Twenty-five further points
# follow nothing: their tracks were lost.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from gasg21 import KGASG21, plotting
from gasg21.metrics import clustering_error

rng = np.random.default_rng(0)
n_frames, per_object, lost = 25, 60, 25


def trajectories(points, center, velocity, spin):
    """Return the x and y of rigid points in all frames, (n_points, 2 n_frames)."""
    places = []
    for f in range(n_frames):
        a, b = spin * f, 0.5 * spin[::-1] * f
        turn = np.array([[np.cos(a[0]), -np.sin(a[0]), 0], [np.sin(a[0]), np.cos(a[0]), 0], [0, 0, 1]])
        tilt = np.array([[1, 0, 0], [0, np.cos(b[0]), -np.sin(b[0])], [0, np.sin(b[0]), np.cos(b[0])]])
        places.append((points @ turn.T @ tilt.T)[:, :2] + center + velocity * f)
    return np.stack(places, axis=1).reshape(len(points), -1)


objects = [  # centre, velocity, spin
    ((40, 60), (2.5, 0.5), (0.05, 0.03)),
    ((200, 70), (-1.5, 1.5), (-0.06, 0.05)),
    ((120, 180), (1.0, -1.5), (0.04, -0.07)),
]
tracks = [trajectories(11 * rng.normal(size=(per_object, 3)), *map(np.array, settings)) for settings in objects]
tracks = np.vstack(tracks) + 0.3 * rng.normal(size=(3 * per_object, 2 * n_frames))  # the tracker is not exact
astray = np.cumsum(rng.normal(0, 14, (lost, n_frames, 2)), axis=1) + rng.uniform(20, 220, (lost, 1, 2))
X = np.vstack([tracks, astray.reshape(lost, -1)])
truth = np.repeat([0, 1, 2, -1], [per_object] * 3 + [lost])

# %%
# ``reject_outliers=True`` gives points that belong to no object the label -1.

model = KGASG21(n_clusters=3, n_components=4, reject_outliers=True, random_state=0).fit(X)
print("status:", model.status_)
print(f"error: {clustering_error(truth, model.labels_, outlier_label=-1):.3f} of the points on objects")
print(f"lost tracks found: {(model.labels_[truth == -1] == -1).sum()} of {lost}")

colours = np.array(["#2471a3", "#d35400", "#117a65", "#b2babb"])
fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained", sharex=True, sharey=True)
for ax, labels, title in zip(axes, (np.full(len(X), -1), model.labels_), ("the tracks", "the clusters"), strict=True):
    for track, label in zip(X.reshape(len(X), n_frames, 2), labels, strict=True):
        ax.plot(*track.T, color=colours[label], lw=0.5, alpha=0.7)
        ax.plot(*track[-1], ".", color=colours[label], ms=4)
    ax.set(title=title, aspect="equal", xticks=[], yticks=[], xlim=(0, 260), ylim=(20, 230))
plt.show()

# %%
# Faces
# -----
# Pictures of people must not be part of this package, so we make four heads: smooth surfaces with their own
# relief and colour, lit from 40 directions each, with shadows, and some camera noise. Twelve pictures of clouds
# are mixed in.

size, per_person, people = 28, 40, 4
y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]


def smooth(noise, width):
    """Return noise without its fine detail."""
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(size), np.fft.fftfreq(size)))
    return np.fft.ifft2(np.fft.fft2(noise) * np.exp(-((frequency * width) ** 2))).real


def spot(left, top, wide, tall):
    """Return a soft spot."""
    return np.exp(-(((x - left) / wide) ** 2) - ((y - top) / tall) ** 2)


def head():
    """Return the normals and the colour of a head of its own."""
    u = rng.uniform(-1, 1, 8)
    eye, brow, mouth = 0.34 + 0.05 * u[0], -0.42 + 0.06 * u[1], 0.52 + 0.06 * u[2]
    eyes = spot(-eye, -0.2, 0.17, 0.11) + spot(eye, -0.2, 0.17, 0.11)
    brows = spot(-eye, brow, 0.2, 0.05) + spot(eye, brow, 0.2, 0.05)
    lips = spot(0, mouth, 0.28 + 0.06 * u[3], 0.08)
    nose = spot(0, 0.12 + 0.05 * u[4], 0.13 + 0.03 * u[5], 0.3)
    cheeks = spot(-0.5, 0.25, 0.25, 0.25) + spot(0.5, 0.25, 0.25, 0.25)
    oval = np.sqrt(np.clip(1.15 - (1.2 + 0.15 * u[6]) * x**2 - 0.75 * y**2, 0.01, None))
    height = 1.1 * oval + 0.33 * nose - 0.14 * eyes + 0.06 * lips + 0.08 * (1 + u[7]) * cheeks
    across, along = np.gradient(height, 2 / size)[::-1]
    normals = np.stack([-across, -along, np.ones_like(x)]) / np.sqrt(across**2 + along**2 + 1)
    skin = 1 - 0.5 * brows - 0.35 * eyes - 0.3 * lips + 0.05 * smooth(rng.normal(size=(size, size)), 4) / 0.12
    return normals, skin * ((1.2 + 0.15 * u[6]) * x**2 + 0.75 * y**2 < 0.95)


def picture(normals, skin):
    """Return a picture in light from a random direction, with shadows."""
    light = np.append(rng.uniform(-0.9, 0.9, 2), 1.0)
    return skin * np.clip(np.tensordot(light / np.linalg.norm(light), normals, 1), 0, None)


pictures = [picture(*surface).ravel() for surface in [head() for _ in range(people)] for _ in range(per_person)]
clouds = [np.abs(smooth(rng.normal(size=(size, size)), rng.uniform(3, 12))).ravel() for _ in range(12)]
clouds = [cloud / np.linalg.norm(cloud) * np.linalg.norm(pictures, axis=1).mean() for cloud in clouds]
faces = np.array(pictures + clouds) + 0.01 * rng.normal(size=(len(pictures) + len(clouds), size**2))
person = np.repeat([*range(people), -1], [per_person] * people + [12])

# %%
# Nine dimensions describe a face in any light, whoever it is.

clusters = KGASG21(n_clusters=people, n_components=9, reject_outliers=True, random_state=0).fit(faces)
print("status:", clusters.status_)
print(f"error: {clustering_error(person, clusters.labels_, outlier_label=-1):.3f} of the faces")
print(f"clouds found: {(clusters.labels_[person == -1] == -1).sum()} of 12")

fig, axes = plt.subplots(people + 1, 10, figsize=(8, 4.3), layout="constrained")
for row, label in zip(axes, [*range(people), -1], strict=True):
    members = rng.permutation(np.flatnonzero(clusters.labels_ == label))
    for ax, member in zip(row, [*members[:10], *[None] * 10], strict=False):
        ax.axis("off")
        if member is not None:
            ax.imshow(faces[member].reshape(size, size), cmap="gray")
    row[0].set_title(f"label {label}", fontsize="small", loc="left")
plt.show()

# %%
# How clear is that? :func:`gasg21.plotting.subspaces` compares the residuals of each cluster in its own subspace
# with those in the nearest other one. Where the boxes are apart, so are the clusters. It needs no truth.

plotting.subspaces(clusters, faces)
plt.show()

# %%
# Real motions
# ------------
# If ``GASG21_DATA`` names a folder with the Hopkins 155 data set, the same call runs on its first sequences. In
# the whole set about one point in 400 gets a wrong label; :doc:`/unions` has the table, and says what to do if
# the number of clusters is unknown.

if "GASG21_DATA" in os.environ and Path(os.environ["GASG21_DATA"], "hopkins155").exists():
    from itertools import islice

    from gasg21.datasets import load_hopkins155

    for sequence in islice(load_hopkins155(Path(os.environ["GASG21_DATA"], "hopkins155")), 3):
        labels = KGASG21(sequence.n_motions, 4, random_state=0).fit_predict(sequence.data)
        print(f"{sequence.name:24} error {clustering_error(sequence.labels, labels):.3f}")
