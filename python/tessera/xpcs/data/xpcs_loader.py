"""The original's loader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tessera import _core
from tessera.xpcs._arguments import PathLike
from tessera.xpcs._compat import _flag
from tessera.xpcs._config import ConfigManager, settings_of
from tessera.xpcs._data import load

if TYPE_CHECKING:
    from tessera.xpcs._dicts import LoaderDict

__all__ = ["XPCSDataLoader", "load_xpcs_data"]


class XPCSDataLoader:
    """The original's loader.

    Parameters
    ----------
    config_path : path, optional
        YAML or JSON.
    config_dict : dict, optional
        The same as a dict.
    configure_logging : bool, default True
        Accepted for scripts of the original: nothing here touches the logging of a program.
    generate_quality_reports : bool, default False
        There are none here; True is refused.
    """

    def __init__(
        self,
        config_path: PathLike | None = None,
        config_dict: Mapping[str, Any] | None = None,
        configure_logging: bool = True,
        generate_quality_reports: bool = False,
    ) -> None:
        if (config_path is None) == (config_dict is None):
            raise _core.ArgumentError("config_path, config_dict: give one of them")
        _flag(configure_logging, "configure_logging")
        if _flag(generate_quality_reports, "generate_quality_reports"):
            raise _core.ArgumentError(
                "generate_quality_reports: none are made here; leave it False, and see the notes "
                "of the data, xpcs.load(config).notes"
            )
        settings = settings_of(config_path if config_dict is None else config_dict)
        assert settings is not None
        self.settings = settings
        self.config_path = config_path

    @property
    def config(self) -> dict[str, Any]:
        """Every value in force."""
        return self.settings.to_dict()

    def load_experimental_data(self) -> LoaderDict:
        """Read the file the configuration names.

        Returns
        -------
        dict
            ``wavevector_q_list``, ``phi_angles_list``, ``t1``, ``t2``, ``c2_exp``; the frame at
            time 0 is there and fits leave it out.
        """
        return load(self.settings, keep_t0=True).to_dict()


def load_xpcs_data(
    config_path: PathLike | Mapping[str, Any] | ConfigManager | None = None,
    config_dict: Mapping[str, Any] | None = None,
) -> LoaderDict:
    """Read the file a configuration names, as the original's function does.

    Parameters
    ----------
    config_path : path or dict, optional
        The configuration.
    config_dict : dict, optional
        The same as a dict.

    Returns
    -------
    dict
        See :meth:`XPCSDataLoader.load_experimental_data`.
    """
    if (config_path is None) == (config_dict is None):
        raise _core.ArgumentError("config_path, config_dict: give one of them")
    settings = settings_of(config_path if config_dict is None else config_dict)
    assert settings is not None
    return load(settings, keep_t0=True).to_dict()
