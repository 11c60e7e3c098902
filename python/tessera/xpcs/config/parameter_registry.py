"""What is known of every parameter: bounds, defaults, priors, units."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

AnalysisMode = Literal["static", "static_isotropic", "laminar_flow"]


@dataclass(frozen=True)
class ParameterInfo:
    """What is known of a parameter.

    Parameters
    ----------
    name : str
        Its name.
    description : str
        What it is.
    dtype : type
        Of its values.
    default : float
        Where to start.
    lower_bound, upper_bound : float
        Least and largest value.
    prior_mean, prior_std : float, optional
        Of a normal prior; None for a uniform one.
    units : str
        Its unit.
    is_scaling, is_physical, is_flow : bool
        Whether it belongs to an angle, to the model, to the flow.
    log_space : bool
        Whether samplers work on its logarithm.
    """

    name: str
    description: str
    dtype: type = float
    default: float = 1.0
    lower_bound: float = 0.0
    upper_bound: float = float("inf")
    prior_mean: float | None = None
    prior_std: float | None = None
    units: str = ""
    is_scaling: bool = False
    is_physical: bool = False
    is_flow: bool = False
    log_space: bool = False


def _scaling(name: str, what: str, *numbers: float) -> ParameterInfo:
    default, low, high, mean, std = numbers
    return ParameterInfo(name, what, float, default, low, high, mean, std, "", is_scaling=True)


def _physical(
    name: str, what: str, units: str, *numbers: float, flow: bool = False, log: bool = False
) -> ParameterInfo:
    default, low, high, mean, std = numbers
    return ParameterInfo(
        name, what, float, default, low, high, mean, std, units, False, True, flow, log
    )


_INFOS = (
    # default, bounds, prior
    _scaling("contrast", "Contrast: c2 = contrast c1² + offset", 0.5, 0, 1, 0.5, 0.25),
    _scaling("offset", "Baseline: c2 = contrast c1² + offset", 1.0, 0.5, 1.5, 1.0, 0.25),
    _physical("D0", "Diffusion coefficient at 1 s", "Å²/s", 1e3, 1e2, 1e5, 1e3, 1e3, log=True),
    _physical("alpha", "Exponent of diffusion in time", "", 0.5, -2, 2, 0.5, 0.5),
    _physical("D_offset", "Constant diffusion", "Å²/s", 10, -1e5, 1e5, 10, 200, log=True),
    _physical(
        "gamma_dot_t0", "Shear rate at 1 s", "s⁻¹", 0.01, 1e-6, 0.5, 0.01, 0.1, flow=True, log=True
    ),
    _physical("beta", "Exponent of the shear rate in time", "", 0.5, -2, 2, 0, 0.5, flow=True),
    _physical("gamma_dot_t_offset", "Constant shear rate", "s⁻¹", 0, -0.1, 0.1, 0, 0.02, flow=True),
    _physical("phi0", "Direction of the flow", "degrees", 0, -10, 10, 0, 5, flow=True),
)


class ParameterRegistry:
    """All parameters; there is one registry.

    Examples
    --------
    >>> ParameterRegistry().get_all_param_names("static", n_angles=2)
    ['contrast_0', 'contrast_1', 'offset_0', 'offset_1', 'D0', 'alpha', 'D_offset']
    """

    _instance: ClassVar[ParameterRegistry | None] = None
    _PARAMETERS: ClassVar[dict[str, ParameterInfo]] = {info.name: info for info in _INFOS}

    def __new__(cls) -> ParameterRegistry:
        """Return the only one."""
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    @property
    def scaling_names(self) -> tuple[str, ...]:
        """Names of the parameters every angle has its own of."""
        return tuple(info.name for info in _INFOS if info.is_scaling)

    def get_param_info(self, name: str) -> ParameterInfo:
        """Return what is known of a parameter.

        Parameters
        ----------
        name : str
            Its name; ``contrast_3`` is a contrast.

        Returns
        -------
        ParameterInfo
            All of it.
        """
        for known in (name, re.sub(r"_\d+$", "", name)):
            if known in self._PARAMETERS:
                return self._PARAMETERS[known]
        raise KeyError(f"Unknown parameter: {name}. Valid parameters: {list(self._PARAMETERS)}")

    def get_param_names(self, analysis_mode: AnalysisMode | str) -> list[str]:
        """Return the physical parameters of a mode.

        Parameters
        ----------
        analysis_mode : str
            The mode.

        Returns
        -------
        list of str
            In the order of vectors.
        """
        flow = self._normalize_mode(analysis_mode) == "laminar_flow"
        return [info.name for info in _INFOS if info.is_physical and (flow or not info.is_flow)]

    def get_all_param_names(
        self, analysis_mode: AnalysisMode | str, n_angles: int = 1, include_scaling: bool = True
    ) -> list[str]:
        """Return the parameters of a mode with those of every angle before them.

        Parameters
        ----------
        analysis_mode : str
            The mode.
        n_angles : int, default 1
            How many angles.
        include_scaling : bool, default True
            False leaves contrasts and offsets out.

        Returns
        -------
        list of str
            In the order of vectors.
        """
        scaling = self.scaling_names if include_scaling else ()
        names = [f"{name}_{angle}" for name in scaling for angle in range(n_angles)]
        return names + self.get_param_names(analysis_mode)

    def get_bounds(self, name: str) -> tuple[float, float]:
        """Return the bounds of a parameter.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        tuple
            Lower, upper.
        """
        info = self.get_param_info(name)
        return info.lower_bound, info.upper_bound

    def get_all_bounds(
        self, analysis_mode: AnalysisMode | str, n_angles: int = 1, include_scaling: bool = True
    ) -> tuple[list[float], list[float]]:
        """Return the bounds of all parameters.

        Parameters
        ----------
        analysis_mode, n_angles, include_scaling
            As in :meth:`get_all_param_names`.

        Returns
        -------
        tuple of lists
            Lower, upper.
        """
        names = self.get_all_param_names(analysis_mode, n_angles, include_scaling)
        pairs = [self.get_bounds(name) for name in names]
        return [low for low, _ in pairs], [high for _, high in pairs]

    def get_defaults(
        self, analysis_mode: AnalysisMode | str, n_angles: int = 1, include_scaling: bool = True
    ) -> list[float]:
        """Return where the parameters start.

        Parameters
        ----------
        analysis_mode, n_angles, include_scaling
            As in :meth:`get_all_param_names`.

        Returns
        -------
        list of float
            In the order of vectors.
        """
        names = self.get_all_param_names(analysis_mode, n_angles, include_scaling)
        return [self.get_param_info(name).default for name in names]

    def get_num_params(
        self, analysis_mode: AnalysisMode | str, n_angles: int = 1, include_scaling: bool = True
    ) -> int:
        """Return how many parameters there are.

        Parameters
        ----------
        analysis_mode, n_angles, include_scaling
            As in :meth:`get_all_param_names`.

        Returns
        -------
        int
            The length of vectors.
        """
        return len(self.get_all_param_names(analysis_mode, n_angles, include_scaling))

    def validate_param_values(
        self,
        values: Mapping[str, float] | Sequence[float],
        analysis_mode: AnalysisMode | str,
        n_angles: int = 1,
        include_scaling: bool = True,
    ) -> None:
        """Raise ValueError where a value is out of bounds.

        Parameters
        ----------
        values : dict or list
            By name, or in the order of vectors; names that the mode lacks are passed over.
        analysis_mode, n_angles, include_scaling
            As in :meth:`get_all_param_names`.
        """
        names = self.get_all_param_names(analysis_mode, n_angles, include_scaling)
        if isinstance(values, Mapping):
            pairs = [(name, value) for name, value in values.items() if name in names]
        elif len(values) != len(names):
            raise ValueError(f"Expected {len(names)} values, got {len(values)}")
        else:
            pairs = list(zip(names, values, strict=True))
        for name, value in pairs:
            low, high = self.get_bounds(name)
            if not low <= value <= high:
                raise ValueError(f"Parameter {name}={value} out of bounds [{low}, {high}]")

    def expand_initial_values(
        self, initial_values: Mapping[str, float], n_angles: int
    ) -> dict[str, float]:
        """Give every angle its contrast and offset.

        Parameters
        ----------
        initial_values : dict
            Values by name.
        n_angles : int
            How many angles.

        Returns
        -------
        dict
            With ``contrast_0`` ... in place of ``contrast``.
        """
        scaling = self.scaling_names
        expanded: dict[str, float] = {}
        for name in scaling:
            value = initial_values.get(name, self._PARAMETERS[name].default)
            expanded.update({f"{name}_{angle}": value for angle in range(n_angles)})
        expanded.update({k: v for k, v in initial_values.items() if k not in scaling})
        return expanded

    def _normalize_mode(self, mode: str) -> str:
        lower = mode.lower()
        if "static" in lower:
            return "static_isotropic" if "isotropic" in lower else "static"
        if "laminar" in lower:
            return "laminar_flow"
        raise ValueError(
            f"Unknown analysis mode: {mode}. Expected 'static', 'static_isotropic' or "
            f"'laminar_flow'"
        )


def get_registry() -> ParameterRegistry:
    """Return the registry.

    Returns
    -------
    ParameterRegistry
        The only one.
    """
    return ParameterRegistry()


def get_param_names(analysis_mode: AnalysisMode | str) -> list[str]:
    """Return the physical parameters of a mode.

    Parameters
    ----------
    analysis_mode : str
        The mode.

    Returns
    -------
    list of str
        In the order of vectors.
    """
    return get_registry().get_param_names(analysis_mode)


def get_all_param_names(
    analysis_mode: AnalysisMode | str, n_angles: int = 1, include_scaling: bool = True
) -> list[str]:
    """Return the parameters of a mode with those of every angle before them.

    Parameters
    ----------
    analysis_mode, n_angles, include_scaling
        As in :meth:`ParameterRegistry.get_all_param_names`.

    Returns
    -------
    list of str
        In the order of vectors.
    """
    return get_registry().get_all_param_names(analysis_mode, n_angles, include_scaling)


def get_bounds(name: str) -> tuple[float, float]:
    """Return the bounds of a parameter.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    tuple
        Lower, upper.
    """
    return get_registry().get_bounds(name)


def get_defaults(
    analysis_mode: AnalysisMode | str, n_angles: int = 1, include_scaling: bool = True
) -> list[float]:
    """Return where the parameters start.

    Parameters
    ----------
    analysis_mode, n_angles, include_scaling
        As in :meth:`ParameterRegistry.get_all_param_names`.

    Returns
    -------
    list of float
        In the order of vectors.
    """
    return get_registry().get_defaults(analysis_mode, n_angles, include_scaling)


__all__ = [
    "ParameterInfo",
    "ParameterRegistry",
    "get_all_param_names",
    "get_bounds",
    "get_defaults",
    "get_param_names",
    "get_registry",
]
