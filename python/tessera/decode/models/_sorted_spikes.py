"""Models of the spikes of sorted units."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tessera._documented import parameters_of
from tessera._progress import ProgressLike
from tessera.decode._data import Array
from tessera.decode._encoding import SORTED
from tessera.decode.models._clusterless import ClusterlessDetector
from tessera.decode.models._detector import OWN, DetectorBase
from tessera.decode.models._estimate import check_estimate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from tessera.decode._keywords import (
        EstimateKeywords,
        FileKeywords,
        FitKeywords,
        LikelihoodKeywords,
        StreamReport,
    )
    from tessera.decode._types import ArrayLike, Covariates, Outputs, ResultsLike, Table
    from tessera.decode.continuous_state_transitions import Movement
    from tessera.decode.environment import Environment
    from tessera.decode.initial_conditions import UniformInitialConditions
    from tessera.decode.observation_models import ObservationModel
    from tessera.decode.results import Results
    from tessera.decode.types import DiscreteTransitions


@parameters_of(ClusterlessDetector)
class SortedSpikesDetector(DetectorBase):
    """A model of the spikes of sorted units.

    Parameters
    ----------
    sorted_spikes_algorithm : {'sorted_spikes_kde', 'sorted_spikes_glm'}
        Encoding model: place fields by kernel densities, or by Poisson regression.
    sorted_spikes_algorithm_params : dict
        position_std and other options of table ``decode.encoding``.
    {parameters}

    See Also
    --------
    ClusterlessDetector : the same for spikes with waveform features.

    Examples
    --------
    >>> import tessera.decode as td
    >>> td.SortedSpikesDetector(
    ...     discrete_initial_conditions=[1.0],
    ...     continuous_initial_conditions_types=[td.UniformInitialConditions()],
    ...     discrete_transition_type=td.DiscreteStationaryDiagonal([1.0]),
    ...     continuous_transition_types=[[td.RandomWalk()]],
    ...     observation_models=[td.ObservationModel()],
    ...     state_names=["Continuous"],
    ... )
    SortedSpikesDetector(['Continuous'], not fitted)
    """

    _sorted = True
    _algorithm_name = "sorted_spikes_algorithm"
    _algorithms = SORTED
    _bandwidths = ("position_std",)

    def __init__(
        self,
        discrete_initial_conditions: ArrayLike | None = None,
        continuous_initial_conditions_types: Sequence[UniformInitialConditions] | None = None,
        discrete_transition_type: DiscreteTransitions | None = None,
        discrete_transition_concentration: float | None = None,
        discrete_transition_stickiness: float | ArrayLike | None = None,
        discrete_transition_regularization: float | None = None,
        continuous_transition_types: Sequence[Sequence[Movement]] | None = None,
        observation_models: ObservationModel | Sequence[ObservationModel] | None = None,
        environments: Environment | Sequence[Environment] | None = None,
        sorted_spikes_algorithm: str = "sorted_spikes_kde",
        sorted_spikes_algorithm_params: dict[str, Any] | None = None,
        infer_track_interior: bool | None = None,
        state_names: list[str] | None = None,
        sampling_frequency: float = 500.0,
        no_spike_rate: float | None = None,
        discrete_transition_prior_weight: float | ArrayLike = 0.0,
        frozen_discrete_transition_rows: Sequence[int] | Sequence[bool] | ArrayLike | None = OWN,
        local_position_std: float | None = None,
        *,
        non_local_position_penalty: float | None = None,
        non_local_penalty_std: float | None = None,
        mode: str | None = None,
        floor: str | None = None,
        bin_scale: float | str | None = None,
        mark_density: str | None = None,
        nan_policy: str | None = None,
        membership: str | None = None,
        memory_limit: int | str | None = None,
        threads: int | None = None,
        device: str | None = None,
    ) -> None:
        self._take(locals())

    @parameters_of(ClusterlessDetector.fit_encoding_model)
    def fit_place_fields(
        self,
        position_time: ArrayLike,
        position: ArrayLike,
        spike_times: Sequence[ArrayLike],
        is_training: ArrayLike | None = None,
        encoding_group_labels: ArrayLike | None = None,
        environment_labels: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        *,
        progress: ProgressLike = None,
        device: str | None = None,
    ) -> None:
        """Fit the encoding models alone, as :meth:`fit` does among other things.

        Parameters
        ----------
        {parameters}
        """
        self._fit_encodings(
            position_time,
            position,
            spike_times,
            None,
            is_training,
            encoding_group_labels,
            environment_labels,
            weights,
            progress,
            device,
        )

    fit_encoding_model = fit_place_fields

    @parameters_of(ClusterlessDetector.fit)
    def fit(
        self,
        position_time: ArrayLike,
        position: ArrayLike,
        spike_times: Sequence[ArrayLike],
        is_training: ArrayLike | None = None,
        encoding_group_labels: ArrayLike | None = None,
        environment_labels: ArrayLike | None = None,
        discrete_transition_covariate_data: Covariates | None = None,
        *,
        weights: ArrayLike | None = None,
        progress: ProgressLike = None,
        device: str | None = None,
    ) -> Self:
        """Learn where every unit fires.

        Parameters
        ----------
        spike_times : list of arrays, shape (n_spike,)
            One per unit, in seconds.
        {parameters}

        Returns
        -------
        SortedSpikesDetector
            This model.
        """
        self._fit(
            position,
            is_training,
            encoding_group_labels,
            environment_labels,
            discrete_transition_covariate_data,
        )
        self.fit_place_fields(
            position_time,
            position,
            spike_times,
            is_training,
            encoding_group_labels,
            environment_labels,
            weights=weights,
            progress=progress,
            device=device,
        )
        self._make_ready(device)
        return self

    @parameters_of(ClusterlessDetector.compute_log_likelihood)
    def compute_log_likelihood(
        self,
        time: ArrayLike,
        position_time: ArrayLike | None,
        position: ArrayLike | None,
        spike_times: Sequence[ArrayLike],
        is_missing: ArrayLike | None = None,
        **kwargs: Unpack[LikelihoodKeywords],
    ) -> Array:
        """Compute how well every place explains the spikes of every time bin.

        Parameters
        ----------
        spike_times : list of arrays, shape (n_spike,)
            One per unit, in seconds.
        {parameters}

        Returns
        -------
        ndarray, shape (n_time, n_bins)
            Log likelihood of every interior state bin.
        """
        observation = self._observation(
            time, position, position_time, spike_times, None, is_missing
        )
        return self._log_likelihood(observation, **kwargs)

    @parameters_of(ClusterlessDetector.predict)
    def predict(
        self,
        spike_times: Sequence[ArrayLike],
        time: ArrayLike,
        position: ArrayLike | None = None,
        position_time: ArrayLike | None = None,
        is_missing: ArrayLike | None = None,
        discrete_transition_covariate_data: Covariates | None = None,
        cache_likelihood: bool = False,
        n_chunks: int | str = 1,
        return_outputs: Outputs | None = None,
        save_log_likelihood_to_results: bool | None = None,
        save_causal_posterior_to_results: bool | None = None,
        memory_budget: int | str | None = "auto",
        *,
        progress: ProgressLike = None,
        keep_on_device: bool = False,
        device: str | None = None,
    ) -> ResultsLike:
        """Decode.

        Parameters
        ----------
        spike_times : list of arrays, shape (n_spike,)
            One per unit, in the order of :meth:`fit`.
        {parameters}

        Returns
        -------
        xarray.Dataset or Results
            acausal_posterior (time, state_bins) and acausal_state_probabilities (time, states), and
            what return_outputs asks for. Results where xarray is not installed.
        """
        observation = self._observation(
            time, position, position_time, spike_times, None, is_missing
        )
        return self._decode(
            observation,
            discrete_transition_covariate_data,
            cache_likelihood=cache_likelihood,
            n_chunks=n_chunks,
            return_outputs=return_outputs,
            save_log_likelihood_to_results=save_log_likelihood_to_results,
            save_causal_posterior_to_results=save_causal_posterior_to_results,
            memory_budget=memory_budget,
            progress=progress,
            device=device,
            keep_on_device=keep_on_device,
        )

    @parameters_of(ClusterlessDetector.predict_file)
    def predict_file(
        self,
        path: str | Path,
        spike_times: Sequence[ArrayLike],
        time: ArrayLike,
        position: ArrayLike | None = None,
        position_time: ArrayLike | None = None,
        is_missing: ArrayLike | None = None,
        discrete_transition_covariate_data: Covariates | None = None,
        **options: Unpack[FileKeywords],
    ) -> StreamReport:
        """Decode into a file of any size within the memory limit.

        Parameters
        ----------
        spike_times : list of arrays, shape (n_spike,)
            One per unit, in the order of :meth:`fit`.
        {parameters}

        Returns
        -------
        dict
            What happened: log_evidence, n_chunk, memory_bytes, elapsed_s, ...
        """
        observation = self._observation(
            time, position, position_time, spike_times, None, is_missing
        )
        return self._decode_file(path, observation, discrete_transition_covariate_data, **options)

    @parameters_of(ClusterlessDetector.fit_predict)
    def fit_predict(
        self,
        position_time: ArrayLike,
        position: ArrayLike,
        spike_times: Sequence[ArrayLike],
        time: ArrayLike | None = None,
        **kwargs: Unpack[FitKeywords],
    ) -> ResultsLike:
        """Fit and decode the same spikes.

        Parameters
        ----------
        spike_times : list of arrays, shape (n_spike,)
            One per unit, in seconds.
        {parameters}

        Returns
        -------
        xarray.Dataset or Results
            As :meth:`predict` returns them.
        """
        self.fit(position_time, position, spike_times, **kwargs)
        return self.predict(
            spike_times,
            position_time if time is None else time,
            position=position,
            position_time=position_time,
            device=kwargs.get("device"),
        )

    @parameters_of(ClusterlessDetector.estimate_parameters)
    def estimate_parameters(
        self,
        position_time: ArrayLike,
        position: ArrayLike,
        spike_times: Sequence[ArrayLike],
        time: ArrayLike,
        is_missing: ArrayLike | None = None,
        is_training: ArrayLike | None = None,
        encoding_group_labels: ArrayLike | None = None,
        environment_labels: ArrayLike | None = None,
        discrete_transition_covariate_data: Covariates | None = None,
        estimate_initial_conditions: bool | None = None,
        estimate_discrete_transition: bool = True,
        estimate_encoding_model: bool = True,
        max_iter: int | None = None,
        tolerance: float | None = None,
        cache_likelihood: bool = True,
        store_log_likelihood: bool = False,
        n_chunks: int | str = 1,
        return_outputs: Outputs | None = None,
        save_log_likelihood_to_results: bool | None = None,
        min_encoding_local_mass: float = 1.0,
        min_encoding_local_ess: float = 1.0,
        encoding_update_damping: float = 0.0,
        **kwargs: Unpack[EstimateKeywords],
    ) -> ResultsLike:
        """Fit, then estimate initial conditions, transitions and place fields from the spikes.

        Parameters
        ----------
        spike_times : list of arrays, shape (n_spike,)
            One per unit, in seconds.
        {parameters}

        Returns
        -------
        xarray.Dataset or Results
            Of the last iteration; marginal_log_likelihoods has one value per iteration.

        Notes
        -----
        A model with a Local state fits its place fields again after every iteration, samples
        weighted by how local they were; ``estimate_encoding_model=False`` leaves them.
        """
        del cache_likelihood
        check_estimate(estimate_encoding_model, max_iter, tolerance, encoding_update_damping)
        self.fit(
            position_time,
            position,
            spike_times,
            is_training=is_training,
            encoding_group_labels=encoding_group_labels,
            environment_labels=environment_labels,
            discrete_transition_covariate_data=discrete_transition_covariate_data,
            device=kwargs.get("device"),
        )
        observation = self._observation(
            time, position, position_time, spike_times, None, is_missing
        )
        return self._estimate(
            observation,
            estimate_initial_conditions=estimate_initial_conditions,
            estimate_discrete_transition=estimate_discrete_transition,
            estimate_encoding_model=estimate_encoding_model,
            max_iter=max_iter,
            tolerance=tolerance,
            store_log_likelihood=store_log_likelihood,
            n_chunks=n_chunks,
            return_outputs=return_outputs,
            save_log_likelihood_to_results=save_log_likelihood_to_results,
            min_encoding_local_mass=min_encoding_local_mass,
            min_encoding_local_ess=min_encoding_local_ess,
            encoding_update_damping=encoding_update_damping,
            **kwargs,
        )

    @parameters_of(ClusterlessDetector.most_likely_sequence)
    def most_likely_sequence(
        self,
        position_time: ArrayLike | None,
        position: ArrayLike | None,
        spike_times: Sequence[ArrayLike],
        time: ArrayLike,
        is_missing: ArrayLike | None = None,
        n_chunks: int | str = 1,
        *,
        keep_on_device: bool = False,
        device: str | None = None,
    ) -> Table | Results:
        """Find the most likely path through states and places (Viterbi).

        Parameters
        ----------
        spike_times : list of arrays, shape (n_spike,)
            One per unit, in seconds.
        {parameters}

        Returns
        -------
        pandas.DataFrame, structured ndarray or Results
            One row per time: state, position, environment and encoding group. With keep_on_device
            Results with most_likely_bin (time,), which of its coordinate state_bins.
        """
        observation = self._observation(
            time, position, position_time, spike_times, None, is_missing
        )
        return self._sequence(observation, n_chunks, device, keep_on_device)
