"""clifford: table, check, bench."""

import json
import re
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "clifford"


def run_json(tessera, *words):
    result = tessera("clifford", *words, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("name", "signature"),
    [("cl20", "++"), ("cl30", "3,0"), ("cl301", "pga"), ("cl13", "+---"), ("cl41", "Cl(4,1)")],
)
def test_table_is_the_golden_one(tessera, name, signature):
    found = run_json(tessera, "table", signature)
    with np.load(GOLDEN / "tables.npz") as file:
        assert int(found["crc32"], 16) == file[f"{name}_crc32"]
        assert np.array_equal(found["terms"], file[f"{name}_terms"])
        paths = [[p["left"], p["output"], p["right"]] for p in found["paths"]]
        assert np.array_equal(paths, file[f"{name}_paths"])
        for key in ("mask", "grade", "reverse", "involution", "conjugate", "eta"):
            column = [component[key] for component in found["components"]]
            assert np.array_equal(column, file[f"{name}_{key}"]), key


@pytest.mark.parametrize("n_symbol", [2, 3, 4, 5])
def test_outer_product_has_three_to_the_n_terms(tessera, n_symbol):
    found = run_json(tessera, "table", "+" * n_symbol, "--product", "outer")
    assert len(found["terms"]) == 3**n_symbol


@pytest.mark.parametrize("text", ["", "++++++", "+x", "6,0", "0,0", "Cl(3,0", "p3", "-1,2"])
def test_what_is_no_signature_is_refused(tessera, text):
    result = tessera("clifford", "table", f"--signature={text}")
    assert result.returncode == 2
    assert "signature" in result.stderr


def test_check_finds_nothing_wrong(tessera):
    found = run_json(tessera, "check", "+++", "+---", "--rows", "9", "--features", "8")
    assert found["n_failed"] == 0
    names = {finding["name"] for finding in found["findings"]}
    for part in ("equivariance", "gradient", "control"):
        assert any(part in name for name in names), (part, sorted(names))
    assert any(finding["is_control"] for finding in found["findings"])
    assert {finding["metric"] for finding in found["findings"]} == {"+++", "+---"}


def test_bench_times_every_shape_and_writes_a_report(tessera, tmp_path):
    words = ("bench", "++", "--batch", "16,64", "--features", "8,28", "--seconds", "0.01",
             "--report", "page.html")
    found = run_json(tessera, *words)
    shapes = [(row["batch"], row["features"]) for row in found["rows"]]
    assert shapes == [(16, 8), (16, 28), (64, 8), (64, 28)]
    for row in found["rows"]:
        assert 0 < row["forward_s"] < row["forward_backward_s"] < 1
        assert 0 < row["separate_forward_s"] < 1
        assert 0 < row["memory_bytes"] < row["separate_memory_bytes"]
        # x, y and z of four components, and ten weights per feature
        items = 3 * 4 * row["batch"] * row["features"] + 10 * row["features"]
        assert row["forward_bytes"] == 4 * items
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "Against separate passes" in page
    assert "Speed-up, forward and backward" in page
    again = tessera("clifford", *words)
    assert again.returncode == 73
    assert "page.html" in again.stderr
    assert tessera("clifford", *words, "--overwrite").returncode == 0


def test_report_without_a_name_is_refused_before_the_work(tessera):
    result = tessera("clifford", "bench", "--seconds", "3600", "--report", "")
    assert (result.returncode, result.stdout) == (73, "")
    assert "without a name" in result.stderr


def test_bench_beside_a_peer(tessera, tmp_path):
    words = ("bench", "++", "--features", "8", "--seconds", "0.01")
    rows = [{"batch": 16, "features": 8, "forward_s": 0.5, "forward_backward_s": 2},
            {"batch": 64, "features": 8, "forward_s": 0.25}]
    peer = {"schema": "tessera.clifford.bench/1", "op": "sgp", "metric": "++", "dtype": "f32",
            "rows": rows}
    (tmp_path / "peer.json").write_text(json.dumps(peer))
    table = tessera("clifford", *words, "--batch", "16,64,32", "--peer", "peer.json")
    assert table.returncode == 0, table.stderr
    head, *lines = table.stdout.splitlines()
    assert head.endswith("peer fwd    peer f+b fwd ratio f+b ratio")
    assert " 500.0000 ms 2000.0000 ms" in lines[0]
    assert " 250.0000 ms        - ms" in lines[1]
    assert lines[2].split()[-6:] == ["-", "ms", "-", "ms", "-", "-"]
    found = run_json(tessera, *words, "--batch", "16,32", "--peer", "peer.json")["rows"]
    assert (found[0]["peer_forward_s"], found[0]["peer_forward_backward_s"]) == (0.5, 2)
    assert "peer_forward_s" not in found[1]
    for key, value in (("op", "fcgp"), ("metric", "+++"), ("schema", "other/1"), ("rows", 3)):
        (tmp_path / "peer.json").write_text(json.dumps(peer | {key: value}))
        result = tessera("clifford", *words, "--batch", "16", "--peer", "peer.json")
        assert result.returncode == 65
        assert "--peer: 'peer.json'" in result.stderr
        assert key in result.stderr
    assert tessera("clifford", *words, "--batch", "16", "--peer", "none.json").returncode == 66


def test_bench_keeps_to_the_memory_limit(tessera):
    words = ("clifford", "bench", "+++", "--batch", "4096", "--features", "512",
             "--seconds", "0.01", "--memory-limit", "100M")
    result = tessera(*words)
    assert result.returncode == 71
    assert "4096 rows of 512 features take 1024.1 MiB" in result.stderr
    assert "the memory limit is 100.0 MiB" in result.stderr


def test_a_stopped_bench_has_no_checkpoint_to_offer(tessera):
    process = tessera.popen("clifford", "bench", "--seconds", "3600", "-vv",
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stderr.readline()  # says how it works, and works from then on
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=300)
    assert process.returncode == 130
    assert messages.endswith("tessera: stopped on request\n")


@pytest.mark.parametrize("operation", ["gate", "norm", "fcgp", "linear", "layer", "fc_layer"])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_bench_of_every_operation(tessera, operation, dtype):
    found = run_json(tessera, "bench", "--op", operation, "--dtype", dtype, "--batch", "8",
                     "--features", "16", "--seconds", "0.005")
    (row,) = found["rows"]
    assert row["forward_s"] > 0
    assert row["forward_backward_s"] > 0
    has_matrices = operation in ("fcgp", "linear", "layer", "fc_layer")
    assert (row["forward_flops"] > 0) == has_matrices
    is_fused = operation in ("fcgp", "layer", "fc_layer")
    assert (row["separate_forward_s"] > 0) == is_fused


def test_lines_for_people(tessera):
    result = tessera("clifford", "bench", "--batch", "8", "--features", "16", "--seconds", "0.005")
    assert result.returncode == 0, result.stderr
    head, line = result.stdout.splitlines()
    assert head.split()[:4] == ["batch", "features", "forward", "fwd+bwd"]
    assert re.match(r" +8 +16 +\d+\.\d+ ms +\d+\.\d+ ms", line)
