"""The output of the commands: facts as a dict, printed for a person or as JSON."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

import numpy as np

from gasg21._support.arrays import Array
from gasg21.cli._files import Table

_WORST = 10  # samples that score names
_AXES = 5  # principal axes that fit names
_CALLED = {
    "converged": "converged",
    "noise_floor": "converged as far as the noise allows",
    "max_passes": "did not converge: raise --max-passes",
    "undetermined": "the data does not determine the subspace",
    "ambiguous": "another subspace explains the data as well",
    "rank_deficient": "the samples span fewer dimensions",
    "interrupted": "interrupted",
}


def of_fit(model: Any, table: Table, labels: Array, seconds: dict[str, float]) -> dict[str, Any]:
    """Describe a fit of one subspace."""
    outliers = int((labels == -1).sum())
    return _of_table(table) | {
        **_of_subspace(model),
        "outliers": outliers,
        "outlier_share": outliers / len(labels),
        "skipped": model.n_skipped_ // max(1, _stream_passes(model)),
        "seconds": seconds,
    }


def of_union(model: Any, table: Table, seconds: dict[str, float]) -> dict[str, Any]:
    """Describe a fit of several subspaces."""
    sizes = [int((model.labels_ == k).sum()) for k in range(model.n_clusters_)]
    return _of_table(table) | {
        **_of_clusters(model),
        "sizes": sizes,
        "outliers": int((model.labels_ == -1).sum()),
        "seconds": seconds,
    }


def of_model(model: Any, path: str) -> dict[str, Any]:
    """Describe a model file."""
    found: dict[str, Any] = {"file": path, "estimator": type(model).__name__, "features": int(model.n_features_in_)}
    if hasattr(model, "subspaces_"):
        found |= _of_clusters(model)
    elif hasattr(model, "explained_variance_"):
        found |= _of_subspace(model)
    else:
        found["components"] = int(model.n_components_)
    names = getattr(model, "feature_names_in_", None)
    return found | ({} if names is None else {"feature_names": [str(name) for name in names]})


def of_data(table: Table) -> dict[str, Any]:
    """Describe a file with data."""
    data, found = table.data, _of_table(table)
    observed = ~np.isnan(data)
    empty = int((~observed.any(axis=1)).sum())
    found |= {"rows_without_entries": empty, "columns_without_entries": int((~observed.any(axis=0)).sum())}
    if observed.any():
        found |= {"smallest": float(np.nanmin(data)), "largest": float(np.nanmax(data))}
    return found | ({} if table.names is None else {"names": table.names})


def of_scores(columns: dict[str, Array], table: Table, model: str) -> dict[str, Any]:
    """Describe scores."""
    found = _of_table(table) | {"model": model, "median_score": _number(np.nanmedian(columns["score"]))}
    if "label" in columns:
        labels, counts = np.unique(columns["label"], return_counts=True)
        return found | {"labels": {str(label): int(count) for label, count in zip(labels, counts, strict=True)}}
    order = np.argsort(np.nan_to_num(columns["decision"], nan=-np.inf), kind="stable")
    worst = [int(row) for row in order[:_WORST] if columns["outlier"][row]]
    rows = [int(row) for row in np.flatnonzero(columns["outlier"])]
    return found | {
        "outliers": len(rows),
        "outlier_share": len(rows) / len(columns["row"]),
        "worst": worst,
        "rows": rows,
    }


def of_completion(filled: Array, table: Table) -> dict[str, Any]:
    """Describe what was filled in."""
    missing = np.isnan(table.data)
    return _of_table(table) | {"filled": int((missing & ~np.isnan(filled)).sum()), "left": int(np.isnan(filled).sum())}


def show(found: dict[str, Any], options: argparse.Namespace, *, written: str | None) -> None:
    """Print what a command has found, for a person or for a machine."""
    if written is not None:
        found = found | {"written": written}
    if options.json:
        print(json.dumps(_plain(found), indent=2))
        return
    for line in _lines(found):
        print(line)


# ---- facts


def _of_table(table: Table) -> dict[str, Any]:
    m, n = table.data.shape
    return {"data": table.path, "samples": m, "features": n, "missing": table.missing}


def _of_subspace(model: Any) -> dict[str, Any]:
    facts = {
        "components": int(model.n_components_),
        "center": bool(getattr(model, "center", False)),
        "status": model.status_,
        "explained_variance_ratio": [_number(share) for share in model.explained_variance_ratio_],
        "noise": _number(math.sqrt(max(model.noise_variance_, 0.0))),
    }
    if getattr(model, "history_", None):
        facts |= {
            "passes": model.n_passes_,
            "converged": bool(model.converged_),
            "estimated_angle": _number(model.estimated_angle_),
        }
    return facts


def _of_clusters(model: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"clusters": model.n_clusters_, "components": list(model.n_components_)}
    facts["status"] = model.status_
    if getattr(model, "history_", None):
        facts |= {"passes": model.n_passes_, "converged": bool(model.converged_)}
    return facts


def _stream_passes(model: Any) -> int:
    return sum(record["stage"] == "stream" for record in model.history_)


def _number(value: Any) -> float:
    return float(value)


def _plain(value: Any) -> Any:
    """Return what JSON can hold: NaN and infinity become null."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- sentences


