"""autoreject's long calls: Ctrl-C, progress, threads side by side, files without MNE."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from autoreject_data import GOLDEN, dirty, mne_epochs, sphere
from helpers import python_env, run_python
from tessera._bars import label
from tessera.autoreject import AutoReject, _fit, fit_array, read_epochs
from tessera.autoreject._arguments import bars

MAX_LATENCY_S = 0.5  # 0.2 s is the aim; test machines are busy

FIT: dict[str, Any] = {
    "n_interpolate": [1, 2],
    "consensus": [0.2, 0.5, 0.8],
    "cv": 4,
    "random_state": 1,
    "verbose": False,
}

# A shell that starts the tests in the background makes them ignore the signal.
INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from tessera.autoreject import AutoReject
x = 1e-5 * np.random.default_rng(1).standard_normal((600, 48, 1000))
positions = np.random.default_rng(2).standard_normal((48, 3))
ar = AutoReject(random_state=1, verbose=False, cv=5)
print("ready", flush=True)
try:
    ar.fit_array(x, positions)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(hasattr(ar, "threshes_"))
"""


@pytest.mark.parametrize("delay_s", [0.1, 0.3, 0.6])
def test_ctrl_c(delay_s: float) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], env=python_env(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(delay_s)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - start < MAX_LATENCY_S
        assert process.stdout.readline() == "False\n"
        assert process.wait(timeout=30) == 0


def test_bars_have_the_originals_names() -> None:
    assert label("autoreject.thresholds") == "Computing thresholds ..."
    assert label("autoreject.local") == "n_interp"
    assert label("autoreject.read") == "Creating augmented epochs"
    assert label("something else") == "something else"
    assert bars(False) is None
    assert bars("tqdm") is not None
    with pytest.raises(ValueError, match="boolean"):
        bars("nonsense")


def test_progress_is_shown(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.repeat(dirty(60, 24, 50), 20, axis=2)

    def shown(verbose: bool | str) -> str:
        AutoReject(**FIT | {"verbose": verbose}).fit_array(x, sphere(24))
        return capfd.readouterr().err

    for text in (shown("tqdm"), shown("progressbar")):
        for name in ("Creating augmented epochs", "Computing thresholds", "n_interp"):
            assert name in text
    assert not shown(True)  # nobody watches a pipe
    monkeypatch.setenv("TESSERA_PROGRESS", "plain")
    assert "Computing thresholds" in shown(True)
    assert not shown(False)


def test_fits_side_by_side() -> None:
    want = fit_array(dirty(), sphere(12), **FIT)
    found: list[AutoReject] = []

    def work() -> None:
        found.append(fit_array(dirty(), sphere(12), **FIT))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for ar in found:
        assert ar.threshes_ == want.threshes_
        np.testing.assert_array_equal(ar.loss_["eeg"], want.loss_["eeg"])


def test_works_without_mne_and_the_others() -> None:
    code = (
        "import sys\n"
        "for name in ('mne', 'h5io', 'sklearn', 'matplotlib', 'tqdm', 'pandas', 'scipy'):\n"
        "    sys.modules[name] = None\n"
        "import numpy as np\n"
        "from tessera.autoreject import AutoReject, RejectLog, backends\n"
        "x = 1e-5 * np.random.default_rng(1).standard_normal((30, 8, 50)); x[4, 2] *= 20\n"
        "p = np.random.default_rng(2).standard_normal((8, 3))\n"
        "ar = AutoReject(n_interpolate=[1, 2], cv=5, random_state=1, verbose=False)\n"
        "clean, log = ar.fit_array(x, p).transform_array(x, return_log=True)\n"
        "print(clean.shape[1:], int(log.labels[4, 2]), repr(ar.cv_))\n"
        "try:\n"
        "    ar.save('x.h5')\n"
        "except ImportError as error: print(error)\n"
    )
    done = run_python(code)
    assert done.stdout.splitlines() == [
        "(8, 50) 2 KFold(n_splits=5, random_state=None, shuffle=False)",
        "files in the original's layout need h5io (pip install h5io); a file name that ends in "
        ".json needs nothing",
    ], done.stderr


def test_epochs_of_a_file(tmp_path: Path) -> None:
    epochs = read_epochs(GOLDEN / "formats" / "epochs-epo.fif")
    assert epochs.format == "fif"
    assert len(epochs) == epochs.shape[0]
    assert f"{len(epochs)} epochs" in repr(epochs)
    data = epochs.get_data()
    assert data.shape == epochs.shape
    np.testing.assert_array_equal(epochs.get_data(1, 2, [3, 0]), data[1:3][:, [3, 0]])
    with pytest.raises(tessera.NotFoundError):
        read_epochs(tmp_path / "nothing-epo.fif")


def test_fit_of_a_file_is_the_fit_of_its_array(tmp_path: Path) -> None:
    x = dirty()
    np.save(tmp_path / "x.npy", x)
    positions = tmp_path / "positions.csv"
    rows = [f"E{k + 1:03d},{a!r},{b!r},{c!r}" for k, (a, b, c) in enumerate(sphere(12).tolist())]
    positions.write_text("name,x,y,z\n" + "\n".join(rows) + "\n")
    epochs = read_epochs(tmp_path / "x.npy", sampling_hz=100.0, montage=str(positions))
    ar = AutoReject(**FIT).fit(epochs)
    want = fit_array(x, sphere(12), ch_names=epochs.ch_names, **FIT)
    assert ar.threshes_ == want.threshes_
    np.testing.assert_array_equal(ar.loss_["eeg"], want.loss_["eeg"])
    path, log = ar.transform_file(epochs, tmp_path / "clean.npy", return_log=True)
    cleaned, want_log = want.transform_array(x, return_log=True)
    assert log == want_log
    np.testing.assert_array_equal(np.load(path), cleaned)
    with pytest.raises(FileExistsError):
        ar.transform_file(epochs, path)
    log.bad_epochs[:] = False
    log.bad_epochs[2] = True
    log.labels[:] = 0
    log.labels[3, 1] = 2
    path = ar.transform_file(epochs, tmp_path / "edited.npy", reject_log=log)
    np.testing.assert_array_equal(np.load(path), want.transform_array(x, reject_log=log))
    with pytest.raises(ValueError, match="transform_file"):
        ar.transform(epochs)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # MNE's use of pandas
def test_fif_in_and_out(tmp_path: Path) -> None:
    mne = pytest.importorskip("mne")
    pandas = pytest.importorskip("pandas")
    x = dirty()
    x[7] *= 30  # bad for any threshold
    epochs = mne_epochs(x, sphere(12))
    rng = np.random.default_rng(4)
    shape = {f"E{k + 1:02d}": place for k, place in enumerate(sphere(12))}
    points = rng.standard_normal((40, 3)) * (1, 1, 0.5)
    points[:, 2] = abs(points[:, 2])
    points = 0.1 * points / np.linalg.norm(points, axis=1)[:, None] + (0, 0.01, 0.02)
    epochs.set_montage(mne.channels.make_dig_montage(shape, hsp=points, coord_frame="head"))
    epochs.metadata = pandas.DataFrame({"k": np.arange(30)})
    path = tmp_path / "in-epo.fif"
    epochs.save(path, fmt="double", verbose="ERROR")
    before = path.read_bytes()
    read = read_epochs(path)
    assert read.ch_names == epochs.ch_names
    assert read.shape == x.shape
    ar = AutoReject(**FIT).fit(read)
    want = AutoReject(**FIT).fit(mne.read_epochs(path, verbose="ERROR"))
    assert ar.threshes_ == want.threshes_
    centred = AutoReject(**FIT, origin="auto").fit(read)
    same = AutoReject(**FIT, origin="auto").fit(mne.read_epochs(path, verbose="ERROR"))
    assert centred.threshes_ == same.threshes_
    output, log = ar.transform_file(
        read, tmp_path / "out-epo.fif", return_log=True, double_precision=True
    )
    assert path.read_bytes() == before
    cleaned = mne.read_epochs(output, verbose="ERROR")
    kept = np.flatnonzero(~log.bad_epochs)
    assert 0 < len(kept) < 30
    expected = want.transform(mne.read_epochs(path, verbose="ERROR"))
    assert cleaned.selection.tolist() == expected.selection.tolist() == kept.tolist()
    assert cleaned.events.tolist() == expected.events.tolist()
    assert cleaned.metadata["k"].tolist() == kept.tolist()
    assert cleaned.drop_log == expected.drop_log
    assert cleaned.ch_names == expected.ch_names
    scale = np.abs(x).max()
    np.testing.assert_allclose(cleaned.get_data(), expected.get_data(), rtol=0, atol=1e-12 * scale)


def test_one_job_is_no_wish_for_one_thread_beside_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int | None] = []

    def session(**wishes: Any) -> contextlib.nullcontext[None]:
        threads.append(wishes["threads"])
        return contextlib.nullcontext()

    monkeypatch.setattr(_fit, "Session", session)
    for n_jobs, device in [(1, "cpu"), (1, "cuda"), (None, "cuda:1"), (2, "cuda"), (-1, "cpu")]:
        _fit.Settings(n_jobs)._run_on(device, lambda _: None)
    assert threads == [1, None, None, 2, None]
