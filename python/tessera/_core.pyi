import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar, NotRequired, Protocol, Self, TypeAlias, TypedDict, final

from typing_extensions import Buffer

class SupportsDLPack(Protocol):
    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

ArrayLike: TypeAlias = Buffer | SupportsDLPack
_Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_ProgressFn: TypeAlias = Callable[[Progress], object]
_Options: TypeAlias = dict[str, Any]

class Param(TypedDict):
    name: str
    type: str
    default: Any
    minimum: float
    maximum: float
    choices: str | None
    unit: str
    help: str

class Ceilings(TypedDict):
    threads: int
    read_bytes_per_s: float
    copy_bytes_per_s: float
    upload_bytes_per_s: float
    download_bytes_per_s: float
    flop_f32_per_s: float
    flop_f64_per_s: float

class Device(TypedDict):
    id: str
    backend: str
    name: str
    detail: str
    memory_bytes: int
    memory_free_bytes: int
    score: int
    ceilings: NotRequired[Ceilings]

class Dataset(TypedDict):
    name: str
    shape: tuple[int, ...]
    type: str
    dtype: str

class FileInfo(TypedDict):
    format: str
    datasets: list[Dataset]
    provenance: str | None

class RunInfo(TypedDict):
    strategy: str
    reason: str
    n_item: int
    items_per_tile: int
    n_tile: int
    memory_bytes: int
    resumed: bool
    first_item: int
    elapsed_s: float
    read_wait_s: float
    n_checkpoint: int
    provenance: str

class ContextInfo(TypedDict):
    threads: int
    threads_origin: str
    memory_limit: int
    memory_limit_origin: str
    isa: str
    device: str
    device_reason: str
    device_memory_limit: int
    device_memory_limit_origin: str | None
    rank: int
    n_rank: int
    comm: str | None

class Error(Exception):
    statuses: ClassVar[tuple[str, ...]]
    status: str
    exit_code: int

class Cancelled(Error): ...
class ArgumentError(Error, ValueError): ...
class ShapeError(Error, ValueError): ...
class DTypeError(Error, TypeError): ...
class ConfigError(Error, ValueError): ...
class MemoryLimitError(Error, MemoryError): ...
class DeviceError(Error, RuntimeError): ...
class NotFoundError(Error, FileNotFoundError): ...
class FormatError(Error, ValueError): ...
class TruncatedError(FormatError): ...
class FileError(Error, OSError): ...
class OutputExistsError(Error, FileExistsError): ...
class CheckpointError(Error, ValueError): ...
class NumericError(Error, ValueError): ...
class InternalError(Error, RuntimeError): ...

