"""Automatic rejection and repair of bad EEG/MEG epochs.

The classes and functions are those of the package ``autoreject``: a script written for it runs with
``from tessera.autoreject import ...``. Answers are the original's unless asked otherwise
(``search``, ``rho_mode``); :func:`compat` makes ``import autoreject`` find this package.

>>> import numpy as np
>>> from tessera.autoreject import AutoReject
>>> rng = np.random.default_rng(1)
>>> x = 1e-5 * rng.standard_normal((30, 8, 50))
>>> x[4, 2] *= 20
>>> angle = np.arange(8) * np.pi / 4
>>> positions = 0.09 * np.stack([np.cos(angle), np.sin(angle), np.cos(3 * angle) / 2], axis=1)
>>> ar = AutoReject(n_interpolate=[1, 2], cv=5, random_state=1, verbose=False)
>>> clean, log = ar.fit_array(x, positions).transform_array(x, return_log=True)
>>> int(log.labels[4, 2])
2
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from tessera.autoreject._ptp import ptp, ptp_file, simulate

if TYPE_CHECKING:
    from tessera.autoreject._compat import compat
    from tessera.autoreject._device import detect_hardware
    from tessera.autoreject._epochs import EpochsFile, read_epochs
    from tessera.autoreject._study import Study, StudyRecording, study
    from tessera.autoreject._version import version
    from tessera.autoreject.autoreject import (
        AutoReject,
        _AutoReject,
        compute_thresholds,
        fit_array,
        read_auto_reject,
    )
    from tessera.autoreject.backends import get_backend
    from tessera.autoreject.global_threshold import (
        _GlobalAutoReject,
        get_rejection_threshold,
        validation_curve,
    )
    from tessera.autoreject.ransac import Ransac
    from tessera.autoreject.reject_log import RejectLog, read_reject_log
    from tessera.autoreject.viz import set_matplotlib_defaults

_HOME = {
    "_compat": ("compat",),
    "_device": ("detect_hardware",),
    "_epochs": ("EpochsFile", "read_epochs"),
    "_study": ("Study", "StudyRecording", "study"),
    "_version": ("version",),
    "autoreject": (
        "AutoReject",
        "_AutoReject",
        "compute_thresholds",
        "fit_array",
        "read_auto_reject",
    ),
    "backends": ("get_backend",),
    "global_threshold": ("_GlobalAutoReject", "get_rejection_threshold", "validation_curve"),
    "ransac": ("Ransac",),
    "reject_log": ("RejectLog", "read_reject_log"),
    "viz": ("set_matplotlib_defaults",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
_MODULES = (
    "autoreject",
    "backends",
    "bayesopt",
    "global_threshold",
    "ransac",
    "reject_log",
    "utils",
    "viz",
)

__all__ = [
    "AutoReject",
    "EpochsFile",
    "Ransac",
    "RejectLog",
    "Study",
    "StudyRecording",
    "_AutoReject",
    "_GlobalAutoReject",
    "compat",
    "compute_thresholds",
    "detect_hardware",
    "fit_array",
    "get_backend",
    "get_rejection_threshold",
    "ptp",
    "ptp_file",
    "read_auto_reject",
    "read_epochs",
    "read_reject_log",
    "set_matplotlib_defaults",
    "simulate",
    "study",
    "validation_curve",
    "version",
]


def __getattr__(name: str) -> Any:
    # Import on first use keeps `import tessera.autoreject` short and free of NumPy.
    if name == "__version__":
        from tessera import __version__

        return __version__
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])


if os.environ.get("TESSERA_AUTOREJECT_ALIAS", "0") not in ("", "0"):
    from tessera.compat import install

    install("autoreject")
