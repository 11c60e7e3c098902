"""The model of a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats, PathLike
from tessera.xpcs.core.jax_backend import compute_g2_scaled_with_factors
from tessera.xpcs.core.models import CombinedModel
from tessera.xpcs.core.physics_factors import create_physics_factors_from_config_dict

__all__ = ["HomodyneModel"]


def _mode_of(config: Mapping[str, Any]) -> str:
    """Return the mode a configuration asks for, by its switches or by its name."""
    switches = config.get("analysis_settings") or {}
    if switches:
        if not switches.get("static_mode", False):
            return "laminar_flow"
        return "static_isotropic" if switches.get("isotropic_mode") else "static_anisotropic"
    word = str(config.get("analysis_mode") or "").lower()
    if "static" in word:
        return "static_isotropic" if "isotropic" in word else "static_anisotropic"
    return "laminar_flow"


class HomodyneModel:
    """The model of a configuration: times, factors and mode are taken from it once.

    Parameters
    ----------
    config : dict
        With ``analyzer_parameters``: ``temporal`` (``dt``, ``start_frame``, ``end_frame``),
        ``scattering.wavevector_q`` and ``geometry.stator_rotor_gap``; and ``analysis_mode`` or
        ``analysis_settings``.

    Examples
    --------
    >>> from tessera.xpcs.core import HomodyneModel
    >>> model = HomodyneModel({
    ...     "analysis_mode": "static_isotropic",
    ...     "analyzer_parameters": {
    ...         "temporal": {"dt": 0.1, "start_frame": 1, "end_frame": 30},
    ...         "scattering": {"wavevector_q": 0.0054},
    ...         "geometry": {"stator_rotor_gap": 2e6},
    ...     },
    ... })
    >>> model.compute_c2([1e4, -0.5, 10.0], [0.0, 45.0]).shape
    (2, 30, 30)
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        try:
            own = config["analyzer_parameters"]
            temporal = own["temporal"]
            self.dt = temporal["dt"]
            self.start_frame = temporal["start_frame"]
            self.end_frame = temporal["end_frame"]
            self.wavevector_q = own["scattering"]["wavevector_q"]
            self.stator_rotor_gap = own["geometry"]["stator_rotor_gap"]
        except KeyError as error:
            raise KeyError(
                f"Missing required configuration key: {error}, of analyzer_parameters"
            ) from error
        self.analysis_mode = _mode_of(config)
        self.physics_factors = create_physics_factors_from_config_dict(config)
        if self.end_frame < 0:
            raise ValueError(
                f"end_frame={self.end_frame} stands for the last frame of a file and must be "
                "resolved to its number: XPCSDataLoader does"
            )
        n_time = self.end_frame - self.start_frame + 1
        self.time_array: Floats = np.linspace(0.0, self.dt * (n_time - 1), n_time)
        self.t1_grid, self.t2_grid = np.meshgrid(self.time_array, self.time_array, indexing="ij")
        self.model = CombinedModel(self.analysis_mode)

    def compute_c2(
        self,
        params: npt.ArrayLike,
        phi_angles: npt.ArrayLike,
        contrast: float = 0.5,
        offset: float = 1.0,
    ) -> Floats:
        """Compute c2.

        Parameters
        ----------
        params : array, shape (3,) or (7,)
            Physical parameters.
        phi_angles : array, shape (n_angle,)
            Degrees.
        contrast, offset : float
            Scaling.

        Returns
        -------
        ndarray, shape (n_angle, n, n)
            Correlations.
        """
        return np.asarray(
            compute_g2_scaled_with_factors(
                np.asarray(params, np.float64),
                self.t1_grid,
                self.t2_grid,
                np.asarray(phi_angles, np.float64),
                *self.physics_factors.to_tuple(),
                contrast,
                offset,
                self.dt,
            )
        )

    def compute_c2_single_angle(
        self, params: npt.ArrayLike, phi: float, contrast: float = 0.5, offset: float = 1.0
    ) -> Floats:
        """Compute c2 at one angle.

        Parameters
        ----------
        params, contrast, offset
            As in :meth:`compute_c2`.
        phi : float
            Degrees.

        Returns
        -------
        ndarray, shape (n, n)
            Correlations.
        """
        found: Floats = self.compute_c2(params, [phi], contrast, offset)[0]
        return found

    def plot_simulated_data(
        self,
        params: npt.ArrayLike,
        phi_angles: npt.ArrayLike,
        output_dir: PathLike = "./simulated_data",
        contrast: float = 0.5,
        offset: float = 1.0,
        generate_plots: bool = True,
    ) -> tuple[Floats, Path]:
        """Compute c2, save it, and draw it.

        Parameters
        ----------
        params, phi_angles, contrast, offset
            As in :meth:`compute_c2`.
        output_dir : path
            Where ``c2_simulated_data.npz`` and a picture for every angle go.
        generate_plots : bool, default True
            Draw; needs matplotlib.

        Returns
        -------
        (ndarray, Path)
            Correlations, and the file they were saved in.
        """
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        c2 = self.compute_c2(params, phi_angles, contrast, offset)
        file = folder / "c2_simulated_data.npz"
        facts: dict[str, Any] = {
            "c2_data": c2,
            "phi_angles": np.asarray(phi_angles),
            "time_array": self.time_array,
            "params": np.asarray(params),
            "contrast": contrast,
            "offset": offset,
            "dt": self.dt,
            **{f"pf_{name}": value for name, value in self.physics_factors.to_dict().items()},
        }
        np.savez_compressed(file, **facts)
        if generate_plots:
            from tessera.xpcs.viz._pictures import save_heatmap

            for matrix, phi in zip(c2, np.atleast_1d(np.asarray(phi_angles)), strict=True):
                save_heatmap(
                    folder / f"c2_simulated_phi_{phi:.1f}deg.png",
                    matrix,
                    self.time_array,
                    f"Simulated c2, φ = {phi:.1f}°, contrast {contrast}, offset {offset}",
                    limits=(1.0, 1.5),
                )
        return c2, file

    @property
    def config_summary(self) -> dict[str, Any]:
        """What was taken from the configuration."""
        return {
            "dt": self.dt,
            "time_length": len(self.time_array),
            "time_range": [0, self.dt * (len(self.time_array) - 1)],
            "wavevector_q": self.wavevector_q,
            "stator_rotor_gap": self.stator_rotor_gap,
            "analysis_mode": self.analysis_mode,
            "physics_factors": self.physics_factors.to_dict(),
            "start_frame": self.start_frame,
            "end_frame": self.end_frame,
        }

    def __repr__(self) -> str:
        return (
            f"HomodyneModel(\n  analysis_mode='{self.analysis_mode}',\n  dt={self.dt} s,\n"
            f"  time_points={len(self.time_array)},\n  q={self.wavevector_q} 1/Å,\n"
            f"  L={self.stator_rotor_gap} Å\n)"
        )
