"""Expectation maximisation of a fitted model."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tessera import _core
from tessera._lib import default
from tessera._progress import ProgressLike, callback
from tessera.decode._data import Floats
from tessera.decode._encoding import EncodingModel
from tessera.decode._options import number, option
from tessera.decode._session import Session
from tessera.decode.discrete_state_transitions import predict_discrete_state_transitions
from tessera.decode.exceptions import TypeValidationError, ValidationError
from tessera.decode.models._predict import ALWAYS, OUTPUTS, PredictMixin, output_names
from tessera.decode.models._validate import frozen_rows

if TYPE_CHECKING:
    from tessera.decode._types import ResultsLike

_LOCAL = "Local"


def _log_iteration(iteration: int, log_evidence: float, change: float) -> None:
    logging.getLogger("tessera").info(
        "iteration %d, likelihood: %.9g, change: %.4g", iteration, log_evidence, change
    )


def check_estimate(
    estimate_encoding_model: bool,
    max_iter: int | None,
    tolerance: float | None,
    encoding_update_damping: float,
) -> None:
    """Refuse what cannot be estimated with, before anything is fitted."""
    if not isinstance(estimate_encoding_model, bool | np.bool_):
        raise TypeValidationError(
            f"estimate_encoding_model: expected True or False, got {estimate_encoding_model!r}; "
            "where max_iter is meant, as in versions up to 0.6.9, give it by name"
        )
    for shown, name, value in (
        ("max_iter", "max_iterations", max_iter),
        ("tolerance", "tolerance", tolerance),
    ):
        if isinstance(value, bool):  # a flag that came by position
            raise TypeValidationError(f"{shown}: expected a number, got {value}")
        if value is not None:
            option(value, "decode.em", name, shown)
    if encoding_update_damping != 0:
        raise ValidationError(
            f"encoding_update_damping: only 0 is supported, got {encoding_update_damping}"
        )


class EstimateMixin(PredictMixin):
    """Estimation of initial conditions, discrete transitions and place fields from spikes."""

    _sorted: ClassVar[bool]

    def _prior(self) -> dict[str, Any]:
        n = self.n_discrete_states_
        frozen = frozen_rows(self.frozen_discrete_transition_rows, n)
        return {
            "concentration": np.array([self.discrete_transition_concentration], dtype=np.float64),
            "stickiness": np.ascontiguousarray(
                np.broadcast_to(
                    np.asarray(self.discrete_transition_stickiness, dtype=np.float64), (n,)
                )
            ),
            "prior_weight": np.ascontiguousarray(
                np.broadcast_to(
                    np.asarray(self.discrete_transition_prior_weight, dtype=np.float64), (n,)
                )
            ),
            "frozen_rows": frozen,
        }

    def _adopt(
        self, detector: _core.Handle, estimate_initial: bool, estimate_transition: bool
    ) -> None:
        """Take over what expectation maximisation changed in the library's model."""
        info = _core.decode_detector_info(detector)
        if estimate_initial:
            inner = np.array(info["initial"])
            self._set_initial_conditions(np.array(info["discrete_initial"]), inner)
        if estimate_transition:
            if self.discrete_transition_coefficients_ is None:
                self.discrete_state_transitions_ = np.array(info["discrete_transition"])
            else:
                self.discrete_transition_coefficients_ = np.array(info["coefficients"])
                self.discrete_state_transitions_ = predict_discrete_state_transitions(
                    self.discrete_transition_design_matrix_,
                    self.discrete_transition_coefficients_,
                )
        self._forget()

    def _maximise(
        self,
        observation: dict[str, Any],
        want: list[str],
        options: dict[str, Any],
        memory_budget: int | str | None,
        progress: ProgressLike,
        device: str | None,
        checkpoint: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Iterate in the library and take over what it estimated."""
        detector = self._detector(device)
        self._forget()  # it is about to change
        with Session(**self._budget(memory_budget, device)) as context:
            found = _core.decode_em(
                context,
                detector,
                observation,
                want,
                dtype=self._dtype(),
                options=options,
                design=self._design_for(None, len(observation["time"])),
                iteration=_log_iteration,
                progress=callback(progress),
                **(checkpoint or {}),
                **self._prior(),
            )
        self._adopt(
            detector,
            options["estimate_initial_conditions"],
            options["estimate_discrete_transition"],
        )
        evidence = np.array(found["marginal_log_likelihoods"])
        found["marginal_log_likelihoods"] = evidence[: found["n_iteration"]]
        return found

    def _estimate(
        self,
        observation: dict[str, Any],
        *,
        estimate_initial_conditions: bool | None,
        estimate_discrete_transition: bool,
        estimate_encoding_model: bool,
        max_iter: int | None,
        tolerance: float | None,
        store_log_likelihood: bool,
        n_chunks: int | str,
        return_outputs: Any,
        save_log_likelihood_to_results: bool | None,
        min_encoding_local_mass: float,
        min_encoding_local_ess: float,
        encoding_update_damping: float,
        estimate_inital_conditions: bool | None = None,
        memory_budget: int | str | None = "auto",
        progress: ProgressLike = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float | None = None,
        resume: bool = False,
        device: str | None = None,
    ) -> ResultsLike:
        self._chunks(n_chunks, len(observation["time"]))
        check_estimate(estimate_encoding_model, max_iter, tolerance, encoding_update_damping)
        number(min_encoding_local_mass, "min_encoding_local_mass", 0)
        number(min_encoding_local_ess, "min_encoding_local_ess", 0)
        initial = estimate_initial_conditions
        if initial is None:
            initial = True if estimate_inital_conditions is None else estimate_inital_conditions
        optional = output_names(return_outputs, save_log_likelihood_to_results)
        names = list(dict.fromkeys([*ALWAYS, *(n for o in optional for n in OUTPUTS[o])]))
        want = list(dict.fromkeys([*names, *(["log_likelihood"] if store_log_likelihood else [])]))
        options = {
            "estimate_initial_conditions": bool(initial),
            "estimate_discrete_transition": bool(estimate_discrete_transition),
            "regularization": float(self.discrete_transition_regularization),
            "max_iterations": max_iter,
            "tolerance": tolerance,
        }
        # Clusterless models of the original ignore the weights: there is nothing to update.
        kept = {"checkpoint": checkpoint, "checkpoint_every": checkpoint_every, "resume": resume}
        if estimate_encoding_model and self._sorted and _LOCAL in self.state_names:
            if checkpoint is not None:
                raise ValidationError(
                    "checkpoint: not while place fields are fitted again between iterations; "
                    "pass estimate_encoding_model=False"
                )
            least = (float(min_encoding_local_mass), float(min_encoding_local_ess))
            found = self._alternate(
                observation, want, options, least, memory_budget, progress, device
            )
        else:
            found = self._maximise(
                observation, want, options, memory_budget, progress, device, kept
            )
        if store_log_likelihood:
            self.log_likelihood_ = self._by_state(found["log_likelihood"])
        evidence = found["marginal_log_likelihoods"]
        return self._results(found, names, observation["time"], evidence)

    def _alternate(
        self,
        observation: dict[str, Any],
        want: list[str],
        options: dict[str, Any],
        least: tuple[float, float],
        memory_budget: int | str | None,
        progress: ProgressLike,
        device: str | None,
    ) -> dict[str, Any]:
        """Estimate step by step, with place fields fitted again after each."""
        n = options["max_iterations"]
        if n is None:
            n = default("decode.em", "max_iterations")
        tolerance = options["tolerance"]
        if tolerance is None:
            tolerance = default("decode.em", "tolerance")
        evidence: list[float] = []
        found: dict[str, Any] = {}
        for _ in range(n):
            one = {**options, "max_iterations": 1}
            found = self._maximise(observation, want, one, memory_budget, progress, device)
            evidence.append(float(found["log_evidence"]))
            state = list(self.state_names).index(_LOCAL)
            local = np.asarray(found["acausal_state_probabilities"])[:, state]
            self._weigh(observation["time"], local.astype(np.float64), least)
            if len(evidence) > 1:
                last, before = evidence[-1], evidence[-2]
                scale = (abs(last) + abs(before) + np.finfo(np.float64).eps) / 2
                if abs(last - before) / scale < tolerance:
                    break
        found["marginal_log_likelihoods"] = np.array(evidence)
        return found

    def _weigh(self, time: Floats, local: Floats, least: tuple[float, float]) -> None:
        """Fit the encoding models again, samples weighted by how local they are."""
        models: dict[tuple[Any, Any], EncodingModel] = {}
        for key, model in self.encoding_model_.items():
            weights = np.interp(model.training["position_time"], time, local)
            used = weights[model.training["is_training"]]
            mass = float(used.sum())
            if mass < least[0] or mass**2 < least[1] * float((used**2).sum()):
                models[key] = model
                continue
            training = {**model.training, "weights": np.ascontiguousarray(weights)}
            models[key] = EncodingModel(model.environment, training, model.options)
        self.encoding_model_ = models
        self._forget()
