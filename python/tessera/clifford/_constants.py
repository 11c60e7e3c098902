"""Buffers whose numbers are computed, not learned and not saved."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy.typing as npt
import torch
from torch import Tensor, nn

__all__ = ["Constants"]

_Made = TypeVar("_Made", bound=nn.Module)
_making = threading.RLock()  # one thread at a time makes what first calls need


class Constants(nn.Module):
    """A module with constants, which are where its parameters are.

    States do not have them, so who makes a module without data (``torch.device("meta")``) could not
    load them: they wait on the host until the parameters have data.
    """

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[str, Tensor] = {}

    def keep(self, name: str, values: npt.ArrayLike) -> None:
        """Make a constant, on the device where parameters are made.

        Parameters
        ----------
        name : str
            Name of the buffer.
        values : array
            Its numbers.
        """
        with torch.inference_mode(False):  # where a module first runs is not where it is trained
            found = torch.as_tensor(values, device="cpu")
            device = torch.get_default_device()
            if device.type == "meta":
                self._waiting[name] = found
            self.register_buffer(name, found.to(device), persistent=False)

    def constant(self, name: str, like: Tensor) -> Tensor:
        """Return a constant where some tensor is.

        Parameters
        ----------
        name : str
            As given to :meth:`keep`.
        like : torch.Tensor
            What it is computed with.

        Returns
        -------
        torch.Tensor
            The constant.
        """
        found: Tensor = getattr(self, name)
        if found.is_meta and not like.is_meta:  # a state was assigned
            with torch.inference_mode(False):  # what waits stays: another thread may be here, too
                found = self._waiting[name].to(like.device)
            setattr(self, name, found)
        return found

    def keep_later(self, *names: str) -> None:
        """Give places to modules of constants that :meth:`made` makes.

        Parameters
        ----------
        *names : str
            Their names; those that are there stay.
        """
        for name in names:
            found = self.__dict__.pop(name, None)  # of a module that was pickled
            if name not in self._modules:
                self.register_module(name, found)

    def made(self, name: str, make: Callable[[], _Made]) -> _Made:
        """Return a module of constants, made where it is first asked for.

        Parameters
        ----------
        name : str
            As given to :meth:`keep_later`.
        make : callable
            Makes it.

        Returns
        -------
        torch.nn.Module
            The one, for all threads and for calls with gradients as well.
        """
        found: _Made | None = getattr(self, name)
        if found is not None:
            return found
        if torch.compiler.is_compiling():
            found = make()
            setattr(self, name, found)
            return found
        with _making, torch.inference_mode(False):
            found = getattr(self, name)
            if found is None:
                found = make()
                setattr(self, name, found)
        return found

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Move to another device or type; ``to_empty`` comes here as well."""
        before = {name: t for name, t in self._buffers.items() if t is not None}
        super()._apply(fn, recurse)
        for name, old in before.items():
            new = self._buffers[name]
            assert new is not None
            if new.is_meta and not old.is_meta:
                self._waiting[name] = old.cpu()
            elif old.is_meta and not new.is_meta and name in self._waiting:
                new.copy_(self._waiting.pop(name))
        return self
