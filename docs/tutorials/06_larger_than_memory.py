"""
Data larger than memory
=======================

A fit reads its data a few times, a little at a time, and keeps little of it. So data need not fit into memory. This
tutorial writes a file, fits a subspace to it without loading it, and does the same sample by sample.
"""

# %%
# A file
# ------
# 200 000 samples of 60 features in single precision, written in pieces: a third are outliers, a tenth of the
# entries is missing. That is 48 MB, so that this page builds fast; the code is the same for 480 GB.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from gasg21 import GASG21
from gasg21.blocks import BlockSource, write_blocks
from gasg21.metrics import subspace_angle

rng = np.random.default_rng(0)
n_samples, n_features, d, piece = 200_000, 60, 4, 20_000
basis = np.linalg.qr(rng.normal(size=(n_features, d)))[0].T
path = Path(tempfile.mkdtemp()) / "samples.npy"
file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n_samples, n_features))
for start in range(0, n_samples, piece):
    part = rng.normal(size=(piece, d)) @ basis + 0.02 * rng.normal(size=(piece, n_features))
    bad = rng.random(piece) < 1 / 3
    part[bad] = 0.25 * rng.normal(size=(bad.sum(), n_features))
    part[rng.random(part.shape) < 0.1] = np.nan
    file[start : start + piece] = part
file.flush()
del file
print(f"{path.stat().st_size / 1e6:.0f} MB")

# %%
# A memory map
# ------------
# ``np.load(..., mmap_mode="r")`` opens the file without reading it. gasg21 borrows the map: nothing is copied,
# and the operating system loads and drops pages as they are needed.

X = np.load(path, mmap_mode="r")
model = GASG21(n_components=d, random_state=0).fit(X)
print(model.status_, f"angle to the truth {subspace_angle(model.components_, basis):.1e} radians,", end=" ")
print(f"expected {model.estimated_angle_:.1e}")

# %%
# Parts
# -----
# Files, chunks and row groups are parts of a data set. :class:`gasg21.blocks.BlockSource` describes them, and ``fit``
# takes it in place of an array. Each part is read three or four times, in parallel, and memory stays bounded. There
# are ``from_npy``, ``from_csv``, ``from_parquet``, ``from_hdf5`` and ``from_zarr``; here each part is a function that
# loads it.


def part_at(start):
    """Return a function that loads one part."""
    return lambda: np.load(path, mmap_mode="r")[start : start + piece]


source = BlockSource.from_blocks([part_at(start) for start in range(0, n_samples, piece)])
print(source)
in_parts = GASG21(n_components=d, random_state=0).fit(source)
print(in_parts.status_, f"angle to the truth {subspace_angle(in_parts.components_, basis):.1e} radians")

# %%
# Results come in parts, too, one array for each; ``write_blocks`` writes them to a file, one at a time.

outliers = sum(int((labels == -1).sum()) for labels in in_parts.predict(source))
print(f"{outliers} outliers of {n_samples} samples")
completed = path.with_name("completed.npy")
print(write_blocks(in_parts.complete(source), completed), "rows completed")

# %%
# One look at a time
# ------------------
# If the samples come from somewhere else, give them in pieces to ``partial_fit``. It sees each of them once, and
# keeps the subspace and a few dozen samples.

stream = GASG21(n_components=d, random_state=0)
seen, angles = [], []
for start in range(0, 40_000, 500):
    stream.partial_fit(X[start : start + 500])
    seen.append(start + 500)
    angles.append(subspace_angle(stream.components_, basis))

fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.semilogy(seen, angles, color="#2471a3", label="stream, sample by sample")
ax.axhline(subspace_angle(model.components_, basis), color="#d35400", ls="--", label="fit to the whole file")
ax.set(xlabel="samples seen", ylabel="angle to the truth [rad]")
ax.legend(frameon=False)
plt.show()

# %%
# A stream never sees the data twice, so under noise it stays further from the truth than a fit.
#
# Many machines
# -------------
# ``gasg21.dask`` runs the same fit on a cluster, with the same bits. :doc:`/large_data` says which way to choose.
