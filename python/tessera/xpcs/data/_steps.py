"""Steps of loading one by one, for scripts that call them: the library does them in one go."""

from __future__ import annotations

import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera.xpcs._arguments import PathLike
from tessera.xpcs._data import inspect, load

_TEMPLATE = "cached_c2_frames_${start_frame}_${end_frame}.npz"
_LAYOUTS = {"aps-u": "aps_u", "aps-legacy": "aps_old"}


class LoaderSteps:
    """What a loader does, with the sections of its configuration."""

    exp_config: dict[str, Any]
    analyzer_config: dict[str, Any]
    v2_config: dict[str, Any]

    def _detect_format(self, hdf_path: PathLike) -> str:
        """Return 'aps_u', 'aps_old' or 'unknown'."""
        try:
            return _LAYOUTS.get(inspect(hdf_path)["layout"], "unknown")
        except _core.FormatError as error:
            if "not an HDF5 file" in str(error):
                raise
            return "unknown"

    def _load_from_cache(self, cache_path: PathLike) -> Mapping[str, Any]:
        # A cache holds one ring, whatever its q.
        return load(cache_path, keep_t0=True, q_max_deviation=1e9).to_dict()

    def _cache_name(self) -> str:
        """Return the cache's name; old templates have ``{name}`` instead of ``${name}``."""
        template = self.exp_config.get("cache_filename_template") or _TEMPLATE
        if "$" not in template:
            template = template.replace("{", "${")
        q = (self.analyzer_config.get("scattering") or {}).get("wavevector_q", 0.0054)
        name = string.Template(template).safe_substitute(
            start_frame=self.analyzer_config.get("start_frame", 1),
            end_frame=self.analyzer_config.get("end_frame", 8000),
            wavevector_q=f"{q:.4f}",
        )
        if "/" in name or ".." in name:
            raise _core.ArgumentError(f"Unsafe cache filename from template: {name!r}")
        return name

    def _generate_cache_path(self) -> Path:
        folder = self.exp_config.get("data_folder_path", "./data/")
        return Path(str(self.exp_config.get("cache_file_path") or folder)) / self._cache_name()

    def _reconstruct_full_matrix(self, c2_half: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a matrix of which one triangle is zero in full."""
        full: npt.NDArray[Any] = c2_half + c2_half.T
        np.fill_diagonal(full, np.diagonal(c2_half))
        return full

    def _correct_diagonal(self, c2_mat: Any) -> Any:
        from tessera.xpcs.core.diagonal_correction import apply_diagonal_correction

        return apply_diagonal_correction(c2_mat)

    def _select_optimal_wavevector(self, dqlist: npt.NDArray[Any]) -> int:
        q = (self.analyzer_config.get("scattering") or {}).get("wavevector_q", 0.0054)
        return int(np.argmin(np.abs(np.asarray(dqlist) - q)))

    def _calculate_time_arrays(self, matrix_size: int) -> npt.NDArray[Any]:
        dt = float(self.analyzer_config.get("dt", 1.0))
        return np.linspace(0, dt * (matrix_size - 1), matrix_size)

    def _apply_frame_slicing_to_selected_q(self, c2_matrices: npt.NDArray[Any]) -> npt.NDArray[Any]:
        first = max(1, self.analyzer_config.get("start_frame", 1))
        last = self.analyzer_config.get("end_frame", -1)
        stop = c2_matrices.shape[-1] if last < 0 else last
        return c2_matrices[:, first - 1 : stop, first - 1 : stop]

    def _get_output_format(self) -> str:
        return str(self.v2_config.get("output_format", "auto"))

    def _should_perform_validation(self) -> dict[str, bool]:
        level = self.v2_config.get("validation_level", "basic")
        return {
            "physics_checks": bool(self.v2_config.get("physics_validation", False)),
            "data_quality": level != "none",
            "comprehensive": level == "full",
        }

    def _convert_arrays_to_target_format(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return JAX arrays where the configuration asks for them; else NumPy's."""
        if self._get_output_format() != "jax":
            return data
        try:
            import jax.numpy as jnp
        except ImportError as error:
            raise ImportError(
                "v2_features.output_format jax: needs JAX; pip install jax"
            ) from error
        return {k: jnp.asarray(v) if isinstance(v, np.ndarray) else v for k, v in data.items()}
