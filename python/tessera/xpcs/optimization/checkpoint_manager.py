"""Checkpoints of a loop of the user's own, in HDF5; fits here keep their own (``checkpoint=``).

A state is written as JSON, where the original writes a pickle: reading a file runs nothing of it.
"""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera
from tessera.xpcs._arguments import PathLike
from tessera.xpcs.optimization.exceptions import NLSQCheckpointError
from tessera.xpcs.utils.logging import get_logger

_SLOW = 2.0  # seconds
_NEEDED = (("parameters", "optimizer_state"), ("batch_idx", "loss", "checksum"))


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise ImportError("CheckpointManager needs h5py: pip install h5py") from None
    return h5py


def _as_json(value: Any) -> Any:
    """Return what stands in JSON for an array or a number of NumPy."""
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        return {"array": array.tolist(), "dtype": str(array.dtype)}
    raise TypeError(f"a state of {type(value).__name__} cannot be kept: numbers, text, arrays can")


def _from_json(value: dict[str, Any]) -> Any:
    if set(value) == {"array", "dtype"}:
        return np.array(value["array"], dtype=value["dtype"])
    return value


def _place(path: Path) -> int:
    try:
        return int(path.stem.rpartition("_")[2])
    except ValueError:
        return -1


class CheckpointManager:
    """Writes, finds, reads and clears checkpoints of a folder."""

    def __init__(
        self,
        checkpoint_dir: PathLike,
        checkpoint_frequency: int = 10,
        keep_last_n: int = 3,
        enable_compression: bool = True,
    ) -> None:
        self.checkpoint_dir = Path(checkpoint_dir)
        self.checkpoint_frequency = checkpoint_frequency
        self.keep_last_n = keep_last_n
        self.enable_compression = enable_compression
        try:
            self.checkpoint_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise NLSQCheckpointError(
                f"Cannot create checkpoint directory '{self.checkpoint_dir}': {error}",
                error_context={"checkpoint_dir": str(self.checkpoint_dir)},
            ) from error

    def save_checkpoint(
        self,
        batch_idx: int,
        parameters: npt.ArrayLike,
        optimizer_state: dict[str, Any],
        loss: float,
        metadata: dict[str, Any] | None = None,
    ) -> Path:
        """Write a checkpoint; return its file."""
        begin = time.time()
        path = self.checkpoint_dir / f"homodyne_state_batch_{batch_idx:04d}.h5"
        how = {"compression": "gzip", "compression_opts": 4} if self.enable_compression else {}
        try:
            state = json.dumps(optimizer_state, default=_as_json).encode()
            with _h5py().File(path, "w") as file:
                file.create_dataset("parameters", data=np.asarray(parameters), **how)
                file.create_dataset("optimizer_state", data=np.void(state))
                file.attrs.update(
                    {
                        "batch_idx": batch_idx,
                        "loss": loss,
                        "checksum": self._compute_checksum(state),
                        "version": tessera.__version__,
                        "timestamp": time.time(),
                    }
                )
                if metadata is not None:
                    self._write_metadata(file.create_group("metadata"), metadata)
            path.chmod(0o600)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise NLSQCheckpointError(
                f"Failed to save checkpoint at batch {batch_idx}: {error}",
                error_context={"batch_idx": batch_idx, "checkpoint_path": str(path)},
            ) from error
        spent = time.time() - begin
        if spent > _SLOW:
            get_logger(__name__).warning(f"Checkpoint save took {spent:.2f}s (target: < 2s)")
        return path

    @staticmethod
    def _write_metadata(group: Any, metadata: dict[str, Any]) -> None:
        for key, value in metadata.items():
            if isinstance(value, bool | int | float | str):
                group.attrs[key] = value
            elif isinstance(value, list | dict):
                group.attrs[key] = json.dumps(value)
            elif isinstance(value, np.ndarray):
                group.create_dataset(key, data=value)

    @staticmethod
    def _read_metadata(group: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in group.attrs.items():
            found[key] = value
            if isinstance(value, str):
                try:
                    found[key] = json.loads(value)
                except json.JSONDecodeError:
                    continue
        return found | {key: group[key][:] for key in group}

    def load_checkpoint(self, checkpoint_path: PathLike) -> dict[str, Any]:
        """Read a checkpoint."""
        path = Path(checkpoint_path)
        context = {"checkpoint_path": str(path)}
        if not path.exists():
            raise NLSQCheckpointError(f"Checkpoint file not found: {path}", error_context=context)
        try:
            with _h5py().File(path, "r") as file:
                state = bytes(file["optimizer_state"][()])
                if self._compute_checksum(state) != file.attrs["checksum"]:
                    raise NLSQCheckpointError(
                        "Checkpoint checksum mismatch. File may be corrupted.",
                        error_context=context,
                    )
                version = file.attrs.get("version", "unknown")
                if version != tessera.__version__:
                    get_logger(__name__).warning(
                        f"checkpoint of version {version}, this is {tessera.__version__}"
                    )
                return {
                    "batch_idx": int(file.attrs["batch_idx"]),
                    "parameters": file["parameters"][:],
                    "optimizer_state": json.loads(state, object_hook=_from_json),
                    "loss": float(file.attrs["loss"]),
                    "metadata": (
                        self._read_metadata(file["metadata"]) if "metadata" in file else {}
                    ),
                    "version": version,
                    "timestamp": file.attrs.get("timestamp", 0.0),
                }
        except (OSError, KeyError, ValueError) as error:
            raise NLSQCheckpointError(
                f"Failed to load checkpoint: {error}", error_context=context
            ) from error

    def _files(self) -> list[Path]:
        """Return the checkpoints, the newest first."""
        found = self.checkpoint_dir.glob("homodyne_state_batch_*.h5")
        return sorted(found, key=_place, reverse=True)

    def find_latest_checkpoint(self) -> Path | None:
        """Return the newest checkpoint that is whole."""
        return next((path for path in self._files() if self.validate_checkpoint(path)), None)

    def cleanup_old_checkpoints(self) -> list[Path]:
        """Remove all but the newest; return those removed."""
        gone = []
        for path in self._files()[self.keep_last_n :]:
            try:
                path.unlink()
            except OSError as error:
                get_logger(__name__).warning(f"Failed to delete checkpoint {path}: {error}")
                continue
            gone.append(path)
        return gone

    def validate_checkpoint(self, checkpoint_path: PathLike) -> bool:
        """Return whether a checkpoint is whole."""
        path = Path(checkpoint_path)
        if not path.exists():
            return False
        try:
            with _h5py().File(path, "r") as file:
                if any(name not in file for name in _NEEDED[0]):
                    return False
                if any(name not in file.attrs for name in _NEEDED[1]):
                    return False
                state = bytes(file["optimizer_state"][()])
                return bool(self._compute_checksum(state) == file.attrs["checksum"])
        except (OSError, KeyError, ValueError):
            return False

    def _compute_checksum(self, data: bytes) -> str:
        return hashlib.sha256(data).hexdigest()
