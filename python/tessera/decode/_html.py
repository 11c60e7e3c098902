"""What notebooks show of recordings, models and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera._html import Card, Table, size_text

if TYPE_CHECKING:
    from tessera.decode._tune import Tuning
    from tessera.decode.recordings import Recording
    from tessera.decode.results import Results


def of_results(results: Results) -> str:
    """Return the card of results without xarray, which has a card of its own."""
    time = np.atleast_1d(results.coords["time"])
    facts: dict[str, object] = {
        "times": f"{len(time):,}" + (f", {time[0]:g} to {time[-1]:g} s" if len(time) else ""),
        "states": ", ".join(map(str, np.atleast_1d(results.coords["states"]))),
    }
    evidence = np.atleast_1d(results.attrs.get("marginal_log_likelihoods", ()))
    if evidence.size:
        facts["log evidence"] = float(evidence[-1])
    rows = [
        (
            name,
            ", ".join(results.dims[name]),
            " by ".join(map(str, array.shape)),
            str(array.dtype),
            size_text(array.nbytes),
        )
        for name, array in results.data_vars.items()
    ]
    table = Table(("variable", "axes", "shape", "type", "size"), rows)
    return Card("Decoded results", facts, tables=[table]).html()


def of_recording(recording: Recording) -> str:
    """Return the card of a recording."""
    time = recording.time
    facts: dict[str, object] = {
        "electrodes": len(recording.spike_times) or len(recording.encoding_spike_times),
        "features": _widths(recording.encoding_spike_waveform_features),
        "to learn from": f"{sum(map(len, recording.encoding_spike_times)):,} spikes, "
        f"{len(recording.position_time):,} positions",
        "to decode": f"{sum(map(len, recording.spike_times)):,} spikes, {len(time):,} times"
        + (f" from {time[0]:g} to {time[-1]:g} s" if len(time) else ""),
        "position": f"{len(np.atleast_2d(recording.position.T))}-dimensional, cm"
        + ", on a track graph" * (recording.track_graph is not None),
        "truth": "known" if recording.true_position is not None else "not known",
        "from": recording.path or recording.format,
    }
    return Card("Recording", facts).html()


def _widths(marks: list[Any]) -> str:
    widths = sorted({array.shape[1] for array in marks})
    return " or ".join(map(str, widths)) + " per spike" if widths else "none: sorted spikes"


def of_model(model: Any) -> str:
    """Return the card of a detector."""
    is_fitted = "encoding_model_" in model.__dict__
    algorithm = getattr(model, model._algorithm_name)
    given = getattr(model, f"{model._algorithm_name}_params") or {}
    facts = {
        "algorithm": algorithm,
        "settings": ", ".join(f"{name} {value}" for name, value in given.items()) or "defaults",
        "environments": ", ".join(
            f"{each.environment_name or 'track'} (bins of {each.place_bin_size} cm)"
            for each in model.environments
        ),
    }
    if is_fitted:
        facts["state bins"] = f"{int(model.is_track_interior_state_bins_.sum()):,} in the track"
    rows = []
    for k, (name, observation) in enumerate(
        zip(model.state_names, model.observation_models, strict=True)
    ):
        how = "silence" if observation.is_no_spike else "a place"
        moves = type(model.continuous_transition_types[k][k]).__name__
        rows.append((name, "the animal's own" if observation.is_local else how, moves))
    table = Table(("state", "spikes tell of", "movement within"), rows)
    badge = "fitted" if is_fitted else "not fitted"
    return Card(type(model).__name__, facts, badge, tables=[table]).html()


def of_tuning(tuning: Tuning) -> str:
    """Return the card of chosen bandwidths."""
    facts = {
        "position_std": f"{tuning.position_std:.4g} cm",
        "waveform_std": "sorted spikes have none"
        if np.isnan(tuning.waveform_std)
        else f"{tuning.waveform_std:.4g} µV",
        "score": f"{tuning.score:.6g} nats per held-out spike, "
        f"{tuning.score - tuning.start_score:+.4g} from the start",
    }
    warnings = [
        f"{name}: the best was the last one tried on its side; start from there again"
        for name, at_end in (
            ("position_std", tuning.position_at_end),
            ("waveform_std", tuning.waveform_at_end),
        )
        if at_end
    ]
    rows = [
        (
            float(entry["position_std"]),
            float(entry["waveform_std"]),
            float(entry["score"]),
            float(entry["below_best"]),
        )
        for entry in tuning.candidates
    ]
    table = Table(("position_std", "waveform_std", "score", "below the best"), rows)
    return Card("Bandwidths", facts, tables=[table], warnings=warnings).html()
