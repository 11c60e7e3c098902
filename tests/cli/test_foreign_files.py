"""Files that are not the command's own stay as they are, whatever name they have."""

import os
import shutil

import pytest


@pytest.fixture
def correlations(tessera, tmp_path):
    words = ("--n-frame", "60", "--n-angle", "4", "-q")
    assert tessera("xpcs", "simulate", "-o", "s.hdf", *words).returncode == 0
    return tmp_path / "s.hdf"


def fit(tessera, *words):
    return tessera("xpcs", "fit", *words, "--gap", "2e6", "-o", "out")


def test_a_file_at_the_place_of_the_cache_that_is_none(tessera, correlations, tmp_path):
    """Read by mistake, its tables would be looked for where there are none."""
    cache = tmp_path / "cc" / "cached_c2_frames_1_-1.npz"
    cache.parent.mkdir()
    shutil.copy(correlations, cache)
    result = fit(tessera, "s.hdf", "--cache", "cc")
    assert result.returncode == 0, result.stderr
    assert "it is no cache" in result.stderr


def test_an_input_that_has_the_name_of_its_cache(tessera, correlations, tmp_path):
    own = tmp_path / "cc" / "cached_c2_frames_1_-1.npz"
    own.parent.mkdir()
    shutil.copy(correlations, own)
    before = own.read_bytes()
    result = fit(tessera, own, "--cache", "cc")
    assert result.returncode == 0, result.stderr
    assert own.read_bytes() == before


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--report", "cc/cached_c2_frames_1_-1.npz"),
        ("--log-file", "cc/phi_angles_list.txt"),
        ("--trace", "cc/wavevector_q_list.txt"),
    ],
)
def test_names_of_the_cache_are_taken(tessera, correlations, tmp_path, option, name):
    (tmp_path / "cc").mkdir()
    result = fit(tessera, correlations.name, "--cache", "cc", option, name, "--overwrite")
    assert result.returncode == 2
    assert option in result.stderr and "--cache" in result.stderr
    assert not (tmp_path / "out").exists()
    result = fit(tessera, correlations.name, "--cache", "cc", option, "cc/another")
    assert result.returncode == 0, result.stderr


def test_names_of_pictures_are_taken(tessera, correlations, tmp_path):
    (tmp_path / "pics").mkdir()
    trace = "pics/c2_heatmaps_phi_-22.5deg.png"
    result = tessera("xpcs", "plot", correlations.name, "-o", "pics", "--trace", trace)
    assert result.returncode == 2
    assert "--trace" in result.stderr and "pics" in result.stderr


def test_a_link_to_an_open_file_is_not_replaced(tessera, epochs, tmp_path):
    """As /dev/stdout is one: where it leads is another file for every process."""
    link = tmp_path / "so"
    link.symlink_to("/proc/self/fd/1")
    with (tmp_path / "regular").open("w") as out:
        with tessera.popen(
            "autoreject", "ptp", epochs.name, "--report", "so", "--overwrite", stdout=out
        ) as process:
            assert process.wait() == 73
    assert os.readlink(link) == "/proc/self/fd/1"


def test_a_log_that_cannot_be_written_is_told(tessera, epochs):
    result = tessera("autoreject", "ptp", epochs.name, "--log-file", "/dev/full")
    assert result.returncode == 74
    assert "--log-file /dev/full" in result.stderr
    assert "peak-to-peak" in result.stdout  # the result itself was made


def test_a_demo_keeps_out_of_the_files_of_others(tessera, tmp_path):
    folder = tmp_path / "dd"
    folder.mkdir()
    (folder / "report.html").write_text("mine")
    result = tessera("demo", "xpcs", "--dir", "dd")
    assert result.returncode == 73
    assert "no demo made" in result.stderr
    assert [path.name for path in folder.iterdir()] == ["report.html"]
    assert (folder / "report.html").read_text() == "mine"


def test_a_link_in_the_checkpoint_folder_is_not_followed(tessera, tmp_path):
    sizes = ("--epochs", "20", "--channels", "16", "--samples", "100", "-q")
    made = tessera("autoreject", "simulate", "-o", "e.npy", "--positions", "head.csv", *sizes)
    assert made.returncode == 0, made.stderr
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "spool.npy").write_text("precious")
    (tmp_path / "ck").mkdir()
    (tmp_path / "ck" / "transform").symlink_to("../victim")
    words = ("--montage", "head.csv", "--sampling-hz", "250", "-o", "m.npy", "--checkpoint", "ck")
    result = tessera("autoreject", "fit-transform", "e.npy", *words)
    assert result.returncode == 73
    assert "ck/transform" in result.stderr
    assert (victim / "spool.npy").read_text() == "precious"


def test_a_long_path_leaves_room_for_the_reason(tessera):
    result = tessera("autoreject", "ptp", "d/" * 600 + "x.npy")
    assert result.returncode == 66
    assert result.stderr.rstrip().endswith("x.npy: cannot open: No such file or directory")
