"""Modules of clifford over time: checkpoints say what they mean, attributes are heeded."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor

import clifford_torch as plain
import tessera.clifford as tc
from tessera.clifford.modules.layer import Layer as OriginalLayer

ORIGINAL_KEYS = ["gp_weight", "linear_weight", "linear_bias", "weight_expansion"]


def shaken(module: torch.nn.Module) -> Any:
    """Give every parameter, the bias too, other values."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    return module


def through_torch(state: dict[str, Tensor]) -> Any:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file)


def through_plain_bytes(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Keep tensors alone, as safetensors does."""
    assert all(isinstance(value, Tensor) for value in state.values())
    return {key: torch.from_numpy(value.numpy().copy()) for key, value in state.items()}


WAYS = pytest.mark.parametrize("way", [through_torch, through_plain_bytes])


def warnings_of(module: torch.nn.Module, state: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module.load_state_dict(state, strict=True)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize("use_fc", [False, True])
@pytest.mark.parametrize("dims", [2, 3])
def test_the_original_name_gives_the_original_answer(dims: int, use_fc: bool) -> None:
    torch.manual_seed(4)
    layer = shaken(OriginalLayer(6, dims, use_fc=use_fc))
    x = torch.randn(2**dims, 5, 6)
    parts = (x, layer.gp_weight, layer.linear_weight, layer.linear_bias, (1,) * dims)
    want = plain.layer(*parts, bias_mode="all", use_fc=use_fc)
    assert torch.allclose(layer(x), want, rtol=1e-5, atol=1e-5)
    assert list(layer.state_dict()) == ORIGINAL_KEYS  # which the original loads strictly
    native = tc.Layer(6, dims, use_fc=use_fc)
    assert native.bias == "scalar"
    with pytest.warns(UserWarning, match="bias='all'"):
        native.load_state_dict(layer.state_dict(), strict=True)
    native.bias = "all"
    assert torch.equal(native(x), layer(x))


@WAYS
def test_states_say_where_their_bias_goes(way: Any) -> None:
    modules = {
        "scalar": shaken(tc.Layer(4, 3)),
        "all": shaken(OriginalLayer(4, 3)),
    }
    for written, source in modules.items():
        state = way(source.state_dict())
        for read, target in modules.items():
            found = warnings_of(copy.deepcopy(target), state)
            assert len(found) == (written != read), (written, read)
            assert all(f"bias={written!r}" in text and f"bias={read!r}" in text for text in found)
    linear = {mode: shaken(tc.MVLinear(4, 3, "++", bias_mode=mode)) for mode in ("scalar", "all")}
    for written, source in linear.items():
        state = way(source.state_dict())
        for read, target in linear.items():
            found = warnings_of(copy.deepcopy(target), state)
            assert len(found) == (written != read), (written, read)


def test_states_of_others_and_of_before_load_strictly() -> None:
    layer = shaken(tc.Layer(4, 3))
    state = layer.state_dict()
    original = {key: state[key] for key in ORIGINAL_KEYS}
    assert len(warnings_of(tc.Layer(4, 3), original)) == 1
    assert warnings_of(OriginalLayer(4, 3), original) == []
    original["linear_bias"] = torch.zeros(1, 1, 4)
    assert warnings_of(tc.Layer(4, 3), original) == []  # zero means the same
    # Version 0.1 had the choice in the metadata alone.
    old = type(state)((key, state[key]) for key in ORIGINAL_KEYS)
    old._metadata = {"": {"version": 1, "bias": "scalar"}}
    assert warnings_of(tc.Layer(4, 3), old) == []
    assert len(warnings_of(OriginalLayer(4, 3), old)) == 1
    state["bias_kind"] = torch.tensor(7)
    with pytest.raises(RuntimeError, match="bias_kind"):
        layer.load_state_dict(state)
    other = dict(original, weight_expansion=torch.tensor([0, 1, 1, 2, 1, 2, 2, 3]))
    with pytest.raises(RuntimeError, match="weight_expansion"):
        layer.load_state_dict(other)


def test_one_warning_per_load() -> None:
    source = shaken(torch.nn.Sequential(*[OriginalLayer(4, 3) for _ in range(3)]))
    target = torch.nn.Sequential(*[tc.Layer(4, 3) for _ in range(3)])
    for _ in range(2):
        (text,) = warnings_of(target, source.state_dict())
        assert "0.linear_bias" in text


def test_states_without_data() -> None:
    source = shaken(tc.Layer(4, 3))
    target = tc.Layer(4, 3, device="meta")
    target.load_state_dict(source.state_dict(), assign=True)
    x = torch.randn(8, 2, 4)
    assert torch.equal(target(x), source(x))
    assert warnings_of(tc.Layer(4, 3), through_plain_bytes(target.state_dict())) == []
    empty = tc.Layer(4, 3, device="meta").to_empty(device="cpu")
    assert warnings_of(empty, source.state_dict()) == []
    assert int(empty.bias_kind) == int(source.bias_kind)
    warnings_of(tc.Layer(4, 3, device="meta"), tc.Layer(4, 3, device="meta").state_dict())


PRODUCT = {"activation": "none", "norm_metric": "euclid", "eps": 0.5}
MODULES: list[tuple[Any, dict[str, Any]]] = [
    (lambda: tc.MVGELU("+-"), {"activation": "relu"}),
    (lambda: tc.MVRMSNorm("+-"), {"eps": 0.5, "norm_metric": "clamp"}),
    (lambda: tc.MVLinear(3, 4, "+-"), {"bias_mode": "all"}),
    (lambda: tc.SGP(3, "+-"), {**PRODUCT, "path_mask": 77, "normalize": False}),
    (lambda: tc.FCGP(3, 4, "+-"), {**PRODUCT, "path_mask": 77, "normalize": False}),
    (lambda: tc.Layer(3, "+-"), {**PRODUCT, "bias": "all", "normalize": False}),
    (lambda: tc.Layer(3, "+-", use_fc=True), {"bias": "all", "normalize": False}),
]
FIXED = [
    *("kind", "metric", "spec", "n_component", "n_grade", "n_path"),
    *("n_features", "in_features", "out_features", "dims", "use_fc"),
]


@pytest.mark.parametrize(("make", "changes"), MODULES)
def test_attributes_take_effect(make: Any, changes: dict[str, Any]) -> None:
    torch.manual_seed(6)
    module = shaken(make())
    x = torch.randn(4, 3, 3)
    inputs = (x, x.flip(0)) if isinstance(module, (tc.SGP, tc.FCGP)) else (x,)
    for name, value in changes.items():
        before = module(*inputs)
        setattr(module, name, value)
        assert getattr(module, name) == value
        after = module(*inputs)
        assert not torch.equal(after, before), name
        for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            assert torch.equal(twin(*inputs), after), name
    last = x.movedim(0, -1)
    want = module(*inputs)
    module.axis = -1
    turned = (last, last.flip(-1))[: len(inputs)]
    assert torch.equal(module(*turned).movedim(-1, 0), want)
    module.check_finite = True
    with pytest.raises(FloatingPointError):
        module(turned[0] * float("nan"), *turned[1:])


@pytest.mark.parametrize(("make", "changes"), MODULES)
def test_attributes_that_cannot_take_effect_are_refused(make: Any, changes: Any) -> None:
    module = make()
    text = repr(module)
    for name in FIXED:
        if hasattr(module, name):
            with pytest.raises(AttributeError, match=f"{name} cannot be changed"):
                setattr(module, name, getattr(module, name))
    for name in changes:
        with pytest.raises(ValueError, match=name):
            setattr(module, name, "nonsense")
    with pytest.raises(ValueError, match="axis"):
        module.axis = 1
    assert repr(module) == text
    with pytest.raises(AttributeError, match="cannot be changed"):
        tc.Algebra("++").axis = -1
    operation: Any = tc.Op("gate", "++")
    with pytest.raises(AttributeError):
        operation.spec = "+++"


def test_the_bias_of_the_state_is_that_of_the_attribute() -> None:
    layer = tc.Layer(3, 2)
    assert "bias_kind" in layer.state_dict()
    layer.bias = "all"
    assert list(layer.state_dict()) == ORIGINAL_KEYS
    layer.bias = "scalar"
    assert int(layer.state_dict()["bias_kind"]) == 1
    assert layer.half().bias_kind.dtype == torch.int64


def test_pickles_of_before() -> None:
    """Version 0.1 kept most options in the text of the operation alone."""
    layer = shaken(tc.Layer(3, 2, eps=0.25))
    x = torch.randn(4, 2, 3)
    want = layer(x)
    state = layer.__getstate__() if hasattr(layer, "__getstate__") else dict(layer.__dict__)
    state = {k: v for k, v in state.items() if k not in ("eps", "activation", "norm_metric")}
    state["_buffers"] = {"weight_expansion": layer.weight_expansion}
    old = tc.Layer.__new__(tc.Layer)
    old.__setstate__(state)
    assert torch.equal(old(x), want)
    assert old.eps == 0.25
    assert "bias_kind" in old.state_dict()
    old.normalize = False
    assert not torch.equal(old(x), want)


@pytest.mark.parametrize(("make", "changes"), MODULES)
def test_modules_take_tensors_alone(make: Any, changes: Any) -> None:
    module = make()
    x = torch.randn(4, 3, 3)
    has_two = isinstance(module, (tc.SGP, tc.FCGP))
    for wrong in (x.numpy(), x.tolist(), None):
        with pytest.raises(TypeError, match=r"x: expected a tensor of torch"):
            module(*((wrong, wrong) if has_two else (wrong,)))
        if has_two:
            with pytest.raises(TypeError, match=r"y: expected a tensor of torch"):
                module(x, wrong)
