"""What a fit finds out before its first pass, by several ranks: each its angles, and all alike."""

import json

import pytest
from test_cli_mpi import contents, mpirun, pytestmark  # noqa: F401

N_ANGLE = 7


@pytest.fixture(scope="module")
def flow(tessera_at, tmp_path_factory):
    """Laminar flow seen from seven angles: more than ranks, and no multiple of them."""
    tessera = tessera_at(tmp_path_factory.mktemp("survey"))
    made = tessera("xpcs", "simulate", "-o", "f.txc2", "--n-angle", str(N_ANGLE), "--n-frame",
                   "150", "--sigma", "0.02")
    assert made.returncode == 0, made.stderr
    return tessera


def words(mode, out):
    return ["xpcs", "fit", "f.txc2", "--gap", "2e6", "--no-surfaces", "--sigma-mode", mode,
            "--trace", f"{out}.trace", "--threads", "1", "-o", out]


def looked_at(path):
    """Bytes of samples that rank 0 went over, by what it looked for."""
    found = json.loads(path.read_text())
    found = found if isinstance(found, list) else found["traceEvents"]
    sums = dict.fromkeys(("xpcs.lags", "xpcs.quantiles", "xpcs.noise"), 0)
    for event in found:
        if event["name"] in sums:
            sums[event["name"]] += event["args"]["bytes"]
    return sums


@pytest.mark.parametrize(("mode", "ranks"), [("estimate", (3, 8)), ("per_lag", (2,))])
def test_noise_and_guesses(flow, mode, ranks):
    one = flow(*words(mode, f"{mode}1"))
    assert one.returncode == 0, one.stderr
    whole = looked_at(flow.directory / f"{mode}1.trace")
    assert whole["xpcs.noise"] > 0
    for n_rank in ranks:
        out = f"{mode}{n_rank}"
        result = mpirun(flow, n_rank, *words(mode, out))
        assert result.returncode == 0, result.stderr
        assert contents(flow.directory / out) == contents(flow.directory / f"{mode}1")
        share = -(-N_ANGLE // n_rank) / N_ANGLE  # of rank 0, which has the most angles
        part = looked_at(flow.directory / f"{out}.trace")
        assert part["xpcs.lags"] == pytest.approx(share * whole["xpcs.lags"], rel=1e-3)
        # Other angles may need more passes than those of rank 0.
        assert part["xpcs.quantiles"] <= 1.001 * share * whole["xpcs.quantiles"]
        if mode == "per_lag":  # of which the report of rank 0 is half
            share = 0.5 * (1 + share)
        assert part["xpcs.noise"] <= 1.001 * share * whole["xpcs.noise"]
