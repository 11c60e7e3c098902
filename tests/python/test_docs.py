"""Docstrings: every public name has one, with its parameters, and the examples run."""

from __future__ import annotations

import doctest
import enum
import importlib
import inspect
import pkgutil
import re
from typing import Any

import pytest

import tessera
from public_names import SYSTEMS, Public, public_names

# What somebody who opens a page of the manual looks for first. Each shows how it is called.
MAIN = {
    "autoreject": """
        AutoReject EpochsFile Ransac RejectLog compat compute_thresholds fit_array
        get_rejection_threshold ptp ptp_file read_auto_reject read_epochs read_reject_log simulate
        validation_curve
    """,
    "clifford": """
        Algebra Algebra.geometric_product Algebra.grade Algebra.inner Algebra.norm Algebra.outer
        Algebra.reverse FCGP Layer MVGELU MVLinear MVRMSNorm Op SGP check fcgp
        fused_gelu_sgp_norm_3d layer linear mv_gelu rms_norm sgp
    """,
    "decode": """
        ClusterlessDecoder ClusterlessDetector ContFragClusterlessClassifier
        ContFragSortedSpikesClassifier DiscreteNonStationaryDiagonal DiscreteStationaryCustom
        DiscreteStationaryDiagonal Environment Identity MultiEnvironmentClusterlessClassifier
        NoSpikeContFragClusterlessClassifier NonLocalClusterlessDetector
        NonLocalSortedSpikesDetector ObservationModel OnlineDecoder RandomWalk Recording Results
        SortedSpikesDecoder SortedSpikesDetector TrackGraph Uniform UniformInitialConditions
        make_track_graph read_recording save_recording simulate_recording tune
    """,
    "xpcs": """
        ConfigManager Data Data.from_arrays Data.from_dict Result Settings accumulate
        estimate_sigma fit fit_nlsq_jax g2 grids inspect load model model_pairs parameters plan
        quantile_scaling simulate simulate_file template
    """,
}


def _parameters(value: Any) -> list[inspect.Parameter]:
    if inspect.isclass(value) and issubclass(value, enum.Enum):  # nobody makes more of them
        return []
    try:
        found = inspect.signature(value).parameters.values()
    except ValueError:  # an error of Python's, which takes a message
        return []
    return [parameter for parameter in found if parameter.name not in ("self", "cls")]


def _returns(value: Any) -> bool:
    return getattr(value, "__annotations__", {}).get("return") not in (None, "None")


def _missing(public: Public) -> list[str]:
    """Return what is wrong with a docstring."""
    doc = inspect.getdoc(public.value) or ""
    if not doc:
        return ["no docstring"]
    if public.kind == "property":
        return []
    wrong = []
    for parameter in _parameters(public.value):
        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            name = rf"\*+{name}"
        if not re.search(rf"^(?:[\w*]+, )*{name}(?:, [\w*]+)*(?: :|$)", doc, re.MULTILINE):
            wrong.append(f"{parameter.name} is not in Parameters")
    if _parameters(public.value) and "Parameters\n----------\n" not in doc:
        wrong.append("no section Parameters")
    if (
        public.kind != "class"
        and _returns(public.value)
        and not re.search(r"^(Returns|Yields)\n-", doc, re.MULTILINE)
    ):
        wrong.append("no section Returns")
    if re.search(r"\{(options|parameters)\}", doc):
        wrong.append("a table was not filled in")
    if re.search(r"\|\w+\|", re.sub(r"``.*?``|>>>[^\n]*", "", doc, flags=re.DOTALL)):
        wrong.append("|name| outside of ``: the manual takes it for a substitution")
    return wrong


def test_every_public_name_is_documented() -> None:
    ours = [public for public in public_names() if "." in public.name]  # others are the extension's
    assert len(ours) > 400
    wrong = {public.name: found for public in ours if (found := _missing(public))}
    assert wrong == {}


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_people_look_for_has_examples(system: str) -> None:
    if system == "clifford":
        pytest.importorskip("torch")
    package = importlib.import_module(f"tessera.{system}")
    names = MAIN[system].split()
    assert len(names) >= 12
    for name in names:
        value: Any = package
        for part in name.split("."):
            value = getattr(value, part)
        assert "Examples\n--------\n>>> " in (inspect.getdoc(value) or ""), name


def _modules() -> list[str]:
    found = pkgutil.walk_packages(tessera.__path__, "tessera.")
    return [module.name for module in found if not module.name.endswith("__main__")]


# What imports torch, beside the modules named after it.
_TORCH = (
    "tessera.clifford._bias",
    "tessera.clifford._layer",
    "tessera.clifford._modules",
    "tessera.clifford._modules_base",
    "tessera.clifford.modules",
    "tessera.clifford.modules.layer",
)
# Types only, of packages that need not be there; a checker reads them.
_TYPES = ("_keywords", "_module_keywords", "_types", "_dicts", "_core")


@pytest.mark.parametrize("name", _modules())
def test_examples(name: str) -> None:
    if name.rpartition(".")[2] in _TYPES:
        pytest.skip("nothing to run")
    if "._torch" in name or name in _TORCH:
        pytest.importorskip("torch")
    if name == "tessera.clifford.jax":
        pytest.importorskip("jax")
    module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.testmod(module, optionflags=flags)
    assert failed == 0
