"""What notebooks show of fits, logs and thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera._html import Card, Table, size_text

if TYPE_CHECKING:
    from tessera.autoreject._epochs import EpochsFile
    from tessera.autoreject.ransac import Ransac
    from tessera.autoreject.reject_log import RejectLog

_MOST_CHANNELS = 12


def of_log(log: RejectLog) -> str:
    """Return the card of a log: counts, and the channels that are bad most often."""
    n_epoch = len(log.labels)
    n_dropped = int(log.bad_epochs.sum())
    kept = log.labels[~log.bad_epochs]
    share = n_dropped / n_epoch if n_epoch else 0.0
    facts = {
        "epochs": f"{n_epoch:,}, {n_dropped:,} dropped ({100 * share:.3g} %)",
        "channels": f"{len(log.ch_names):,}",
        "repaired": f"{int((kept == 2).sum()):,} channels in epochs that are kept",
        "left bad": f"{int((kept == 1).sum()):,} channels in epochs that are kept",
    }
    times_bad = (log.labels > 0).sum(axis=0)
    worst = [int(k) for k in np.argsort(-times_bad, kind="stable")[:_MOST_CHANNELS]]
    rows = [
        (log.ch_names[k], int(times_bad[k]), f"{100 * times_bad[k] / n_epoch:.3g} %")
        for k in worst
        if times_bad[k]
    ]
    tables = [Table(("channel", "epochs", "share"), rows, "Bad most often")] if rows else []
    verdict = "good" if share <= 0.1 else "fair" if share <= 0.3 else "poor"
    return Card("Reject log", facts, f"{100 * share:.3g} % dropped", verdict, tables).html()


def of_fit(ar: Any) -> str:
    """Return the card of an AutoReject."""
    name = type(ar).__name__
    if not hasattr(ar, "threshes_"):
        shown = {key: getattr(ar, key) for key in ar._shown if getattr(ar, key) is not None}
        return Card(name, {"parameters": shown}, "not fitted").html()
    facts = {
        "fitted on": f"{ar._shape[0]:,} epochs" if hasattr(ar, "_shape") else "epochs of a file",
        "search": f"{ar.search}, seed {ar.seed_}" if hasattr(ar, "seed_") else ar.search,
    }
    rows = []
    for kind, local in ar.local_reject_.items():
        factor, unit = _unit(kind)
        values = factor * np.array([ar.threshes_[channel] for channel in local.threshes_])
        rows.append(
            (
                kind,
                len(values),
                f"{values.min():.4g} to {values.max():.4g} {unit}",
                float(ar.consensus_[kind]),
                int(ar.n_interpolate_[kind]),
            )
        )
    header = ("type", "channels", "thresholds", "consensus", "n_interpolate")
    return Card(name, facts, "fitted", tables=[Table(header, rows)]).html()


def of_ransac(ransac: Ransac) -> str:
    """Return the card of a Ransac."""
    if not hasattr(ransac, "bad_chs_"):
        return Card("Ransac", badge="not fitted").html()
    facts = {"bad channels": ", ".join(map(str, ransac.bad_chs_)) or "none"}
    return Card("Ransac", facts, "fitted").html()


def of_thresholds(thresholds: Mapping[str, float]) -> str:
    """Return the card of thresholds; units are SI, as MNE has them."""
    values = np.array(list(thresholds.values()))
    facts = {"channels": f"{len(values):,}"}
    if len(values):
        facts["from"] = f"{values.min():.4g} to {values.max():.4g}, median {np.median(values):.4g}"
    ordered = sorted(thresholds.items(), key=lambda entry: -entry[1])
    rows = [(name, f"{value:.4g}") for name, value in ordered]
    table = Table(("channel", "threshold (V, T or T/m)"), rows)
    return Card("Peak-to-peak thresholds", facts, tables=[table]).html()


def of_epochs(epochs: EpochsFile) -> str:
    """Return the card of epochs of a file."""
    n_epoch, n_channel, n_time = epochs.shape
    kinds = {kind: epochs.ch_types.count(kind) for kind in dict.fromkeys(epochs.ch_types)}
    facts = {
        "epochs": f"{n_epoch:,}, {n_time:,} samples at {epochs.sfreq:g} Hz from {epochs.tmin:g} s",
        "channels": ", ".join(f"{n} {kind}" for kind, n in kinds.items()),
        "bad": ", ".join(epochs.bads) or "none",
        "size": f"{size_text(8.0 * n_epoch * n_channel * n_time)} as float64",
        "from": f"{epochs.path} ({epochs.format})",
    }
    return Card("Epochs of a file", facts, warnings=epochs.notes).html()


def _unit(kind: str) -> tuple[float, str]:
    return {"eeg": (1e6, "µV"), "mag": (1e15, "fT"), "grad": (1e13, "fT/cm")}.get(kind, (1.0, ""))
