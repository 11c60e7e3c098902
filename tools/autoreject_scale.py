"""Writes and reads epochs above 2 GiB: FIF in parts, ours and MNE's, and EEGLAB's set with a .fdt.

    python tools/autoreject_scale.py [--bytes 2.3e9] [--folder build/scale/autoreject]

`./dev scale autoreject` builds what this needs and runs it. Epochs of 64 channels are made once and
stay in the folder. Each row of the table says what was compared; exit status 1: one says no.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import mne
import numpy as np

from tessera.autoreject import read_epochs

ROOT = Path(__file__).resolve().parents[1]
COMMAND = os.environ.get("TESSERA_COMMAND", ROOT / "build/release/bin/tessera")
N_CHAN, N_TIME, RATE = 64, 4000, 1000.0
LIMIT = 2 << 30
MEMORY = "512M"
PERIOD_S = 0.1
LOOKED_AT = 7  # epochs that are compared, first and last among them
rows = []


def row(what, is_right, text=""):
    """Note and print a line of the table."""
    rows.append(is_right)
    print(f"{what:<52} {'yes' if is_right else 'NO':<4} {text}", flush=True)


def tessera(*words):
    """Run the command; seconds it took, and most memory that no file backs."""
    begin, peak = time.monotonic(), 0
    with subprocess.Popen([str(COMMAND), *map(str, words)]) as process:
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
            lines = [line for line in status.splitlines() if line.startswith("RssAnon")]
            peak = max([peak, *(int(line.split()[1]) << 10 for line in lines)])
            time.sleep(PERIOD_S)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return time.monotonic() - begin, peak


def make(path, n_epoch):
    """Make epochs of noise, alike to the bit whenever they are made."""
    if path.exists():
        return
    array = np.lib.format.open_memmap(
        path, mode="w+", dtype=np.float32, shape=(n_epoch, N_CHAN, N_TIME))
    for epoch in range(n_epoch):
        rng = np.random.default_rng(epoch)
        array[epoch] = rng.standard_normal((N_CHAN, N_TIME), np.float32) * np.float32(2e-5)
    array.flush()


def chosen(n_epoch):
    """Epochs to compare."""
    return sorted(set(np.linspace(0, n_epoch - 1, LOOKED_AT).round().astype(int).tolist()))


def differs(got, want):
    """Largest difference as a share of the largest sample."""
    return float(np.abs(got - want).max() / np.abs(want).max())


def parts_of(path):
    """Files of the parts in order."""
    found = [path]
    while True:
        following = path.with_name(path.name.replace(".fif", f"-{len(found)}.fif"))
        if not following.exists():
            return found
        found.append(following)


def check_parts(path, what):
    """Count parts; each below 2 GiB."""
    sizes = [part.stat().st_size for part in parts_of(path)]
    is_right = len(sizes) > 1 and max(sizes) < LIMIT
    row(f"{what}: parts, each below 2 GiB", is_right, f"{len(sizes)} of {max(sizes)} bytes at most")


def compare(epochs, source, what, read):
    """Compare some epochs with those they were made of."""
    n_epoch = len(source)
    worst = 0.0
    for k in chosen(n_epoch):
        worst = max(worst, differs(read(epochs, k), source[k].astype(float)))
    is_right = len(epochs) == n_epoch and worst < 1e-6  # singles, and EEGLAB's microvolts
    row(what, is_right, f"{len(epochs)} epochs, differ by {worst:.1g}")


def read_ours(epochs, k):
    """Read an epoch of ours."""
    return epochs.get_data(first=k, count=1)[0]


def read_mne(epochs, k):
    """Read an epoch of MNE's."""
    return epochs[k].get_data(copy=False)[0]


def main():
    """Make, write, read, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", type=float, default=2.3e9)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/scale/autoreject")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    mne.set_log_level("ERROR")
    n_epoch = int(given.bytes / (N_CHAN * N_TIME * 4)) + 1
    big, few = given.folder / f"big-{n_epoch}.npy", given.folder / "few.npy"
    make(big, n_epoch)
    make(few, 20)
    source = np.load(big, mmap_mode="r")
    places = mne.channels.make_standard_montage("biosemi64").get_positions()["ch_pos"]
    montage = given.folder / "electrodes.csv"
    lines = [f"{name},{x},{y},{z}" for name, (x, y, z) in places.items()]
    montage.write_text("\n".join(["name,x,y,z", *lines, ""]), encoding="ascii")
    common = ["--sampling-hz", RATE, "--montage", montage, "--overwrite"]
    model = given.folder / "model.json"
    tessera("autoreject", "fit", few, "-o", model, *common, "--consensus", "1",
            "--n-interpolate", "1", "--n-fold", "2", "--n-split", "2")
    for name in ("big-epo.fif", "big.set"):
        out = given.folder / name
        took, peak = tessera("autoreject", "transform", big, "-m", model, "-o", out, *common,
                             "--keep-bad", "--memory-limit", MEMORY)
        row(f"{name} written within {MEMORY}", peak < 512 << 20, f"{took:.1f} s, {peak} bytes")
    check_parts(given.folder / "big-epo.fif", "ours")
    check_reading(given.folder, source)
    sys.exit(0 if all(rows) else 1)


def check_reading(folder, source):
    """Read what we wrote with MNE and by ourselves, and what MNE writes."""
    ours, eeglab, theirs = folder / "big-epo.fif", folder / "big.set", folder / "mne-epo.fif"
    opened = mne.read_epochs(ours, preload=False, proj=False)
    row("MNE reads our parts", len(opened) == len(source), f"{len(opened)} epochs")
    same = max(differs(read_mne(opened, k), read_ours(read_epochs(ours), k))
               for k in chosen(len(source)))
    row("MNE and we read the same from them", same < 1e-12, f"differ by {same:.1g}")
    row("samples of the set are beside it", (folder / "big.fdt").stat().st_size > LIMIT)
    same = max(differs(read_ours(read_epochs(eeglab), k), read_ours(read_epochs(ours), k))
               for k in chosen(len(source)))
    row("the set holds what the parts hold", same < 1e-6, f"differ by {same:.1g}")
    info = opened.info
    array = mne.EpochsArray(np.asarray(source), info, tmin=opened.tmin)
    array.save(theirs, split_size="2GB", overwrite=True)
    del array
    check_parts(theirs, "MNE's")
    compare(read_epochs(theirs), source, "we read MNE's parts", read_ours)


if __name__ == "__main__":
    main()
