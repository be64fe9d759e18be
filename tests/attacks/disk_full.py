"""A disk without room: an OSError, and the old file stays. Needs root, for a small file system in memory."""

import errno
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import gasg21
from attacks.clock import turns
from attacks.models import fingerprint


def attack(count, seed):
    rng = np.random.default_rng(seed)
    failures, ran = [], 0
    with tempfile.TemporaryDirectory() as folder:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True, check=False
        )
        if mounted.returncode:
            return 0, [], "skipped: no file system could be mounted"
        try:
            path = Path(folder) / "model.gasg21"
            small = gasg21.GASG21(2, random_state=0).partial_fit(rng.standard_normal((30, 6)))
            small.save(path)
            for i in turns(count):
                ran = i + 1
                large = gasg21.GASG21(5, random_state=i).partial_fit(rng.standard_normal((40, 3000 + 500 * i)))
                try:
                    large.save(path)
                    failures.append(f"{i}: a model larger than the disk was saved")
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        failures.append(f"{i}: {error!r}")
                if fingerprint(gasg21.load(path)) != fingerprint(small) or len(list(Path(folder).iterdir())) != 1:
                    failures.append(f"{i}: the old file is not what it was")
        finally:
            subprocess.run(["umount", folder], check=True)
    return ran, failures, ""
