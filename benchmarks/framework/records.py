"""Results and their origin: one small JSON file for each experiment."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

import gasg21
from benchmarks.framework.catalogue import name_of
from benchmarks.framework.core import COMPILED
from benchmarks.framework.experiment import Experiment

ROOT = Path(__file__).parents[2]
Record = dict[str, Any]
PICTURES = "images"  # the key of results that show the data itself, which must not be published


@functools.cache
def machine() -> dict[str, Any]:
    """Return the processor and its number of cores."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {"cpu": models[0] if models else platform.processor() or platform.machine(), "cores": os.cpu_count()}


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of the packages that times and digits depend on."""
    packages = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")}
    libraries = sorted(
        {f"{pool['internal_api']} {pool['version']}" for pool in threadpool_info() if pool["user_api"] == "blas"}
    )
    return {"python": platform.python_version(), **packages, "gasg21": gasg21.__version__, "blas": ", ".join(libraries)}


def git(*arguments: str) -> str | None:
    """Return the output of git, or None if there is no repository."""
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


@functools.cache
def commit() -> dict[str, Any]:
    """Return the commit at the start of the run, and whether any file but the results differs from it."""
    return {
        "commit": git("rev-parse", "HEAD"),
        "dirty": bool(git("status", "--porcelain", "--", ".", ":!benchmarks/results")),
    }


def source(experiment: Experiment) -> str:
    """Return a digest of the code that a result depends on: the installed gasg21, the experiment and the shared helpers."""
    package = Path(gasg21.__file__).parent
    files = [*sorted(package.rglob("*.py")), COMPILED]
    files += [Path(experiment.__file__), *sorted((ROOT / "benchmarks" / "experiments").glob("_*.py"))]
    files += [Path(__file__).with_name(f"{name}.py") for name in ("angles", "core", "data")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def settings(experiment: Experiment, quick: bool, seeds: int | None) -> Record:
    """Return the values that must be equal for a stored result to be kept."""
    count = seeds or (min(2, experiment.SEEDS) if quick else experiment.SEEDS)
    return {
        "quick": quick,
        "seeds": count,
        "settings": plain(experiment.SETTINGS),
        "source": source(experiment),
        "machine": machine(),
        "versions": versions(),
    }


def plain(value: Any) -> Any:
    """Return the value as it is read back from a JSON file; NumPy numbers and arrays become those of Python."""
    return json.loads(json.dumps(value, default=lambda entry: entry.tolist()))


def path_of(experiment: Experiment, directory: Path) -> Path:
    """Return the file with the result of an experiment."""
    return directory / f"{name_of(experiment)}.json"


def pictures_of(experiment: Experiment, directory: Path) -> Path:
    """Return the file beside it with the pictures of the data; git ignores it."""
    return directory / f"{name_of(experiment)}.pictures.json"


def load(experiment: Experiment, directory: Path) -> Record | None:
    """Return the stored record or None, with its pictures if they are available."""
    path, pictures = path_of(experiment, directory), pictures_of(experiment, directory)
    if not path.exists():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    if pictures.exists() and "results" in record:
        record["results"][PICTURES] = json.loads(pictures.read_text(encoding="utf-8"))
    return record


def without_pictures(results: Record) -> Record:
    """Return the results that may be published."""
    return {key: value for key, value in results.items() if key != PICTURES}


def save(experiment: Experiment, directory: Path, record: Record) -> Path:
    """Write the record, pictures to a file of their own; an interruption leaves the old record intact."""
    path = path_of(experiment, directory)
    directory.mkdir(parents=True, exist_ok=True)
    results = record.get("results") or {}
    if PICTURES in results:
        pictures_of(experiment, directory).write_text(json.dumps(results[PICTURES]), encoding="utf-8")
        record = {**record, "results": without_pictures(results)}
    unfinished = path.with_suffix(".part")
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in record.items()]
    unfinished.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    unfinished.replace(path)
    return path


def now() -> datetime:
    """Return the current time in UTC, in whole seconds."""
    return datetime.now(timezone.utc).replace(microsecond=0)


def age(record: Record) -> str:
    """Return the age of a record in words."""
    seconds = (now() - datetime.fromisoformat(record["date"])).total_seconds()
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'s' if count > 1 else ''} old"
    return "just made"


def origin(record: Record) -> str:
    """Return the short commit, marked if the tree had changes."""
    return f"{(record['commit'] or 'no commit')[:10]}{' with changes' if record['dirty'] else ''}"
