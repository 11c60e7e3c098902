"""Operations as text: names that would smuggle further options into it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.clifford as tc
from tessera.clifford._spec import make_spec, read_spec

TAILS = [
    "|eps=1",
    "|eps=3|normalize=False",
    "|path_mask=1",
    "|loud=1",
    "|",
    "=1",
    "\0",
    "\0|eps=1",
]
WORDS = {"activation": "gelu", "norm_metric": "euclid", "bias_mode": "all", "precision": "high"}
OPTIONS = {
    "mv_gelu": ("activation",),
    "rms_norm": ("norm_metric",),
    "sgp": ("activation", "norm_metric"),
    "fcgp": ("activation", "norm_metric", "precision"),
    "linear": ("bias_mode", "precision"),
    "layer": tuple(WORDS),
}
MODULES = {
    "MVGELU": ((), ("activation",)),
    "MVRMSNorm": ((), ("norm_metric",)),
    "MVLinear": ((3, 3), ("precision",)),
    "SGP": ((3,), ("activation", "norm_metric")),
    "FCGP": ((3, 3), ("activation", "norm_metric", "precision")),
    "Layer": ((3,), ("activation", "norm_metric", "precision")),
}


def packages() -> list[Any]:
    """Return a package of functions, and what makes arrays for it, for every kind of array."""
    found: list[Any] = [pytest.param(lambda: (tc, np.ones), id="numpy")]
    if importlib.util.find_spec("torch"):
        found.append(pytest.param(lambda: (tc, importlib.import_module("torch").ones), id="torch"))
    if importlib.util.find_spec("jax"):

        def jax() -> Any:
            return importlib.import_module("tessera.clifford.jax"), importlib.import_module(
                "jax.numpy"
            ).ones

        found.append(pytest.param(jax, id="jax"))
    return found


def arrays_of(name: str, ones: Callable[..., Any]) -> tuple[Any, ...]:
    x = ones((8, 2, 3))
    return {
        "mv_gelu": (x,),
        "rms_norm": (x,),
        "sgp": (x, x, ones((3, 20))),
        "fcgp": (x, x, ones((20, 3, 3))),
        "linear": (x, ones((4, 3, 3)), ones(3)),
        "layer": (x, ones((3, 20)), ones((4, 3, 3)), ones(3)),
    }[name]


def refuses(option: str, call: Any, word: str) -> None:
    """Expect the sentence for a name that does not exist, with the name as it was given."""
    call(word)
    ordinary = f"{option}: '{{}}' does not exist" if option in WORDS else "signature: '{}' is none"
    for tail in TAILS:
        with pytest.raises(tessera.ArgumentError) as error:
            call(word + tail)
        assert ordinary.format((word + tail).replace("\0", "\\0")) in str(error.value)


@pytest.mark.parametrize("package", packages())
@pytest.mark.parametrize("name", OPTIONS)
def test_functions(package: Callable[[], Any], name: str) -> None:
    functions, ones = package()
    f, arrays = getattr(functions, name), arrays_of(name, ones)
    refuses("metric", lambda metric: f(*arrays, metric), "+++")
    for option in OPTIONS[name]:
        refuses(
            option,
            lambda word, option=option: f(*arrays, "+++", **{option: word}),
            WORDS[option],
        )


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    pytest.importorskip("torch")
    make = getattr(tc, name)
    sizes, options = MODULES[name]
    refuses("metric", lambda metric: make(*sizes, metric), "+++")
    for option in options:
        word = WORDS[option]
        refuses(option, lambda word, option=option: make(*sizes, "+++", **{option: word}), word)
        module = make(*sizes, "+++")
        refuses(
            option, lambda word, option=option, module=module: setattr(module, option, word), word
        )


def test_algebras_and_operations() -> None:
    x, graph = np.ones((8, 3, 2)), tc.Graph([0, 1], [1, 1], 3)
    for take in (
        tc.Algebra,
        lambda metric: tc.Op("sgp", metric),
        lambda metric: tc.graph_product(x, x, None, graph, metric),
    ):
        refuses("metric", take, "+++")
    for option, word in WORDS.items():
        refuses(option, lambda word, option=option: tc.Op("layer", "+++", **{option: word}), word)


def test_metrics_of_other_objects() -> None:
    class Other:
        signs = "+++|eps=1"

    with pytest.raises(tessera.ArgumentError, match="signature"):
        make_spec(Other())  # type: ignore[arg-type]


def test_text_says_what_was_asked_for() -> None:
    options: Any = {**WORDS, "normalize": False, "eps": 0.5}
    assert read_spec(make_spec("+++", path_mask=7, **options)) == ("+++", options, 7)
