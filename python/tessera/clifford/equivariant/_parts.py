"""Modules that a short cut goes around: it may while they are as they were made."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn.modules import module as _torch_module

__all__ = ["Parts"]

_PLAIN = (nn.Parameter, Tensor)
_ABSENT = (type(None),)


def _noted(module: nn.Module) -> tuple[Any, ...]:
    """Return a module and what is its own while nobody changed it."""
    settings = tuple((n, getattr(module, n)) for n in getattr(module, "SETTINGS", ()))
    children = tuple((n, m) for n, m in module.named_children() if not n.startswith("_"))
    parameters = tuple(
        (name, _ABSENT if p is None else _PLAIN) for name, p in module._parameters.items()
    )
    return module, type(module), len(module._modules), settings, children, parameters


class Parts:
    """Modules below another one that it goes around.

    Parameters
    ----------
    owner : torch.nn.Module
        The other one.
    *names : str
        Of its children; all that is below them counts. Those that are not there do not.
    """

    def __init__(self, owner: nn.Module, *names: str) -> None:
        self.roots = tuple((n, owner._modules[n]) for n in names if n in owner._modules)
        self.noted: list[tuple[Any, ...]] = []
        left: list[Any] = [m for _, m in self.roots]
        while left:
            self.noted.append(_noted(left.pop()))
            left += [child for _, child in self.noted[-1][4]]

    def are_whole(self, owner: nn.Module) -> bool:
        """Say whether they are as they were made, and nobody watches their calls.

        One loop without calls: a block has about 30 parts, and asks before every pass.

        Parameters
        ----------
        owner : torch.nn.Module
            As given when this was made.

        Returns
        -------
        bool
            Whether calling them would do what their types do, and nothing else.
        """
        for name, module in self.roots:
            if owner._modules.get(name) is not module:
                return False
        for m, kind, n_child, settings, children, parameters in self.noted:
            state = m.__dict__
            if (
                type(m) is not kind  # parametrizations and FSDP change it
                or state["_forward_hooks"]
                or state["_forward_pre_hooks"]
                or state["_backward_hooks"]
                or state["_backward_pre_hooks"]
                or "forward" in state
                or len(state["_modules"]) != n_child
            ):
                return False
            for name, value in settings:
                if state[name] != value:
                    return False
            for name, child in children:
                if state["_modules"].get(name) is not child:
                    return False
            for name, kinds in parameters:
                if type(state["_parameters"].get(name)) not in kinds:  # DTensor, quantized weights
                    return False
        return not _torch_module._has_any_global_hook()