@final
class Array:
    def __new__(cls, object: ArrayLike, /) -> Self: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def ndim(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def ptr(self) -> int: ...
    @property
    def readonly(self) -> bool: ...
    @property
    def device(self) -> str: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def to_host(self) -> Array: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Context:
    def __new__(
        cls,
        *,
        threads: int | None = None,
        memory_limit: int | str | None = None,
        device: str | None = None,
        isa: str | None = None,
        log: Callable[[int, str], object] | None = None,
        log_level: int | None = None,
        profile: bool = False,
        trace: _Path | None = None,
        device_memory_limit: int | str | None = None,
        comm: str | None = None,
    ) -> Self: ...
    @property
    def info(self) -> ContextInfo: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...
    def leave(self, error: BaseException | None, /) -> None: ...
    def memory(self) -> tuple[int, int]: ...
    def profile(self) -> str: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

@final
class Progress(tuple[str, str, int, int, int, float, float | None, int, str]):
    @property
    def stage(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def done_bytes(self) -> int: ...
    @property
    def elapsed_s(self) -> float: ...
    @property
    def remaining_s(self) -> float | None: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def strategy(self) -> str: ...

def version() -> str: ...
def build_commit() -> str: ...
def statuses() -> dict[str, int]: ...
def param_tables() -> dict[str, list[Param]]: ...
def sysinfo_json(context: Context, *, paths: bool = False) -> str: ...
def devices(context: Context) -> list[Device]: ...
def device_benchmark(context: Context, device: str) -> Ceilings: ...
def read_file(context: Context, path: _Path, dataset: str | None = None) -> Array: ...
def list_file(context: Context, path: _Path) -> FileInfo: ...
def autoreject_ptp(
    context: Context,
    x: ArrayLike,
    out: ArrayLike | None = None,
    options: _Options | None = None,
    progress: _ProgressFn | None = None,
) -> Array: ...
def autoreject_ptp_file(
    context: Context,
    path: _Path,
    output: _Path | None = None,
    *,
    options: _Options | None = None,
    progress: _ProgressFn | None = None,
    dataset: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    allow_truncated: bool = False,
    output_dataset: str | None = None,
    checkpoint: _Path | None = None,
    checkpoint_every: float | None = None,
    keep_checkpoints: int | None = None,
    command_line: str | None = None,
) -> tuple[Array | None, RunInfo]: ...
def autoreject_simulate(
    context: Context,
    *,
    output: _Path | None = None,
    options: _Options | None = None,
    progress: _ProgressFn | None = None,
    resume: bool = False,
    overwrite: bool = False,
    output_dataset: str | None = None,
    checkpoint: _Path | None = None,
    checkpoint_every: float | None = None,
    keep_checkpoints: int | None = None,
    command_line: str | None = None,
) -> tuple[Array | None, RunInfo]: ...
def autoreject_ptp_report(
    context: Context,
    ptp: ArrayLike,
    path: _Path,
    *,
    provenance: str | None = None,
    overwrite: bool = False,
) -> None: ...

@final
class Handle: ...

_Sensors: TypeAlias = dict[str, Any]

def autoreject_epochs(
    context: Context,
    x: ArrayLike,
    sensors: _Sensors,
    sampling_hz: float | None = None,
    tmin: float | None = None,
) -> Handle: ...
def autoreject_epochs_open(
    context: Context,
    path: _Path,
    options: _Options | None = None,
    *,
    baseline: tuple[float | None, ...] | None = None,
    events: _Path | None = None,
    event: str | None = None,
    stim: str | None = None,
    montage: str | None = None,
    types: str | None = None,
    bads: str | None = None,
    dataset: str | None = None,
) -> Handle: ...
def autoreject_epochs_info(epochs: Handle, /) -> dict[str, Any]: ...
def autoreject_epochs_read(
    context: Context,
    epochs: Handle,
    first: int,
    count: int,
    channels: ArrayLike | None = None,
) -> Array: ...
def autoreject_picks(epochs: Handle, text: str | None = None) -> Array: ...
def autoreject_fit(
    context: Context,
    epochs: Handle,
    options: _Options | None = None,
    *,
    picks: ArrayLike | None = None,
    consensus: ArrayLike | None = None,
    n_interpolate: ArrayLike | None = None,
    folds: ArrayLike | None = None,
    origin: ArrayLike | None = None,
    checkpoint: _Path | None = None,
    checkpoint_every: float | None = None,
    thresholds_only: bool = False,
    progress: _ProgressFn | None = None,
) -> Handle: ...
def autoreject_model_info(model: Handle, /) -> dict[str, Any]: ...
def autoreject_model(context: Context, parts: dict[str, Any]) -> Handle: ...
def autoreject_model_save(
    context: Context, model: Handle, path: _Path, *, overwrite: bool = False
) -> None: ...
def autoreject_model_load(context: Context, path: _Path) -> Handle: ...
def autoreject_log(
    context: Context, model: Handle, epochs: Handle, progress: _ProgressFn | None = None
) -> Handle: ...
def autoreject_log_create(
    context: Context, labels: ArrayLike, bad_epochs: ArrayLike, channel_names: list[str]
) -> Handle: ...
def autoreject_log_info(log: Handle, /) -> dict[str, Any]: ...
def autoreject_transform(
    context: Context,
    model: Handle,
    epochs: Handle,
    log: Handle,
    path: _Path,
    options: _Options | None = None,
    *,
    overwrite: bool = False,
    progress: _ProgressFn | None = None,
) -> int: ...
def autoreject_report(
    context: Context,
    model: Handle,
    log: Handle,
    epochs: Handle,
    path: _Path,
    options: _Options | None = None,
    *,
    provenance: str | None = None,
    overwrite: bool = False,
    use_log: str | None = None,
) -> None: ...
def autoreject_study_open(
    context: Context,
    bids_dir: _Path,
    output: _Path,
    *,
    options: dict[str, dict[str, Any]] | None = None,
    texts: dict[str, str | None] | None = None,
    baseline: tuple[float | None, ...] | None = None,
    consensus: Any = None,
    n_interpolate: Any = None,
    checkpoint: _Path | None = None,
    checkpoint_every: float | None = None,
    overwrite: bool = False,
    resume: bool = False,
    progress: Any = None,
) -> Handle: ...
def autoreject_study_run(context: Context, study: Handle, *, progress: Any = None) -> None: ...
def autoreject_study_info(study: Handle, /) -> dict[str, Any]: ...
def autoreject_weights(
    context: Context,
    sensors: _Sensors,
    source: ArrayLike,
    target: ArrayLike,
    options: _Options | None = None,
    *,
    origin: ArrayLike | None = None,
) -> Array: ...
def autoreject_meg_dots(
    context: Context,
    sensors: _Sensors,
    channels: ArrayLike,
    options: _Options | None = None,
) -> Array: ...
def autoreject_fit_sphere(sensors: _Sensors, /) -> tuple[tuple[float, float, float], float]: ...
def autoreject_interpolate(
    context: Context,
    sensors: _Sensors,
    picks: ArrayLike,
    bad: ArrayLike,
    x: ArrayLike,
    options: _Options | None = None,
    *,
    origin: ArrayLike | None = None,
    progress: _ProgressFn | None = None,
) -> None: ...
def autoreject_global(
    context: Context,
    epochs: Handle,
    channels: ArrayLike,
    options: _Options | None = None,
    *,
    progress: _ProgressFn | None = None,
) -> dict[str, Any]: ...
def autoreject_validation_curve(
    context: Context,
    epochs: Handle,
    channels: ArrayLike,
    thresholds: ArrayLike,
    folds: ArrayLike,
    *,
    progress: _ProgressFn | None = None,
) -> tuple[Array, Array]: ...
def autoreject_ransac(
    context: Context,
    epochs: Handle,
    channels: ArrayLike,
    options: _Options | None = None,
    *,
    progress: _ProgressFn | None = None,
) -> dict[str, Any]: ...

_Report: TypeAlias = dict[str, Any]
_Data: TypeAlias = dict[str, Any]

def decode_environment(
    context: Context,
    position: ArrayLike | None,
    *,
    n_dim: int | None = None,
    options: _Options | None = None,
    bin_size: ArrayLike | None = None,
    position_range: ArrayLike | None = None,
    is_track_interior: ArrayLike | None = None,
    track: tuple[Any, ...] | None = None,
    name: str | None = None,
) -> Handle: ...
def decode_environment_info(environment: Handle, /) -> dict[str, Any]: ...
def decode_linearize(environment: Handle, position: ArrayLike, /) -> tuple[Array, Array, Array]: ...
def decode_place(environment: Handle, position: ArrayLike, /) -> Array: ...
def decode_bin_index(environment: Handle, place: ArrayLike, /) -> Array: ...
def decode_distances(context: Context, environment: Handle) -> Array: ...
def decode_position_at(position_time: ArrayLike, position: ArrayLike, time: ArrayLike) -> Array: ...
def decode_movement_variance() -> float: ...
def decode_movement_matrix(
    context: Context, movement: tuple[Any, ...], origin: Handle, destination: Handle
) -> Array: ...
def decode_empirical_movement(
    context: Context,
    environment: Handle,
    position: ArrayLike,
    *,
    is_training: ArrayLike | None = None,
    speedup: int | None = None,
    time_reversed: bool = False,
) -> Array: ...
def decode_encoding(
    context: Context,
    environment: Handle,
    training: _Data,
    *,
    options: _Options | None = None,
    position_std: ArrayLike | None = None,
    waveform_std: ArrayLike | None = None,
    progress: _ProgressFn | None = None,
) -> Handle: ...
def decode_encoding_info(encoding: Handle, /) -> dict[str, Any]: ...
def decode_encoding_mixture(
    encoding: Handle, density: int, electrode: int, /
) -> dict[str, Any]: ...
def decode_encoding_regression(encoding: Handle, /) -> dict[str, Any]: ...
def decode_log_likelihood(
    context: Context,
    encoding: Handle,
    observation: _Data,
    *,
    dtype: str | None = None,
    first: int | None = None,
    n_row: int | None = None,
    progress: _ProgressFn | None = None,
) -> tuple[Array, _Report]: ...
def decode_local_log_likelihood(
    context: Context,
    encoding: Handle,
    observation: _Data,
    *,
    dtype: str | None = None,
    first: int | None = None,
    n_row: int | None = None,
    progress: _ProgressFn | None = None,
) -> tuple[Array, _Report]: ...
def decode_no_spike_log_likelihood(
    context: Context, observation: _Data, rate: float, dtype: str | None = None
) -> Array: ...
def decode_log_joint(
    context: Context,
    encoding: Handle,
    electrode: int,
    marks: ArrayLike,
    *,
    dtype: str | None = None,
) -> Array: ...
def decode_time_bin(time: ArrayLike, spike_times: ArrayLike, /) -> Array: ...
def decode_detector(
    context: Context,
    states: list[tuple[str, int, int, bool, bool]],
    environments: list[Handle],
    encodings: list[Handle],
    movements: list[Any],
    discrete_initial: ArrayLike,
    discrete_transition: ArrayLike,
    *,
    coefficients: ArrayLike | None = None,
    initial: ArrayLike | None = None,
    options: _Options | None = None,
) -> Handle: ...
def decode_detector_info(detector: Handle, /) -> dict[str, Any]: ...
def decode_predict(
    context: Context,
    detector: Handle,
    observation: _Data,
    want: list[str],
    *,
    dtype: str | None = None,
    options: _Options | None = None,
    design: ArrayLike | None = None,
    log_likelihood: ArrayLike | None = None,
    progress: _ProgressFn | None = None,
    keep_on_device: bool = False,
) -> dict[str, Any]: ...
def decode_all_bins(
    context: Context, detector: Handle, rows: ArrayLike, out: ArrayLike, /
) -> None: ...
def decode_em(
    context: Context,
    detector: Handle,
    observation: _Data,
    want: list[str],
    *,
    dtype: str | None = None,
    options: _Options | None = None,
    design: ArrayLike | None = None,
    concentration: ArrayLike | None = None,
    stickiness: ArrayLike | None = None,
    prior_weight: ArrayLike | None = None,
    frozen_rows: ArrayLike | None = None,
    iteration: Callable[[int, float, float], object] | None = None,
    checkpoint: _Path | None = None,
    checkpoint_every: float | None = None,
    resume: bool | None = None,
    progress: _ProgressFn | None = None,
) -> dict[str, Any]: ...
def decode_simulate(
    context: Context, options: _Options | None = None, progress: _ProgressFn | None = None
) -> Handle: ...
def decode_events(
    context: Context,
    data: _Data,
    options: _Options,
    model_bin: float,
    keep_statistics: bool,
    steps: int,
    *,
    detector: Handle | None = None,
    table: dict[str, Any] | None = None,
    kinds: list[str] | None = None,
    progress: _ProgressFn | None = None,
    report: _Path | None = None,
    overwrite: bool = False,
    design: Any = None,
) -> dict[str, Any]: ...
def decode_tune(
    context: Context,
    recording: Handle,
    encoding: _Options | None,
    tune: _Options | None,
    report: _Path | None = None,
    overwrite: bool = False,
    progress: _ProgressFn | None = None,
) -> dict[str, Any]: ...
def decode_recording_open(context: Context, path: _Path) -> Handle: ...
def decode_recording_save(
    context: Context, recording: Handle, path: _Path, overwrite: bool = False
) -> None: ...
def decode_recording_info(recording: Handle, /) -> dict[str, Any]: ...
def decode_model_defaults(kind: int, sorted_spikes: bool) -> dict[str, Any]: ...
def decode_stream(
    context: Context,
    detector: Handle,
    observation: _Data,
    path: _Path,
    *,
    want: int | None = None,
    dtype: str | None = None,
    overwrite: bool = False,
    resume: bool = False,
    checkpoint: _Path | None = None,
    checkpoint_every: float | None = None,
    n_chunk: int | None = None,
    command_line: str | None = None,
    design: ArrayLike | None = None,
    recording: Handle | None = None,
    intervals: ArrayLike | None = None,
    progress: _ProgressFn | None = None,
) -> _Report: ...
def decode_stream_plan(
    context: Context,
    detector: Handle,
    observation: _Data,
    *,
    want: int | None = None,
    dtype: str | None = None,
    n_chunk: int | None = None,
    design: ArrayLike | None = None,
) -> _Report: ...
def decode_report(
    context: Context,
    result: _Path,
    path: _Path,
    *,
    recording: Handle | None = None,
    overwrite: bool = False,
) -> None: ...
def decode_online(
    context: Context, detector: Handle, options: _Options | None = None
) -> Handle: ...
def decode_online_push_spikes(
    online: Handle, electrode: int, times: ArrayLike, marks: ArrayLike, /
) -> None: ...
def decode_online_push_position(online: Handle, time: float, position: ArrayLike, /) -> None: ...
def decode_online_learn_spikes(
    online: Handle, electrode: int, times: ArrayLike, marks: ArrayLike, /
) -> None: ...
def decode_online_learn_position(online: Handle, time: float, position: ArrayLike, /) -> None: ...
def decode_online_refresh(online: Handle, /) -> None: ...
def decode_online_set_frozen(online: Handle, is_frozen: bool, /) -> None: ...
def decode_online_learned(online: Handle, /) -> dict[str, Any]: ...
def decode_online_set_trigger(
    online: Handle,
    number: int,
    call: Callable[[int, int, float, float, float, float], object] | None,
    state: int,
    bins: ArrayLike,
    threshold: float,
    n_average: int,
    lockout: float,
    min_electrodes: int,
    /,
) -> None: ...
def decode_online_trigger_stats(online: Handle, number: int, /) -> dict[str, Any]: ...
def decode_online_snapshot(online: Handle, path: _Path, overwrite: bool, /) -> None: ...
def decode_online_restore(online: Handle, path: _Path, /) -> None: ...
def decode_online_advance(online: Handle, now: float, design: Any = ..., /) -> int: ...
def decode_online_get(online: Handle, bin: int, /) -> dict[str, Any]: ...
def decode_online_stats(online: Handle, /) -> dict[str, Any]: ...
def decode_online_reset(online: Handle, start: float, /) -> None: ...
def document(context: Context, path: _Path) -> Any: ...
def xpcs_parameters() -> dict[str, list[dict[str, Any]]]: ...
def xpcs_model(
    context: Context,
    options: _Options,
    theta: ArrayLike,
    n_frame: int,
    phi: ArrayLike,
    q: ArrayLike,
    contrast: ArrayLike | None = None,
    offset: ArrayLike | None = None,
) -> Array: ...
def xpcs_model_pairs(
    context: Context,
    options: _Options,
    theta: ArrayLike,
    n_frame: int,
    phi: ArrayLike,
    q: ArrayLike,
    contrast: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    first: ArrayLike | None = None,
    second: ArrayLike | None = None,
    with_jacobian: bool = False,
) -> tuple[Array, Array | None]: ...
def xpcs_model_grids(
    context: Context, options: _Options, theta: ArrayLike, n_frame: int
) -> dict[str, Array]: ...
def xpcs_open(
    context: Context,
    source: _Path,
    *,
    options: _Options | None = None,
    settings: Handle | None = None,
    keep_t0: int | None = None,
    dt: float | None = None,
    gap: float | None = None,
    phi_ranges: ArrayLike | None = None,
    bad_frames: ArrayLike | None = None,
    phi: ArrayLike | None = None,
    c2_path: str | None = None,
    angles_last: bool | None = None,
    cache_folder: _Path | None = None,
    cache_template: str | None = None,
    no_cache: bool | None = None,
    sigma_dataset: str | None = None,
    progress: _ProgressFn | None = None,
) -> Handle: ...
def xpcs_from_array(
    context: Context,
    source: ArrayLike,
    *,
    options: _Options | None = None,
    settings: Handle | None = None,
    keep_t0: int | None = None,
    dt: float | None = None,
    gap: float | None = None,
    phi_ranges: ArrayLike | None = None,
    bad_frames: ArrayLike | None = None,
    phi: ArrayLike | None = None,
    q: ArrayLike | None = None,
    sigma: ArrayLike | None = None,
    progress: _ProgressFn | None = None,
) -> Handle: ...
def xpcs_data_info(data: Handle, /) -> dict[str, Any]: ...
def xpcs_data_rows(context: Context, data: Handle, angle: int, first: int, count: int) -> Array: ...
def xpcs_data_angle(context: Context, data: Handle, angle: int) -> Handle: ...
def xpcs_g2(
    context: Context,
    data: Handle,
    n_window: int,
    per_level: int,
    progress: _ProgressFn | None = None,
) -> tuple[Array, Array, Array, Array, Array]: ...
def xpcs_scaling(
    context: Context, data: Handle, progress: _ProgressFn | None = None
) -> tuple[Array, Array]: ...
def xpcs_sigma(context: Context, data: Handle, progress: _ProgressFn | None = None) -> Array: ...
def xpcs_save(
    context: Context,
    data: Handle,
    path: _Path,
    overwrite: bool = False,
    progress: _ProgressFn | None = None,
) -> None: ...
def xpcs_restore(context: Context, file: _Path, path: _Path, layout: str) -> Handle: ...
def xpcs_inspect(context: Context, path: _Path) -> dict[str, Any]: ...
def xpcs_simulate(
    context: Context,
    options: _Options | None = None,
    model: _Options | None = None,
    *,
    theta: ArrayLike | None = None,
    phi: ArrayLike | None = None,
    q: ArrayLike | None = None,
    contrasts: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    bad_frames: ArrayLike | None = None,
    in_memory: bool = True,
    progress: _ProgressFn | None = None,
) -> Handle: ...
def xpcs_simulate_file(
    context: Context,
    options: _Options | None = None,
    model: _Options | None = None,
    *,
    path: _Path,
    theta: ArrayLike | None = None,
    phi: ArrayLike | None = None,
    q: ArrayLike | None = None,
    contrasts: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    bad_frames: ArrayLike | None = None,
    layout: str | None = None,
    filter: str | None = None,
    overwrite: bool = False,
    progress: _ProgressFn | None = None,
) -> None: ...
def xpcs_settings(context: Context, path: _Path | None = None, lenient: bool = False) -> Handle: ...
def xpcs_settings_set(settings: Handle, key: str, text: str) -> None: ...
def xpcs_settings_info(settings: Handle, /) -> dict[str, Any]: ...
def xpcs_settings_json(context: Context, settings: Handle) -> str: ...
def xpcs_template(context: Context, model: _Options, minimal: bool = False) -> str: ...
def xpcs_fit(
    context: Context,
    data: Handle,
    model: _Options,
    options: _Options | None = None,
    *,
    settings: Handle | None = None,
    start: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    x_scale: ArrayLike | None = None,
    contrast: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    scaling_lower: ArrayLike | None = None,
    scaling_upper: ArrayLike | None = None,
    checkpoint: _Path | None = None,
    checkpoint_every: float | None = None,
    keep_checkpoints: int | None = None,
    resume: int | None = None,
    progress: _ProgressFn | None = None,
) -> Handle: ...
def xpcs_fit_joint(
    context: Context,
    data: Handle,
    model: _Options,
    options: _Options | None = None,
    *,
    settings: Handle | None = None,
    start: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    x_scale: ArrayLike | None = None,
    scaling_lower: ArrayLike | None = None,
    scaling_upper: ArrayLike | None = None,
    checkpoint: _Path | None = None,
    checkpoint_every: float | None = None,
    keep_checkpoints: int | None = None,
    resume: int | None = None,
    progress: _ProgressFn | None = None,
    members: list[Handle],
    ties: ArrayLike,
    q_ref: float | None = None,
    exponent_lower: float | None = None,
    exponent_upper: float | None = None,
) -> Handle: ...
def xpcs_joint_info(joint: Handle, /) -> dict[str, Any]: ...
def xpcs_joint_write(
    context: Context, joint: Handle, folder: _Path, *, overwrite: bool = False
) -> None: ...
def xpcs_fit_rates(
    context: Context,
    data: Handle,
    model: _Options,
    options: _Options | None = None,
    *,
    settings: Handle | None = None,
    start: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    x_scale: ArrayLike | None = None,
    scaling_lower: ArrayLike | None = None,
    scaling_upper: ArrayLike | None = None,
    progress: _ProgressFn | None = None,
    knots: int | None = None,
    shape: int | None = None,
    spacing: int | None = None,
    smoothness: float | None = None,
) -> Handle: ...
def xpcs_rates_info(rates: Handle, /) -> dict[str, Any]: ...
def xpcs_rates_write(
    context: Context, rates: Handle, folder: _Path, *, overwrite: bool = False
) -> None: ...
def xpcs_plan(
    context: Context,
    data: Handle,
    model: _Options,
    options: _Options | None = None,
    *,
    settings: Handle | None = None,
    progress: _ProgressFn | None = None,
) -> dict[str, Any]: ...
def xpcs_accumulate(
    context: Context,
    data: Handle,
    model: _Options,
    options: _Options | None = None,
    *,
    settings: Handle | None = None,
    start: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    contrast: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    theta: ArrayLike,
    level: int = 3,
    progress: _ProgressFn | None = None,
) -> dict[str, Array]: ...
def xpcs_compare(
    context: Context,
    data: Handle,
    models: str,
    model: _Options,
    options: _Options | None = None,
    progress: _ProgressFn | None = None,
    *,
    path: _Path | None = None,
    overwrite: bool = False,
) -> list[dict[str, Any]]: ...
def xpcs_sample(
    context: Context,
    data: Handle,
    model: _Options,
    fit: Handle,
    options: _Options | None = None,
    *,
    fit_options: _Options | None = None,
    settings: Handle | None = None,
    prior_mean: ArrayLike | None = None,
    prior_sd: ArrayLike | None = None,
    contrast_prior: ArrayLike | None = None,
    offset_prior: ArrayLike | None = None,
    checkpoint: _Path | None = None,
    checkpoint_every: float | None = None,
    keep_checkpoints: int | None = None,
    resume: int | None = None,
    progress: _ProgressFn | None = None,
) -> Handle: ...
def xpcs_posterior_info(posterior: Handle, /) -> dict[str, Any]: ...
def xpcs_posterior_pack(posterior: Handle, /) -> bytes: ...
def xpcs_combine(
    context: Context, packed: list[bytes], robust_upstream: bool = False
) -> Handle: ...
def xpcs_summarise(context: Context, draws: ArrayLike) -> dict[str, float]: ...
def xpcs_result_info(result: Handle, /) -> dict[str, Any]: ...
def xpcs_result_json(context: Context, result: Handle) -> str: ...
def xpcs_result_pack(result: Handle, /) -> bytes: ...
def xpcs_result_unpack(context: Context, packed: bytes) -> Handle: ...
def xpcs_result_write(
    context: Context,
    result: Handle,
    data: Handle,
    model: _Options,
    path: _Path,
    *,
    overwrite: bool = False,
    progress: _ProgressFn | None = None,
    surfaces: bool | None = None,
    figures: bool | None = None,
    hdf5: bool | None = None,
    report: bool | None = None,
    command: str | None = None,
) -> None: ...
def xpcs_report(
    context: Context,
    result: Handle,
    data: Handle,
    model: _Options,
    path: _Path,
    overwrite: bool = False,
) -> None: ...
def xpcs_figures(
    context: Context,
    result: Handle | None,
    data: Handle,
    model: _Options,
    path: _Path,
    overwrite: bool = False,
) -> None: ...

class CliffordAlgebra(TypedDict):
    text: str
    crc32: int
    n_component: int
    n_grade: int
    n_path: int
    n_pair: int
    n_term: int
    is_euclidean: bool
    metric: list[int]
    mask: list[int]
    grade: list[int]
    reverse: list[int]
    involution: list[int]
    conjugate: list[int]
    eta: list[int]
    complement: list[int]
    complement_sign: list[int]
    paths: list[tuple[int, int, int]]
    terms: list[tuple[int, int, int, int, int]]
    products: dict[str, int]

@final
class CliffordOp:
    def forward(self, context: Context, take_workspace: Any, /, *arrays: Any) -> None: ...
    def backward(self, context: Context, take_workspace: Any, /, *arrays: Any) -> None: ...
    def double_backward(self, context: Context, take_workspace: Any, /, *arrays: Any) -> None: ...
    def address(self) -> int: ...
    def workspace(self, context: Context, pass_: int, /, *arrays: Any) -> int: ...

def pooled_tensor(shape: tuple[int, ...], dtype: str, idle_limit: int) -> Any: ...
def clifford_ffi() -> dict[str, Any]: ...
def clifford_op(
    kind: str, metric: str, options: _Options | None = None, path_mask: int | None = None
) -> CliffordOp: ...
def clifford_algebra(metric: str, /) -> CliffordAlgebra: ...
def clifford_native_calls(make_context: Callable[[int, int], Context], /) -> object: ...
def clifford_native_forget() -> None: ...
def clifford_bfloat16(bits: ArrayLike, /) -> Array: ...
def clifford_grade_paths(metric: str, left: int, right: int) -> int: ...
def clifford_map(
    context: Context, metric: str, map: int, grades: int, x: ArrayLike, z: ArrayLike
) -> None: ...
def clifford_graph_sum(
    context: Context,
    offsets: ArrayLike,
    senders: ArrayLike,
    edges: ArrayLike | None,
    x: ArrayLike,
    scale: ArrayLike | None,
    z: ArrayLike,
    n_sender: int,
    take_workspace: Callable[[int], ArrayLike] | None = None,
) -> None: ...
def clifford_graph_dot(
    context: Context,
    offsets: ArrayLike,
    senders: ArrayLike,
    edges: ArrayLike | None,
    x: ArrayLike,
    y: ArrayLike,
    d: ArrayLike,
    n_sender: int,
) -> None: ...
def clifford_quadratic(context: Context, metric: str, x: ArrayLike, z: ArrayLike) -> None: ...
def clifford_check(
    context: Context,
    metric: str,
    options: _Options | None = None,
    progress: _ProgressFn | None = None,
) -> list[dict[str, Any]]: ...
