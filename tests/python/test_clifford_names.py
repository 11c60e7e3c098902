"""Names of flash-clifford beside its operations: plain formulas, functions, measurements."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

import tessera.clifford as tc  # noqa: E402
from tessera.clifford.modules import baseline  # noqa: E402
from tessera.clifford.modules import layer as fused_layer  # noqa: E402
from tessera.clifford.tests import baselines, utils  # noqa: E402

N_PATH = {2: 10, 3: 20}


def problem(dims: int, use_fc: bool, dtype: Any = torch.float64) -> tuple[Tensor, ...]:
    torch.manual_seed(3)
    n, shape = 4, (2**dims, 5, 4)
    weight = (N_PATH[dims], n, n) if use_fc else (n, N_PATH[dims])
    return tuple(torch.randn(s, dtype=dtype) for s in (shape, shape, weight))


OPS = [
    (2, False, "p2m0", "fused_gelu_sgp_norm_2d", "WeightedGeluGeometricProductNorm2D"),
    (3, False, "p3m0", "fused_gelu_sgp_norm_3d", "WeightedGeluGeometricProductNorm3D"),
    (2, True, "fc_p2m0", "fused_gelu_fcgp_norm_2d", "FullyConnectedGeluGeometricProductNorm2D"),
    (3, True, "fc_p3m0", "fused_gelu_fcgp_norm_3d", "FullyConnectedGeluGeometricProductNorm3D"),
]


@pytest.mark.parametrize(("dims", "use_fc", "module", "function", "name"), OPS)
@pytest.mark.parametrize("normalize", [True, False])
def test_plain_formulas_and_autograd_functions(
    dims: int, use_fc: bool, module: str, function: str, name: str, normalize: bool
) -> None:
    x, y, w = problem(dims, use_fc)
    home = importlib.import_module(f"tessera.clifford.ops.{module}")
    want = getattr(home, function)(x, y, w, normalize)
    plain = getattr(baselines, f"gelu_{'fcgp' if use_fc else 'sgp'}_norm_{dims}d_torch")
    torch.testing.assert_close(plain(x, y, w, normalize), want, rtol=1e-12, atol=1e-12)
    by_name = getattr(home, name)
    assert issubclass(by_name, torch.autograd.Function)
    leaf = x.clone().requires_grad_()
    z = by_name.apply(leaf, y, w, normalize)
    torch.testing.assert_close(z, want, rtol=0, atol=0)
    z.sum().backward()
    assert leaf.grad.abs().max() > 0
    assert name in home.__all__
    with pytest.raises(AttributeError, match="no_such_name"):
        home.no_such_name  # noqa: B018


def test_one_product_by_hand() -> None:
    """e1 e2 = e12, and the norm of each grade is that of its length."""
    x, y = torch.zeros(4, 1, 1), torch.zeros(4, 1, 1)
    x[1], y[2] = 2, 3
    weight = torch.arange(10.0)[None]
    z = baselines.sgp_2d(x, y, weight)
    assert z.flatten().tolist() == [0, 0, 0, 6 * 6]  # path 6: vectors to the bivector
    assert baselines.sgp_2d(y, x, weight).flatten().tolist() == [0, 0, 0, -36]
    v = torch.zeros(4, 1, 2)
    v[1], v[2] = 3, 4
    torch.testing.assert_close(baselines.mv_rmsnorm_2d(v)[1], v[1] / 5)
    for product, wrong in ((baselines.sgp_2d, (1, 9)), (baselines.fcgp_2d, (20, 1, 1))):
        with pytest.raises(ValueError, match="this algebra has 10"):
            product(x, y, torch.zeros(wrong))


def test_projective_product() -> None:
    x, y = torch.randn(16, 3, 2, dtype=torch.float64), torch.randn(16, 3, 2, dtype=torch.float64)
    want = tc.gp_pga(x, y)
    torch.testing.assert_close(baselines.gp_4d(x, y), want)
    from tessera.clifford.ops import p3m0n1

    torch.testing.assert_close(p3m0n1.GeometricProduct.apply(x, y), want)


@pytest.mark.parametrize("use_fc", [False, True])
@pytest.mark.parametrize("dims", [2, 3])
def test_layers_load_each_other(dims: int, use_fc: bool) -> None:
    torch.manual_seed(1)
    fused = fused_layer.Layer(6, dims, use_fc=use_fc).double()
    torch.nn.init.normal_(fused.linear_bias)
    plain = baseline.Layer(6, dims, use_fc=use_fc).double()
    plain.load_state_dict(fused.state_dict())
    fused.load_state_dict(plain.state_dict())
    x = torch.randn(2**dims, 7, 6, dtype=torch.float64)
    torch.testing.assert_close(plain(x), fused(x), rtol=1e-11, atol=1e-11)
    y = torch.bmm(x, fused.linear_weight[fused.weight_expansion]) + fused.linear_bias
    torch.testing.assert_close(fused.fused_op(x, y, fused.gp_weight, True), fused(x))
    plain.normalize = fused.normalize = False
    torch.testing.assert_close(plain(x), fused(x), rtol=1e-11, atol=1e-11)


def test_baseline_refuses_other_dimensions() -> None:
    with pytest.raises(ValueError, match="choose 2 or 3"):
        baseline.Layer(4, 5)


def _wrong(x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """The right result with a wrong gradient of y."""
    return baselines.gelu_sgp_norm_2d_torch(x, 2 * y - y.detach(), weight)


class TestMeasurements:
    fused = staticmethod(tc.fused_gelu_sgp_norm_2d)
    plain = staticmethod(baselines.gelu_sgp_norm_2d_torch)

    @staticmethod
    def setup(batch_size: int, num_features: int) -> tuple[Tensor, ...]:
        shape = (4, batch_size, num_features)
        return torch.randn(shape), torch.randn(shape), torch.randn(num_features, 10)

    def test_correctness(self, capsys: pytest.CaptureFixture[str]) -> None:
        arguments = dict(zip(("x", "y", "weight"), self.setup(8, 4), strict=True))
        found = utils.run_correctness_test(self.fused, self.plain, arguments)
        assert set(found) == {"fwd", "x", "y", "weight"}
        assert max(found.values()) < 1e-4
        assert capsys.readouterr().out.count("✔") == 4
        plainer = {**arguments, "normalize": False}  # a setting is no leaf
        assert utils.run_correctness_test(self.fused, self.plain, plainer).keys() == found.keys()
        capsys.readouterr()
        found = utils.run_correctness_test(self.fused, _wrong, arguments)
        assert found["fwd"] < 1e-4
        assert found["y"] > 0.1  # the original's test does not see this
        assert "grad y" in capsys.readouterr().out.partition("✘")[0]

    def test_benchmark(self, capsys: pytest.CaptureFixture[str]) -> None:
        found = utils.run_benchmark(self.fused, self.plain, self.setup(8, 4), 3, warmup=1)
        assert len(found) == 8
        given = (*self.setup(8, 4), True)
        assert len(utils.run_benchmark(self.fused, self.plain, given, 3, warmup=1)) == 8
        assert all(found[i] > 0 for i in (0, 1, 4, 5))
        assert all(found[i] is None for i in (2, 3, 6, 7))  # a CPU has no such count
        assert "Forward + Backward Pass" in capsys.readouterr().out
        with pytest.raises(ValueError, match="return_mode"):
            utils.run_benchmark(self.fused, self.plain, self.setup(2, 4), 1, 1, True, "luck")

    def test_times_are_of_the_calls(self) -> None:
        import time

        def slow(*args: Tensor) -> Tensor:
            time.sleep(0.01)
            return self.plain(*args)

        found = utils.run_benchmark(slow, self.plain, self.setup(2, 4), 30, 1, False, "min")
        assert 10 <= found[0] < 500
        assert found[1] < found[0]

    def test_sweep_table_and_map(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(utils, "_calls_within", lambda function, _: function())
        results = utils.run_sweep(self.fused, self.plain, self.setup, [2, 4], [4], rep=1)
        assert [(r["batch_size"], r["num_features"]) for r in results] == [(2, 4), (4, 4)]
        for r in results:
            assert r["is_correct"]
            assert r["speedup_fwd"] == r["time_fwd_torch"] / r["time_fwd_fused"]
        utils.print_results_table(results, "products")
        assert "products: forward and backward" in capsys.readouterr().out
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("agg")
        path = tmp_path / "maps" / "fwd.png"
        utils.plot_heatmap(results, "speedup_fwd", "forward", path)
        assert path.read_bytes()[:4] == b"\x89PNG"
