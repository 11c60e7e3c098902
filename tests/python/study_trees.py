"""BIDS trees of made-up recordings, written by hand: four formats, with their tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

HZ = 100.0
N_TIME = 40  # samples from one event to the next
NAMES = ["Fp1", "Fp2", "F3", "Fz", "F4", "C3", "Cz", "C4", "P3", "Pz", "P4", "O1", "Oz", "O2"]
STEP = 0.1e-6  # V of one number in the files: what is read is what was meant


def places() -> Floats:
    """Return directions of the electrodes, on a cap."""
    k = np.arange(len(NAMES))
    z = 1 - 1.1 * (k + 0.5) / len(NAMES)
    r = np.sqrt(1 - z * z)
    angle = 2.399963229728653 * k
    return 0.09 * np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)


def samples(seed: int, n_epoch: int = 24, scale: float = 1.0, bad: float = 0.04) -> Floats:
    """Return a recording [channel][sample]: smooth fields, noise, artifacts in single epochs."""
    rng = np.random.default_rng(seed)
    n = (n_epoch + 1) * N_TIME
    mix = np.exp(3 * (places() @ places()[:5].T / 0.0081 - 1))
    x = scale * (1e-5 * mix @ rng.standard_normal((5, n)) + 3e-6 * rng.standard_normal((14, n)))
    for e in range(n_epoch):
        part = slice(e * N_TIME + 10, e * N_TIME + 30)
        x[rng.random(14) < bad, part] += scale * 1.5e-4
        if rng.random() < 0.1:
            x[:, part] *= 6
    return STEP * np.round(x / STEP)


def write_brainvision(path: Path, x: Floats) -> None:
    """Write .vhdr, .vmrk and .eeg."""
    head = [
        "Brain Vision Data Exchange Header File Version 1.0",
        "[Common Infos]",
        "Codepage=UTF-8",
        f"DataFile={path.stem}.eeg",
        f"MarkerFile={path.stem}.vmrk",
        "DataFormat=BINARY",
        "DataOrientation=MULTIPLEXED",
        f"NumberOfChannels={len(x)}",
        f"SamplingInterval={1e6 / HZ:g}",
        "[Binary Infos]",
        "BinaryFormat=INT_16",
        "[Channel Infos]",
        *(f"Ch{i + 1}={name},,{STEP * 1e6:g},µV" for i, name in enumerate(NAMES)),
    ]
    marks = [
        "Brain Vision Data Exchange Marker File, Version 1.0",
        "[Common Infos]",
        "Codepage=UTF-8",
        f"DataFile={path.stem}.eeg",
        "[Marker Infos]",
        "Mk1=New Segment,,1,1,0,20200101000000000000",
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(head) + "\n", encoding="utf-8")
    path.with_suffix(".vmrk").write_text("\n".join(marks) + "\n", encoding="utf-8")
    np.round(x.T / STEP).astype("<i2").tofile(path.with_suffix(".eeg"))


def _cells(width: int, values: list[Any]) -> bytes:
    return b"".join(str(value).encode("ascii").ljust(width) for value in values)


def _european(version: bytes, unit: str, most: float, digital: int, x: Floats) -> bytes:
    """Return the header of EDF and BDF, in records of a second."""
    n = len(x)
    per_record = int(HZ)
    head = version + _cells(80, ["X X X X", "Startdate 01-JAN-2020 X X X"])
    head += _cells(8, ["01.01.20", "00.00.00", 256 * (n + 1)]) + _cells(44, [""])
    head += _cells(8, [x.shape[1] // per_record, 1]) + _cells(4, [n])
    head += _cells(16, NAMES) + _cells(80, [""] * n) + _cells(8, [unit] * n)
    head += _cells(8, [-most] * n) + _cells(8, [most] * n)
    head += _cells(8, [-digital] * n) + _cells(8, [digital] * n)
    return head + _cells(80, [""] * n) + _cells(8, [per_record] * n) + _cells(32, [""] * n)


def write_edf(path: Path, x: Floats, unit: str = "uV") -> None:
    """Write EDF; the numbers are of microvolts, whatever is said of them."""
    numbers = np.round(x / STEP).astype("<i2")
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.write(_european(b"0       ", unit, 3276.7, 32767, x))
        for k in range(0, x.shape[1] // int(HZ) * int(HZ), int(HZ)):
            numbers[:, k : k + int(HZ)].tofile(file)


def write_bdf(path: Path, x: Floats) -> None:
    """Write BDF, 24 bits a sample."""
    numbers = np.round(x / STEP).astype("<i4").view("u1").reshape(*x.shape, 4)[:, :, :3]
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.write(_european(b"\xffBIOSEMI", "uV", 838860, 8388600, x))
        for k in range(0, x.shape[1] // int(HZ) * int(HZ), int(HZ)):
            file.write(numbers[:, k : k + int(HZ)].tobytes())


def write_eeglab(path: Path, x: Floats, *, has_fdt: bool) -> None:
    """Write .set, with the samples inside or in .fdt."""
    from scipy.io import savemat

    columns = [(name, "O") for name in ("labels", "type", "X", "Y", "Z")]
    where = [
        (name, "EEG", *(1000 * float(v) for v in (place[1], -place[0], place[2])))
        for name, place in zip(NAMES, places(), strict=True)
    ]
    numbers = (1e6 * x).astype("<f4")
    path.parent.mkdir(parents=True, exist_ok=True)
    if has_fdt:
        numbers.T.tofile(path.with_suffix(".fdt"))
    nothing = np.zeros((0, 0))
    fields = {
        "setname": "made up", "nbchan": 14.0, "pnts": float(x.shape[1]), "trials": 1.0,
        "srate": HZ, "xmin": 0.0, "xmax": (x.shape[1] - 1) / HZ,
        "chanlocs": np.array(where, dtype=columns), "chaninfo": {"plotrad": 0.5},
        "data": path.with_suffix(".fdt").name if has_fdt else numbers,
        **dict.fromkeys(("event", "epoch", "icawinv", "icasphere", "icaweights", "icaact"),
                        nothing),
    }
    savemat(path, {"EEG": fields}, appendmat=False, oned_as="row")


def events_table(n_epoch: int = 24) -> str:
    """Return an events.tsv: go and stop in turn."""
    rows = [f"{(e * N_TIME + 5) / HZ:.2f}\t0\t{('go', 'stop')[e % 2]}\n" for e in range(n_epoch)]
    return "onset\tduration\ttrial_type\n" + "".join(rows)


def channels_table(bad: str = "") -> str:
    """Return a channels.tsv."""
    rows = [f"{name}\tEEG\tµV\t{'bad' if name == bad else 'good'}\n" for name in NAMES]
    return "name\ttype\tunits\tstatus\n" + "".join(rows)


def write_tables(folder: Path, stem: str, electrodes: str, bad: str = "") -> None:
    """Write events, channels, electrodes and their system."""
    rows = [
        "\t".join([name, *(f"{v:.7f}" for v in place)]) + "\n"
        for name, place in zip(NAMES, places(), strict=True)
    ]
    (folder / f"{stem}_events.tsv").write_text(events_table())
    (folder / f"{stem}_channels.tsv").write_text(channels_table(bad), encoding="utf-8")
    (folder / f"{electrodes}_space-CapTrak_electrodes.tsv").write_text(
        "name\tx\ty\tz\n" + "".join(rows)
    )
    (folder / f"{electrodes}_space-CapTrak_coordsystem.json").write_text(
        '{"EEGCoordinateSystem": "CapTrak", "EEGCoordinateUnits": "m"}'
    )


def tree(root: Path, n_subject: int = 3, seed: int = 0) -> Path:
    """Write a tree of BrainVision recordings; the second subject has a bad channel."""
    root.mkdir(parents=True)
    (root / "dataset_description.json").write_text('{"Name": "made up", "BIDSVersion": "1.9.0"}')
    for k in range(n_subject):
        subject = f"sub-{k + 1:02d}"
        folder = root / subject / "eeg"
        stem = f"{subject}_task-odd"
        write_brainvision(folder / f"{stem}_eeg.vhdr", samples(100 * seed + k))
        write_tables(folder, stem, subject, "F3" if k == 1 else "")
    return root