def _lines(found: dict[str, Any]) -> list[str]:
    """Return the facts as lines for a person."""
    lines = []
    if "data" in found:
        lines.append(
            f"{found['data']}: {found['samples']} samples, {found['features']} features, "
            f"{100 * found['missing']:.1f} % missing"
        )
    if "file" in found:
        lines.append(f"{found['file']}: {found['estimator']} of {found['features']} features")
    lines += [f"  {name:<18}{text}" for name, text in _facts(found)]
    if "written" in found:
        lines.append(f"wrote {found['written']}")
    return lines


def _facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    facts = []
    if "status" in found:
        how = _CALLED.get(found["status"], found["status"].replace("_", " "))
        facts.append(("status", how + (f" ({found['passes']} passes)" if "passes" in found else "")))
    if "clusters" in found:
        facts.append(("clusters", f"{found['clusters']}, of dimensions {', '.join(map(str, found['components']))}"))
    elif "components" in found:
        kind = "affine" if found.get("center") else "through the origin"
        facts.append(("dimension", f"{found['components']}, {kind}"))
    if "sizes" in found:
        facts.append(("sizes", ", ".join(map(str, found["sizes"]))))
    if found.get("estimated_angle") is not None and math.isfinite(found.get("estimated_angle", math.nan)):
        facts.append(("estimated error", f"{found['estimated_angle']:.1e} rad"))
    if "explained_variance_ratio" in found:
        shares = found["explained_variance_ratio"]
        more = ", ..." if len(shares) > _AXES else ""
        facts.append(("variance per axis", ", ".join(f"{100 * share:.1f} %" for share in shares[:_AXES]) + more))
        facts.append(("noise of an entry", f"{found['noise']:.3g}"))
    if "outliers" in found:
        share = f" ({100 * found['outlier_share']:.1f} %)" if "outlier_share" in found else ""
        facts.append(("outliers", f"{found['outliers']}{share}"))
    return facts + _more_facts(found)


def _more_facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    facts = []
    if found.get("worst"):
        facts.append(("farthest rows", ", ".join(map(str, found["worst"]))))
    if "labels" in found:
        facts.append(("labels", ", ".join(f"{label}: {count}" for label, count in found["labels"].items())))
    if found.get("skipped"):
        facts.append(("not used", f"{found['skipped']} samples with too few entries"))
    if "filled" in found:
        facts.append(("filled in", f"{found['filled']} entries" + (f", {found['left']} left" if found["left"] else "")))
    if "smallest" in found:
        facts.append(("range", f"{found['smallest']:.6g} to {found['largest']:.6g}"))
    if found.get("rows_without_entries") or found.get("columns_without_entries"):
        rows, columns = found["rows_without_entries"], found["columns_without_entries"]
        facts.append(("empty", f"{rows} rows, {columns} columns"))
    if "names" in found or "feature_names" in found:
        names = found.get("names") or found["feature_names"]
        facts.append(("columns", ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")))
    if "plots" in found:
        facts.append(("picture", f"{found['picture']}: {', '.join(found['plots'])}"))
    if "seconds" in found:
        facts.append(("time", ", ".join(f"{name} {value:.2f} s" for name, value in found["seconds"].items())))
    return facts
