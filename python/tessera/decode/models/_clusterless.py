"""Models of spikes with waveform features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tessera._progress import ProgressLike
from tessera.decode._data import Array
from tessera.decode._encoding import CLUSTERLESS
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


class ClusterlessDetector(DetectorBase):
    """A model of spikes with waveform features, unsorted.

    Parameters
    ----------
    discrete_initial_conditions : array, shape (n_states,)
        Probability of every state at the first time.
    continuous_initial_conditions_types : list of UniformInitialConditions
        Where every state begins.
    discrete_transition_type : DiscreteStationaryDiagonal, DiscreteStationaryCustom, ...
        How states follow each other.
    discrete_transition_concentration, discrete_transition_stickiness : float or array
        Prior of the transitions in :meth:`estimate_parameters`.
    discrete_transition_regularization : float
        Penalty of the coefficients of covariate-dependent transitions.
    continuous_transition_types : list of lists of movements
        How position moves, from state (row) to state.
    observation_models : list of ObservationModel
        How every state explains spikes.
    environments : Environment or list of Environment
        Where.
    clusterless_algorithm : {'clusterless_kde', 'clusterless_kde_log', 'clusterless_gmm'}
        Encoding model; the first two are the same here.
    clusterless_algorithm_params : dict
        waveform_std, position_std and other options of table ``decode.encoding``. What cuts the
        work (block_size and the like) is accepted and ignored.
    infer_track_interior : bool
        Interior bins are those the animal visited.
    state_names : list of str
        One per state.
    sampling_frequency : float
        Time bins per second, for :meth:`calculate_time_bins`.
    no_spike_rate : float
        Spikes per second of No-Spike states.
    discrete_transition_prior_weight : float or array
        Weight of the prior relative to the data; 0: counts as they are.
    frozen_discrete_transition_rows : sequence of int, optional
        Rows that :meth:`estimate_parameters` leaves alone.
    local_position_std : float, optional
        Gives Local states all bins, tied to the animal by a kernel of this width, in cm.
    non_local_position_penalty, non_local_penalty_std : float
        Penalty in nats of non-local states near the animal, and how near, in cm.
    mode : {'fast', 'exact', 'bounded:1e-6'}, optional
        Arithmetic of the likelihood; results are float64 in mode 'exact', else float32.
    floor : {'auto', 'absolute', 'relative:16', 'none'}, optional
        Smallest intensity of a spike. 'absolute' is the original's rule, which loses everything
        with many features; 'auto' uses 'relative' from 5 features on, with a warning.
    bin_scale : float or 'auto', optional
        Width of a decoding bin in position samples.
    mark_density : {'probability', 'unit_peak'}, optional
        Unit of the mark density.
    nan_policy : {'error', 'drop'}, optional
        What a feature that is not finite does.
    membership : {'original', 'nearest'}, optional
        Which spikes belong to the training samples.
    memory_limit : int or str, optional
        Bytes, or text such as '2G'.
    threads : int, optional
        Results do not depend on it.
    device : str, optional
        Where to compute: 'cpu', 'cuda', 'cuda:1'. 'auto' takes a GPU that has all that is needed,
        else the CPU; a named device fails loudly. Default: TESSERA_DEVICE, else the CPU. Methods
        take another for one call. Kept by copies and pickles, not by :meth:`save_model`: who loads
        the file may have another machine.

    Notes
    -----
    Differs from non_local_detector in these points. From 5 waveform features on, the smallest
    intensity of a spike is relative to its best position, with a warning (``floor``). What cuts the
    work is decided by ``memory_limit``, and results do not depend on it. Positions and places are
    float64; posteriors are float32 unless ``mode='exact'``.

    Times, positions, features, masks and covariates may be arrays of torch, JAX, CuPy or Numba.
    Memory of the CPU is read in place; arrays of a GPU are brought down by their own library, for
    spikes are small and what is made of them stays on ``device``. Tensors that require gradients
    are refused: detach them.

    Examples
    --------
    >>> import tessera.decode as td
    >>> td.ClusterlessDetector(
    ...     discrete_initial_conditions=[0.5, 0.5],
    ...     continuous_initial_conditions_types=[td.UniformInitialConditions()] * 2,
    ...     discrete_transition_type=td.DiscreteStationaryDiagonal([0.98, 0.98]),
    ...     continuous_transition_types=[[td.RandomWalk(), td.Uniform()], [td.Uniform()] * 2],
    ...     observation_models=[td.ObservationModel()] * 2,
    ...     state_names=["Continuous", "Fragmented"],
    ...     clusterless_algorithm_params={"position_std": 6.0, "waveform_std": 24.0},
    ... )
    ClusterlessDetector(['Continuous', 'Fragmented'], not fitted)

    A device for all calls of a model, and another for one of them:

    >>> rec = td.simulate_recording("tiny", seed=1)
    >>> model = td.ClusterlessDecoder(environments=rec.environment(), device="auto")
    >>> model.fit(
    ...     rec.position_time,
    ...     rec.position,
    ...     rec.encoding_spike_times,
    ...     rec.encoding_spike_waveform_features,
    ...     device="cpu",
    ... )
    ClusterlessDecoder(['Continuous'], fitted)
    >>> model.device
    'auto'
    """

    _algorithm_name = "clusterless_algorithm"
    _algorithms = CLUSTERLESS
    _bandwidths = ("waveform_std", "position_std")

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
        clusterless_algorithm: str = "clusterless_kde",
        clusterless_algorithm_params: dict[str, Any] | None = None,
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

    def fit_encoding_model(
        self,
        position_time: ArrayLike,
        position: ArrayLike,
        spike_times: Sequence[ArrayLike],
        spike_waveform_features: Sequence[ArrayLike],
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
        position_time, position, spike_times, spike_waveform_features
            As in :meth:`fit`.
        is_training, encoding_group_labels, environment_labels, weights, progress, device
            As in :meth:`fit`.
        """
        self._fit_encodings(
            position_time,
            position,
            spike_times,
            spike_waveform_features,
            is_training,
            encoding_group_labels,
            environment_labels,
            weights,
            progress,
            device,
        )

    def fit(
        self,
        position_time: ArrayLike,
        position: ArrayLike,
        spike_times: Sequence[ArrayLike],
        spike_waveform_features: Sequence[ArrayLike],
        is_training: ArrayLike | None = None,
        encoding_group_labels: ArrayLike | None = None,
        environment_labels: ArrayLike | None = None,
        discrete_transition_covariate_data: Covariates | None = None,
        *,
        weights: ArrayLike | None = None,
        progress: ProgressLike = None,
        device: str | None = None,
    ) -> Self:
        """Learn where spikes of which features happen.

        Parameters
        ----------
        position_time : array, shape (n_sample,)
            Times of the positions, increasing, in seconds.
        position : array, shape (n_sample,) or (n_sample, n_dim)
            Positions in cm; samples with NaN are left out.
        spike_times : list of arrays, shape (n_spike,)
            One per electrode, in seconds.
        spike_waveform_features : list of arrays, shape (n_spike, n_feature)
            One per electrode; the number of features may differ.
        is_training : array of bool, shape (n_sample,), optional
            Samples to learn from; default: all.
        encoding_group_labels, environment_labels : array, shape (n_sample,), optional
            Group and environment of every sample.
        discrete_transition_covariate_data : mapping of str to array, optional
            Covariates of the transitions.
        weights : array, shape (n_sample,), optional
            Weight of every sample.
        progress : bool, str or callable, optional
            True, 'bar', 'plain' or 'json' show how far it is; a callable gets a
            :class:`tessera.Progress` and stops the call by raising. Default: TESSERA_PROGRESS.
        device : str, optional
            'cpu', 'cuda', 'cuda:1' or 'auto' for this call; default: the model's.

        Returns
        -------
        ClusterlessDetector
            This model.
        """
        self._fit(
            position,
            is_training,
            encoding_group_labels,
            environment_labels,
            discrete_transition_covariate_data,
        )
        self.fit_encoding_model(
            position_time,
            position,
            spike_times,
            spike_waveform_features,
            is_training,
            encoding_group_labels,
            environment_labels,
            weights=weights,
            progress=progress,
            device=device,
        )
        self._make_ready(device)
        return self

    def compute_log_likelihood(
        self,
        time: ArrayLike,
        position_time: ArrayLike | None,
        position: ArrayLike | None,
        spike_times: Sequence[ArrayLike],
        spike_waveform_features: Sequence[ArrayLike],
        is_missing: ArrayLike | None = None,
        **kwargs: Unpack[LikelihoodKeywords],
    ) -> Array:
        """Compute how well every place explains the spikes of every time bin.

        Parameters
        ----------
        time, is_missing
            As in :meth:`predict`.
        position_time, position : array or None
            As in :meth:`predict`; None where no state needs them.
        spike_times : list of arrays, shape (n_spike,)
            One per electrode, in seconds.
        spike_waveform_features : list of arrays, shape (n_spike, n_feature)
            One per electrode.
        **kwargs
            n_chunks, memory_budget, progress and device as in :meth:`predict`; dtype, 'float32'
            or 'float64'.

        Returns
        -------
        ndarray, shape (n_time, n_bins)
            Log likelihood of every interior state bin.
        """
        observation = self._observation(
            time, position, position_time, spike_times, spike_waveform_features, is_missing
        )
        return self._log_likelihood(observation, **kwargs)

    def predict(
        self,
        spike_times: Sequence[ArrayLike],
        spike_waveform_features: Sequence[ArrayLike],
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
            One per electrode, in the order of :meth:`fit`.
        spike_waveform_features : list of arrays, shape (n_spike, n_feature)
            One per electrode.
        time : array, shape (n_time,)
            Left edges of the time bins; row k is [time[k], time[k + 1]), the last one is empty.
        position : array, shape (n_sample, n_dim), optional
            Needed by Local states and penalties. Bins whose position is NaN are taken for
            missing, by every model, as the original does; a warning says how many.
        position_time : array, shape (n_sample,), optional
            Times of position.
        is_missing : array of bool, shape (n_time,), optional
            Rows without information.
        discrete_transition_covariate_data : mapping of str to array, optional
            Covariates of the transitions, one value per time.
        cache_likelihood : bool
            Keep the likelihood as ``log_likelihood_``.
        n_chunks : int or 'auto'
            Pieces to work in; results do not depend on it.
        return_outputs : str or list of str, optional
            'filter', 'predictive', 'predictive_posterior', 'log_likelihood', 'all'.
        save_log_likelihood_to_results : bool, optional
            The same as return_outputs='log_likelihood'.
        save_causal_posterior_to_results : bool, optional
            The same as return_outputs='filter'; both flags are deprecated.
        memory_budget : int or str, optional
            Bytes, or text such as '2G', instead of memory_limit.
        progress : bool, str or callable, optional
            True, 'bar', 'plain' or 'json' show how far it is; a callable gets a
            :class:`tessera.Progress` and stops the call by raising. Default: TESSERA_PROGRESS.
        keep_on_device : bool
            Leave results where they are computed, which torch, JAX and CuPy take by DLPack without
            a copy. On a GPU filter and smoother then run there, too.
        device : str, optional
            'cpu', 'cuda', 'cuda:1' or 'auto' for this call; default: the model's.

        Returns
        -------
        xarray.Dataset or Results
            acausal_posterior (time, state_bins) and acausal_state_probabilities (time, states),
            and what return_outputs asks for. With keep_on_device always Results, of
            :class:`tessera.Array` over interior bins alone; log_likelihood has a column for
            each bin of an environment, which states share.
        """
        observation = self._observation(
            time, position, position_time, spike_times, spike_waveform_features, is_missing
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

    def predict_file(
        self,
        path: str | Path,
        spike_times: Sequence[ArrayLike],
        spike_waveform_features: Sequence[ArrayLike],
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
        path : path
            .h5, which xarray reads as netCDF, or a folder of .npy files.
        spike_times, spike_waveform_features, time, position, position_time, is_missing
            As in :meth:`predict`.
        discrete_transition_covariate_data : mapping of str to array, optional
            As in :meth:`predict`.
        **options
            return_outputs, n_chunks, memory_budget, progress, device as in :meth:`predict`; dtype
            ('float32' or 'float64'; default: that of the mode), overwrite, resume, checkpoint,
            checkpoint_every; most_likely_path (True: the file also has ``most_likely_bin``,
            ``most_likely_state`` and ``most_likely_position`` of every time); intervals, a
            table with columns start and end in s, or shape (n, 2): only times in them are
            decoded, each interval as a sequence of its own.

        Returns
        -------
        dict
            What happened: log_evidence, n_chunk, memory_bytes, elapsed_s, ...
        """
        observation = self._observation(
            time, position, position_time, spike_times, spike_waveform_features, is_missing
        )
        return self._decode_file(path, observation, discrete_transition_covariate_data, **options)

    def fit_predict(
        self,
        position_time: ArrayLike,
        position: ArrayLike,
        spike_times: Sequence[ArrayLike],
        spike_waveform_features: Sequence[ArrayLike],
        time: ArrayLike | None = None,
        **kwargs: Unpack[FitKeywords],
    ) -> ResultsLike:
        """Fit and decode the same spikes.

        Parameters
        ----------
        position_time, position, spike_times, spike_waveform_features
            As in :meth:`fit`.
        time : array, shape (n_time,), optional
            Left edges of the time bins to decode; default: position_time.
        **kwargs
            is_training, encoding_group_labels, environment_labels,
            discrete_transition_covariate_data, weights, progress and device, as in :meth:`fit`.

        Returns
        -------
        xarray.Dataset or Results
            As :meth:`predict` returns them.
        """
        self.fit(position_time, position, spike_times, spike_waveform_features, **kwargs)
        return self.predict(
            spike_times,
            spike_waveform_features,
            position_time if time is None else time,
            position=position,
            position_time=position_time,
            device=kwargs.get("device"),
        )

    def estimate_parameters(
        self,
        position_time: ArrayLike,
        position: ArrayLike,
        spike_times: Sequence[ArrayLike],
        spike_waveform_features: Sequence[ArrayLike],
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
        """Fit, then estimate initial conditions and discrete transitions from the spikes.

        Parameters
        ----------
        position_time, position, spike_times, spike_waveform_features
            As in :meth:`fit`.
        time, is_missing, n_chunks
            As in :meth:`predict`.
        is_training, encoding_group_labels, environment_labels
            As in :meth:`fit`.
        discrete_transition_covariate_data : mapping of str to array, optional
            Covariates, one value per time.
        estimate_initial_conditions, estimate_discrete_transition, estimate_encoding_model : bool
            What to estimate; estimate_inital_conditions, as it was once spelt, is understood.
        max_iter : int, optional
            Iterations at most.
        tolerance : float, optional
            Relative change of the log evidence that ends the iteration.
        cache_likelihood : bool
            Accepted; the likelihood is computed once in any case.
        store_log_likelihood : bool
            Keep the likelihood as ``log_likelihood_``.
        return_outputs, save_log_likelihood_to_results
            As in :meth:`predict`.
        min_encoding_local_mass, min_encoding_local_ess : float
            Encoding models are left as they are where the weights of Local, or the number of
            samples they amount to, are less.
        encoding_update_damping : float, default 0
            Only 0: encoding models are replaced, not mixed with the last ones.
        **kwargs
            progress, memory_budget and device as in :meth:`predict`; checkpoint, a
            folder from which a stopped estimate goes on with the same bits, checkpoint_every,
            seconds between two, and resume, True to go on.

        Returns
        -------
        xarray.Dataset or Results
            Of the last iteration; marginal_log_likelihoods has one value per iteration.
        """
        del cache_likelihood
        check_estimate(estimate_encoding_model, max_iter, tolerance, encoding_update_damping)
        self.fit(
            position_time,
            position,
            spike_times,
            spike_waveform_features,
            is_training=is_training,
            encoding_group_labels=encoding_group_labels,
            environment_labels=environment_labels,
            discrete_transition_covariate_data=discrete_transition_covariate_data,
            device=kwargs.get("device"),
        )
        observation = self._observation(
            time, position, position_time, spike_times, spike_waveform_features, is_missing
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

    def most_likely_sequence(
        self,
        position_time: ArrayLike | None,
        position: ArrayLike | None,
        spike_times: Sequence[ArrayLike],
        spike_waveform_features: Sequence[ArrayLike],
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
        position_time, position : array or None
            As in :meth:`predict`; None where no state needs them.
        spike_times, spike_waveform_features, time, is_missing, n_chunks, keep_on_device, device
            As in :meth:`predict`.

        Returns
        -------
        pandas.DataFrame, structured ndarray or Results
            One row per time: state, position, environment and encoding group. With keep_on_device
            Results with most_likely_bin (time,), which of its coordinate state_bins.
        """
        observation = self._observation(
            time, position, position_time, spike_times, spike_waveform_features, is_missing
        )
        return self._sequence(observation, n_chunks, device, keep_on_device)
