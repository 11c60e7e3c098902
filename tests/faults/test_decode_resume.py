"""A streamed prediction killed at any instant goes on to the same bytes."""

import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest
from fault_support import BINARY, FULL, digest, sanitizer

DRIVER = BINARY.parents[1] / "tests/faults/decode_stream"
PLUGINS = BINARY.parents[1] / "plugins"
N_KILL = 200 if FULL else 10


class Prediction:
    """decode_stream with fixed data; chunks, folder and output as wanted."""

    def __init__(self, folder, rows):
        self.folder = folder
        self.rows = rows
        self.environment = os.environ | {"TESSERA_PLUGIN_PATH": str(PLUGINS)}

    def popen(self, out, work, chunks, limit=0, every=0):
        words = [DRIVER, out, work, "day-1d", self.rows, chunks, limit, every]
        return subprocess.Popen(
            [str(word) for word in words],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words, **keywords):
        with self.popen(*words, **keywords) as process:
            stdout, stderr = process.communicate(timeout=300)
        assert process.returncode == 0, stderr
        return json.loads(stdout)


def digest_of(path):
    """Of a file, or of every array of a folder."""
    if path.is_dir():
        return {item.name: digest(item) for item in sorted(path.iterdir())}
    return digest(path)


@pytest.fixture
def predict(folder):
    if not DRIVER.exists():
        pytest.fail(f"{DRIVER} is missing: build it, or set TESSERA_BIN")
    return Prediction(folder, 400 if sanitizer() else 4000)


@pytest.mark.parametrize("out", ["out.h5", "out"])
def test_killed_at_random_instants(predict, folder, out):
    if out.endswith(".h5") and not list(PLUGINS.glob("tessera-io-hdf5*")):
        pytest.skip("built without HDF5")
    right = "right" + out.removeprefix("out")
    begin = time.monotonic()
    predict(right, "-", 1)
    whole_s = time.monotonic() - begin
    predict("warm", "-", 40)
    want = digest_of(folder / right)
    rng = random.Random(7)
    n_killed = n_resumed = 0
    for _ in range(N_KILL):
        while True:
            process = predict.popen(out, "work", rng.choice([7, 40, 100]))
            try:
                process.communicate(timeout=rng.uniform(0, 1.3 * whole_s))
                break
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                n_killed += 1
                # Nothing half written has the final name.
                assert not (folder / out).exists() or digest_of(folder / out) == want
        assert process.returncode == 0
        report = predict(out, "work", 3)
        assert report["was_finished"] == 1
        n_resumed += 1
        assert digest_of(folder / out) == want
        assert not (folder / "work").exists()
        path = folder / out
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert n_killed > N_KILL // 4
    assert n_resumed == N_KILL


def test_other_chunks_and_limits_give_the_same_bytes(predict, folder):
    predict("right", "-", 1)
    want = digest_of(folder / "right")
    for number, (chunks, limit) in enumerate([(3, 0), (4000 if predict.rows >= 4000 else 400, 0), (0, 512)]):
        predict(f"other{number}", "-", chunks, limit=limit)
        assert digest_of(folder / f"other{number}") == want
