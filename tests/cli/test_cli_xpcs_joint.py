"""tessera xpcs joint: members from files and q, ties, results, what is refused."""

import json
import re
import signal
import subprocess

import pytest
from cli_command import BINARY

MODE = ["--mode", "static_anisotropic"]
TRUTH = ["--theta", "1e4,-0.5,300", "--dt", "0.1", "--sigma", "0.01", "--n-angle", "2"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three files of one q each."""
    folder = tmp_path_factory.mktemp("joint")
    for k, q in enumerate(("0.004", "0.006", "0.009")):
        subprocess.run([BINARY, "xpcs", "simulate", "-o", folder / f"{k}.hdf", "--q", q, "--seed",
                        str(k), "--n-frame", "60", *MODE, *TRUTH, "-q"], check=True)
    return [str(folder / f"{k}.hdf") for k in range(3)]


def test_files_of_several_q(tessera, tmp_path, runs):
    result = tessera("xpcs", "joint", *runs, "--qs", "all", *MODE, "--power", "D0", "--sigma",
                     "0.01", "-o", "out", "--json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["schema"] == "tessera.xpcs.joint/1"
    exponent = told["result"]["parameters"]["D0"]["exponent"]
    assert abs(exponent["value"]) < 4 * exponent["uncertainty"]
    assert [member["q"] for member in told["result"]["members"]] == pytest.approx(
        [0.004, 0.006, 0.009])
    written = json.loads((tmp_path / "out/joint.json").read_text())
    assert written["parameters"] == told["result"]["parameters"]
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "joint.json", "joint.npz", "joint.csv", "report.html"}
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    for plot in re.findall("<svg.*?</svg>", page, re.DOTALL):  # narrow axes of logarithms, too
        assert plot.count('text-anchor="end"') > 1
    again = tessera("xpcs", "joint", *runs, "--qs", "all", *MODE, "-o", "out")
    assert again.returncode == 73
    assert "--overwrite" in again.stderr


def test_lines_name_what_was_found(tessera, runs):
    result = tessera("xpcs", "joint", *runs[:2], "--qs", "all", *MODE, "--per-q", "D_offset",
                     "--sigma", "0.01", "-o", "lines")
    assert result.returncode == 0, result.stderr
    for word in ("D_offset[1]", "sharing", "member 1", "q_ref", "p ="):
        assert word in result.stdout


def test_members_that_the_model_does_not_describe(tessera, tmp_path, runs):
    words = ["xpcs", "joint", *runs[:2], "--qs", "all", *MODE, "--sigma", "0.002", "--json"]
    result = tessera(*words, "-o", "told")
    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "told/joint.json").read_text())["quality"] == "poor"
    assert "Reduced chi2 of 2 of 2 members is above 10" in result.stderr
    assert "fit poor" in (tmp_path / "told/report.html").read_text(encoding="utf-8")
    assert tessera(*words, "-o", "strict", "--strict").returncode == 1
    result = tessera(*words[:-1], "-o", "quiet", "-q")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    result = tessera(*words, "-o", "bad", "--q", "0.004")
    assert result.returncode == 2
    assert "--qs and --q" in result.stderr


@pytest.mark.parametrize(("words", "code", "said"), [
    (["--share", "D9"], 2, "did you mean 'D0'?"),
    (["--share", "alpha", "--power", "D0,alpha"], 2, "both name alpha"),
    (["--q-ref", "-1"], 2, "--q-ref"),
    (["--qs", "0.004,x"], 2, "--qs"),
    (["--qs", "0.004"], 66, "no q within"),
    (["--loss", "huber"], 2, "linear"),
    (["--power", "D0", "--fix", "D0=1e4"], 2, "cannot be a power"),
])
def test_what_cannot_be_is_refused(tessera, tmp_path, runs, words, code, said):
    qs = [] if "--qs" in words else ["--qs", "all"]
    result = tessera("xpcs", "joint", *runs, *qs, *MODE, *words, "-o", "bad")
    assert said in result.stderr
    assert result.returncode in (code, 65), result.stderr
    assert not (tmp_path / "bad").exists()


def test_one_member_is_too_few(tessera, runs):
    result = tessera("xpcs", "joint", runs[0], "--qs", "all", *MODE, "-o", "one")
    assert result.returncode == 2
    assert "two at least" in result.stderr


def test_the_same_file_twice_is_refused(tessera, runs):
    result = tessera("xpcs", "joint", runs[0], runs[0], "--qs", "all", *MODE, "-o", "twice")
    assert result.returncode == 2
    assert "the same data" in result.stderr


def test_a_stopped_run_goes_on(tessera, tmp_path, runs):
    words = ["xpcs", "joint", *runs, "--qs", "all", *MODE, "--power", "D0", "--sigma", "0.01", "-q"]
    assert tessera(*words, "-o", "whole").returncode == 0
    kept = [*words, "-o", "out", "--checkpoint", "work"]
    fault = tessera.faulty(kind="rename", signal=signal.SIGTERM, at=2, after="lock")
    stopped = tessera(*kept, "--checkpoint-every", "0", environment=fault)
    assert stopped.returncode == 143, stopped.stderr
    assert list((tmp_path / "work").glob("*.ckpt"))
    again = tessera(*kept, "--resume")
    assert again.returncode == 0, again.stderr
    whole, found = (json.loads((tmp_path / name / "joint.json").read_text())
                    for name in ("whole", "out"))
    assert found["members"] == whole["members"]
    assert not list((tmp_path / "work").glob("*.ckpt"))
