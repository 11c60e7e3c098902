"""Which components get a bias: an option of modules that their state carries.

A bias on every component and one on the scalar are the same tensor with another meaning. The state
of a module therefore says which it is, by an integer tensor ``bias_kind`` that survives plain dicts
and safetensors. Where there is none, the bias is as those wrote it who know no ``bias_kind``.
"""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import torch
from torch import Tensor

from tessera import _core
from tessera._lib import warn
from tessera.clifford._modules_base import CliffordModule

_CODES = {"all": 0, "scalar": 1}
_KEY = "bias_kind"


def check_bias(name: str, mode: Any) -> None:
    """Complain about what is no place for a bias."""
    if mode not in _CODES:
        raise _core.ArgumentError(f"{name}: expected 'scalar' or 'all', got {mode!r}")


class BiasedModule(CliffordModule):
    """A module with a bias, whose state says on which components it is."""

    _bias_option: ClassVar[str]  # the attribute that says where the bias goes
    _bias_tensor: ClassVar[str]  # the parameter
    _unmarked: ClassVar[str]  # what states without bias_kind mean

    def _mark_bias(self) -> None:
        """Have the state say where the bias goes; to be called when the parameters exist."""
        bias = getattr(self, self._bias_tensor)
        self._buffers.pop(_KEY, None)
        mode = self._bias_mode()
        if bias is not None and mode != self._unmarked:
            self.register_buffer(_KEY, torch.tensor(_CODES[mode], device=bias.device))

    def _bias_mode(self) -> str:
        return getattr(self, self._bias_option) or "scalar"  # 0.1 left the default open

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute, and what the state says of it."""
        if name != self._bias_option:
            super().__setattr__(name, value)
            return
        check_bias(name, value)
        super().__setattr__(name, value)
        self._mark_bias()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled, also by 0.1, which had no marks."""
        super().__setstate__(state)
        self._mark_bias()

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Warn where the bias was trained otherwise; this module goes on as it was made."""
        mark = state_dict.pop(prefix + _KEY, None)
        written = self._written(mark, local_metadata)
        if written not in _CODES:
            error_msgs.append(f"{prefix}{_KEY}: expected one of {_CODES}, got {written}")
        saved = state_dict.get(prefix + self._bias_tensor)
        if written in _CODES and written != self._bias_mode() and _is_not_zero(saved):
            self._warn(prefix, written, mark is not None, error_msgs)
        if _KEY in self._buffers:
            state_dict[prefix + _KEY] = torch.tensor(_CODES[self._bias_mode()])
        super()._load_from_state_dict(
            state_dict,
            prefix,
            local_metadata,
            strict,
            missing_keys,
            unexpected_keys,
            error_msgs,
        )

    def _written(self, mark: Any, local_metadata: dict[str, Any]) -> str:
        if mark is None:
            # 0.1 noted it where torch.save keeps it and other writers do not.
            return str(local_metadata.get("bias", self._unmarked))
        if mark.is_meta:  # without data; only what is not unmarked has a mark
            return next(mode for mode in _CODES if mode != self._unmarked)
        return {code: mode for mode, code in _CODES.items()}.get(int(mark), str(int(mark)))

    def _warn(self, prefix: str, written: str, has_mark: bool, load: list[str]) -> None:
        if getattr(_last, "load", None) is load:
            return
        _last.load = load
        option, mode = self._bias_option, self._bias_mode()
        says = "says" if has_mark else f"has no {_KEY}, which means"
        warn(
            f"{type(self).__name__}: the checkpoint's {prefix}{self._bias_tensor} is not zero, and "
            f"it {says} {option}={written!r}; this module has {option}={mode!r} and will give "
            f"other results: create it with {option}={written!r}, or set that attribute, to "
            "reproduce them (other modules of this load may differ likewise)"
        )


# The list of errors that is one load's: what has warned once is silent until the next load.
_last = threading.local()


def _is_not_zero(t: Any) -> bool:
    """Say whether a saved bias matters; one without data tells nothing."""
    if not isinstance(t, Tensor) or t.is_meta or hasattr(t, "fake_mode"):
        return False
    return bool(t.count_nonzero())
