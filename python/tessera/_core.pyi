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
    ) -> Self: ...
    @property
    def info(self) -> ContextInfo: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...
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
