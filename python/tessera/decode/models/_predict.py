"""What a fitted model makes of spikes."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tessera import _core
from tessera._lib import warn
from tessera._progress import ProgressLike, callback
from tessera.decode import _data
from tessera.decode._data import Array, Floats
from tessera.decode._session import Session
from tessera.decode.exceptions import ShapeValidationError, TypeValidationError, ValidationError
from tessera.decode.models._state_space import StateSpace
from tessera.decode.results import Results, make_results, position_names, state_of_bins

if TYPE_CHECKING:
    from tessera.decode._keywords import StreamReport
    from tessera.decode._types import PathLike, ResultsLike, Table

# Results are datasets of xarray where it is installed. It takes seconds to import: here, as with
# the originals, and not in the first prediction, which is to take as long as any other.
with contextlib.suppress(ImportError):
    importlib.import_module("xarray")

ALWAYS = ("acausal_posterior", "acausal_state_probabilities")
_FILTER = ("causal_posterior", "causal_state_probabilities")
OUTPUTS: dict[str, tuple[str, ...]] = {
    "filter": _FILTER,
    "predictive": ("predictive_state_probabilities", "predictive_posterior"),
    "predictive_posterior": ("predictive_posterior",),
    "log_likelihood": ("log_likelihood",),
}
# Bits of the library's tess_decode_want.
_WANT_BITS = {"filter": 1, "predictive": 10, "log_likelihood": 4, "predictive_posterior": 8}
_WANT_PATH = 16


def _limits(intervals: Any) -> Floats:
    """Return starts and ends of intervals: a table with such columns, or shape (n, 2)."""
    if hasattr(intervals, "columns"):
        for name in ("start", "end"):
            if name not in intervals.columns:
                raise ValidationError(
                    f"intervals: no column {name!r} among {list(intervals.columns)}"
                )
        pair = [_data.vector(intervals[name], f"intervals[{name!r}]") for name in ("start", "end")]
        return np.stack(pair)
    array = _data.reals(intervals, "intervals")
    if array.ndim != 2 or array.shape[1] != 2:
        raise ShapeValidationError(
            f"intervals: expected a table with columns start and end, or shape (n, 2), got "
            f"{array.shape}"
        )
    return np.ascontiguousarray(array.T)


def requested_outputs(return_outputs: Any) -> set[str]:
    """Return the names that are asked for; 'all' is all of them."""
    if return_outputs is None:
        return set()
    known = [*OUTPUTS, "all"]
    if isinstance(return_outputs, str):
        if return_outputs not in known:
            raise ValidationError(
                f"Invalid return_outputs: {return_outputs!r}; choose among {', '.join(known)}"
            )
        wanted = {return_outputs}
    elif isinstance(return_outputs, Collection):
        wanted = set(return_outputs)
        unknown = sorted(map(str, wanted - set(known)))
        if unknown:
            raise ValidationError(
                f"Invalid outputs in return_outputs: {', '.join(unknown)}; choose among "
                f"{', '.join(known)}"
            )
    else:
        raise TypeValidationError(
            "return_outputs must be one of its names or a list of them, got "
            f"{type(return_outputs).__name__}"
        )
    return set(OUTPUTS) if "all" in wanted else wanted


def output_names(
    return_outputs: Any, save_log_likelihood: bool | None, save_causal: bool | None = None
) -> list[str]:
    """Return the names of optional outputs, in a fixed order; flags are the older way to ask."""
    old = {"log_likelihood": save_log_likelihood, "filter": save_causal}
    given = [name for name, value in old.items() if value is not None]
    if given:
        warnings.warn(
            "save_log_likelihood_to_results and save_causal_posterior_to_results are deprecated: "
            f"return_outputs={given if len(given) > 1 else given[0]!r} asks for the same",
            DeprecationWarning,
            stacklevel=4,
        )
    flagged = {name for name in given if old[name]}
    if flagged and return_outputs is not None:
        raise ValidationError(
            "Cannot specify both return_outputs and the deprecated save_..._to_results flags"
        )
    wanted = requested_outputs(return_outputs) | flagged
    return [name for name in OUTPUTS if name in wanted]


class PredictMixin(StateSpace):
    """Prediction, estimation and most likely paths over prepared observations."""

    log_likelihood_: Array

    def _observation(
        self,
        time: Any,
        position: Any,
        position_time: Any,
        spike_times: Sequence[Any],
        features: Sequence[Any] | None,
        is_missing: Any,
    ) -> dict[str, Any]:
        """Check and convert what is to be decoded."""
        if "encoding_model_" not in self.__dict__:
            raise RuntimeError(f"this {type(self).__name__} is not fitted yet: call fit() first")
        times = _data.vector(time, "time")
        missing = _data.mask(is_missing, "is_missing")
        _data.same_length(missing, len(times), "is_missing", "time")
        if position is None:
            local = [
                name
                for name, observation in zip(self.state_names, self.observation_models, strict=True)
                if observation.is_local
            ]
            if local or self.non_local_position_penalty:
                why = [f"local observation models (state {local[0]!r})"] if local else []
                if self.non_local_position_penalty:
                    why.append("non_local_position_penalty > 0")
                raise ValidationError(
                    f"position and position_time are missing: needed for {' and '.join(why)}"
                )
            position_time = None
        elif position_time is None:
            raise ValidationError(
                "position_time is required when position is given: give both together"
            )
        return {
            "time": times,
            "spike_times": _data.spike_times(spike_times),
            "marks": None if features is None else _data.features(features),
            "position": None if position is None else self._positions(position),
            "position_time": None
            if position_time is None
            else _data.vector(position_time, "position_time"),
            "is_missing": missing,
        }

    def _design_for(self, covariates: Any, n_time: int) -> Floats | None:
        """Return the columns of the formula at the decoding times."""
        if self.discrete_transition_coefficients_ is None:
            if covariates is not None:
                warn(
                    "discrete_transition_covariate_data is not used: the transitions of this "
                    "model do not depend on covariates"
                )
            return None
        if covariates is not None and self._design is not None:
            design = self._design.build(covariates)
        else:
            matrix = self.discrete_transition_design_matrix_
            assert matrix is not None
            design = matrix
        if len(design) != n_time:
            raise ShapeValidationError(
                f"discrete_transition_covariate_data has {len(design)} values, time has {n_time}; "
                "give predict() the covariates at the decoding times"
            )
        return np.ascontiguousarray(design, dtype=np.float64)

    def _budget(self, memory_budget: int | str | None, device: str | None = None) -> dict[str, Any]:
        session = self._session(device)
        if memory_budget not in (None, "auto", "none"):
            session["memory_limit"] = memory_budget
        return session

    @staticmethod
    def _chunks(n_chunks: int | str, n_time: int) -> int:
        """Return the library's number of chunks; 0 lets the memory limit decide."""
        if n_chunks in ("auto", 1, None):
            return 0
        if isinstance(n_chunks, str) or not 1 <= int(n_chunks) <= max(n_time, 1):
            raise ValidationError(
                f"n_chunks: expected 'auto' or 1 to {n_time} (times), got {n_chunks!r}"
            )
        return int(n_chunks)

    def _run(
        self,
        observation: dict[str, Any],
        want: list[str],
        design: Floats | None,
        *,
        n_chunks: int | str = 1,
        memory_budget: int | str | None = "auto",
        progress: ProgressLike = None,
        dtype: str | None = None,
        device: str | None = None,
        keep_on_device: bool = False,
    ) -> dict[str, Any]:
        n_time = len(observation["time"])
        detector = self._detector(device)
        with Session(**self._budget(memory_budget, device), ranks=True) as context:
            found = _core.decode_predict(
                context,
                detector,
                observation,
                want,
                dtype=dtype or self._dtype(),
                options={"chunks": self._chunks(n_chunks, n_time)},
                design=design,
                progress=callback(progress),
                keep_on_device=keep_on_device,
            )
        return found

    def _dtype(self) -> str:
        """Return the type of results: float64 where the likelihood is computed in it."""
        exact = any(model.is_exact for model in self.encoding_model_.values())
        return "float64" if exact else "float32"

    def _scatter(self, inner: Array) -> Array:
        """Put columns of interior bins among all bins; NaN elsewhere."""
        interior = self.is_track_interior_state_bins_
        if interior.all():
            return inner
        full = np.empty((len(inner), len(interior)), dtype=inner.dtype)
        with Session(threads=self.threads) as context:
            _core.decode_all_bins(context, self._detector(anywhere=True), inner, full)
        return full

    def _by_state(self, log_likelihood: Any) -> Array:
        """Give every state its own likelihood columns, which some of them share."""
        shared = np.asarray(log_likelihood)
        info = _core.decode_detector_info(self._detector(anywhere=True))
        width = np.diff(np.asarray(info["state_first"]))
        first = np.asarray(info["ll_first"])
        if np.array_equal(first, np.cumsum(width) - width) and width.sum() == shared.shape[1]:
            return shared
        parts = [shared[:, f : f + w] for f, w in zip(first, width, strict=True)]
        return np.concatenate(parts, axis=1)

    def _variables(self, found: dict[str, Any], names: list[str]) -> dict[str, Any]:
        variables: dict[str, Any] = {}
        for name in names:
            array = np.asarray(found[name])
            if name.endswith("state_probabilities"):
                variables[name] = (("time", "states"), array)
                continue
            if name == "log_likelihood":
                array = self._by_state(array)
            variables[name] = (("time", "state_bins"), self._scatter(array))
        return variables

    def _results(
        self, found: dict[str, Any], names: list[str], time: Floats, evidence: Any
    ) -> ResultsLike:
        return make_results(
            self._variables(found, names),
            time=time,
            states=list(self.state_names),
            state_ind=self.state_ind_,
            centers=self._bin_centers(),
            environments=[obs.environment_name for obs in self.observation_models],
            encoding_groups=[obs.encoding_group for obs in self.observation_models],
            marginal_log_likelihoods=evidence,
        )

    def _results_there(self, found: dict[str, Any], names: list[str], time: Floats) -> Results:
        """Name the axes of arrays that stay on a device, where no bin is put among others."""
        axes: dict[str, tuple[str, ...]] = {
            "log_likelihood": ("time", "columns"),
            "most_likely_bin": ("time",),
        }
        interior = self.is_track_interior_state_bins_
        states = np.asarray(list(self.state_names))
        bins = state_of_bins(states, self.state_ind_[interior], self._bin_centers()[interior])
        for name in names:
            of_states = name.endswith("state_probabilities")
            axes.setdefault(name, ("time", "states" if of_states else "state_bins"))
        return Results(
            {name: (axes[name], found[name]) for name in names},
            {"time": time, "states": states, "state_bins": bins},
            {"marginal_log_likelihoods": found["log_evidence"]},
        )

    def _decode(
        self,
        observation: dict[str, Any],
        covariates: Any,
        *,
        cache_likelihood: bool,
        n_chunks: int | str,
        return_outputs: Any,
        save_log_likelihood_to_results: bool | None,
        save_causal_posterior_to_results: bool | None,
        memory_budget: int | str | None,
        progress: ProgressLike,
        device: str | None,
        keep_on_device: bool = False,
    ) -> ResultsLike:
        time = observation["time"]
        if cache_likelihood and keep_on_device:
            raise ValidationError(
                "cache_likelihood keeps the likelihood in host memory: leave it out, and ask for "
                "return_outputs='log_likelihood' with keep_on_device"
            )
        design = self._design_for(covariates, len(time))
        optional = output_names(
            return_outputs, save_log_likelihood_to_results, save_causal_posterior_to_results
        )
        names = list(dict.fromkeys([*ALWAYS, *(n for o in optional for n in OUTPUTS[o])]))
        want = names if not cache_likelihood else list(dict.fromkeys([*names, "log_likelihood"]))
        found = self._run(
            observation,
            want,
            design,
            n_chunks=n_chunks,
            memory_budget=memory_budget,
            progress=progress,
            device=device,
            keep_on_device=keep_on_device,
        )
        if keep_on_device:
            return self._results_there(found, names, time)
        if cache_likelihood:
            self.log_likelihood_ = self._by_state(found["log_likelihood"])
        return self._results(found, names, time, found["log_evidence"])

    def _decode_file(
        self,
        path: str | Path,
        observation: dict[str, Any],
        covariates: Any,
        *,
        return_outputs: Any = None,
        most_likely_path: bool = False,
        intervals: Any = None,
        n_chunks: int | str = 1,
        memory_budget: int | str | None = "auto",
        progress: ProgressLike = None,
        dtype: str | None = None,
        overwrite: bool = False,
        resume: bool = False,
        checkpoint: PathLike | None = None,
        checkpoint_every: float | None = None,
        command_line: str | None = None,
        device: str | None = None,
    ) -> StreamReport:
        n_time = len(observation["time"])
        design = self._design_for(covariates, n_time)
        want = _WANT_PATH if most_likely_path else 0
        for name in output_names(return_outputs, None):
            want |= _WANT_BITS[name]
        detector = self._detector(device)
        with Session(**self._budget(memory_budget, device), ranks=True) as context:
            report = _core.decode_stream(
                context,
                detector,
                observation,
                path,
                want=want,
                dtype=dtype or self._dtype(),
                overwrite=overwrite,
                resume=resume,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
                n_chunk=self._chunks(n_chunks, n_time),
                command_line=command_line,
                design=design,
                intervals=None if intervals is None else _limits(intervals),
                progress=callback(progress),
            )
        return cast("StreamReport", report)

    def _log_likelihood(
        self,
        observation: dict[str, Any],
        n_chunks: int | str = 1,
        memory_budget: int | str | None = "auto",
        progress: ProgressLike = None,
        dtype: str | None = None,
        device: str | None = None,
    ) -> Array:
        design = None
        if self.discrete_transition_coefficients_ is not None:
            n_coefficient = len(self.discrete_transition_coefficients_)
            design = np.zeros((len(observation["time"]), n_coefficient))
        found = self._run(
            observation,
            ["log_likelihood"],
            design,
            n_chunks=n_chunks,
            memory_budget=memory_budget,
            progress=progress,
            dtype=dtype,
            device=device,
        )
        return self._by_state(found["log_likelihood"])

    def _sequence(
        self,
        observation: dict[str, Any],
        n_chunks: int | str = 1,
        device: str | None = None,
        keep_on_device: bool = False,
    ) -> Table | Results:
        design = self._design_for(None, len(observation["time"]))
        found = self._run(
            observation,
            ["most_likely_bin"],
            design,
            n_chunks=n_chunks,
            device=device,
            keep_on_device=keep_on_device,
        )
        if keep_on_device:
            return self._results_there(found, ["most_likely_bin"], observation["time"])
        path = np.flatnonzero(self.is_track_interior_state_bins_)[
            np.asarray(found["most_likely_bin"])
        ]
        return self._table(path, observation["time"])

    def _table(self, path: Array, time: Floats) -> Table:
        """Make a pandas.DataFrame, or a structured array where pandas is not installed."""
        centers = self._bin_centers()
        state = self.state_ind_[path]
        single = np.array([self._has_one_bin(s) for s in range(self.n_discrete_states_)])[state]
        places = np.array([obs.environment_name for obs in self.observation_models], dtype=object)
        groups = np.array([obs.encoding_group for obs in self.observation_models], dtype=object)
        place, group = places[state], groups[state]
        place[single] = group[single] = None
        names = position_names(centers.shape[1])
        columns: dict[str, Array] = {
            "state": np.asarray(self.state_names)[state],
            **{name: centers[path, k] for k, name in enumerate(names)},
            "environment": place,
            "encoding_group_names": group,
        }
        try:
            import pandas as pd
        except ImportError:
            table = np.empty(
                len(path),
                dtype=[("time", np.float64), *((n, c.dtype) for n, c in columns.items())],
            )
            table["time"] = time
            for name, column in columns.items():
                table[name] = column
            return table
        return pd.DataFrame(columns, index=pd.Index(time, name="time"))
