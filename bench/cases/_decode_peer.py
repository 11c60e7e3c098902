"""The original of decode, non_local_detector on JAX, as the benchmarks and references use it."""

import functools
import importlib
import importlib.util
import os

import numpy as np

NAME = "non_local_detector"


def device():
    """Where ours runs."""
    return os.environ.get("TESSERA_DEVICE") or "cpu"


def is_installed():
    return all(importlib.util.find_spec(name) for name in (NAME, "jax"))


@functools.cache
def kind():
    """What stands on the other side: "package", "formulas" (the package does not import), or None:
    no JAX, or none that reaches the device ours runs on."""
    if device() == "cpu":
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        jax = importlib.import_module("jax")
        if device() != "cpu" and jax.default_backend() != "gpu":
            return None
        import_peer()
    except ImportError:
        return "formulas" if importlib.util.find_spec("jax") else None
    return "package"


def import_peer(double=False):
    """Import it and return its name.

    Version 0.6.9 is older than the packages it runs on: it calls jax.numpy.clip with names that
    JAX has since removed, and writes to arrays that pandas 3 hands out read-only. With both mended
    from outside it runs on the newest and fastest JAX.
    """
    jax = importlib.import_module("jax")
    if double:
        jax.config.update("jax_enable_x64", True)
    numpy = importlib.import_module("jax.numpy")
    clip = numpy.clip
    numpy.clip = lambda x, a_min=None, a_max=None, **more: clip(x, a_min, a_max, **more)
    environment = importlib.import_module(f"{NAME}.environment")
    project = environment._calculate_linear_position
    environment._calculate_linear_position = lambda *values, **more: project(
        *(value.copy() if isinstance(value, np.ndarray) else value for value in values), **more)
    return NAME
