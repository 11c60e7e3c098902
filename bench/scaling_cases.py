"""What scaling.py runs: data, words of the command, and what a step is in a trace."""

import functools
import hashlib
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "python"))

# What of a fit tells when, how fast and by which words it was made.
FACTS = {"run", "command", "command_line", "timestamp", "execution_time"}


@dataclass
class Work:
    """Data of some size."""

    path: str
    amount: float  # points, rows, recordings


def split(spans):
    """Seconds and bytes of these spans that are communication."""
    found = {"wait": 0.0, "reduce": 0.0, "bytes": 0}
    for name, _, seconds, n_byte in spans:
        if name == "comm.wait":
            found["wait"] += seconds
        elif name in ("comm.exchange", "xpcs.join"):
            found["reduce"] += seconds
            found["bytes"] += n_byte if name == "comm.exchange" else 0
    return found


def whole(spans, begin, seconds):
    """The step from begin on."""
    inside = [span for span in spans if begin <= span[1] < begin + seconds]
    parts = split(inside)
    return parts | {"step": seconds, "compute": seconds - parts["wait"] - parts["reduce"]}


def digest_files(folder):
    found = hashlib.sha256()
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file():
            found.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return found.hexdigest()


class Case:
    def __init__(self, name, size):
        self.name = name
        self.size = size

    def prepare(self, run, share):
        """Work of this share of the whole, made when it is first asked for."""
        path, amount, words = self.data(share)
        if words and not (run.folder / path).exists():
            run([*words, "-o", path, "-q"], 0, 0)
        return Work(path, amount)


class Xpcs(Case):
    """23 matrices; half of each counts. One descent from a given start: passes and little else."""

    more = ("--sigma", "0.02", "--n-start", "1")

    def data(self, share):
        n_frame = round(2000 * math.sqrt(share * self.size))
        path = f"x{n_frame}.txc2"
        words = ["xpcs", "simulate", "--n-angle", 23, "--n-frame", n_frame, "--sigma", 0.02]
        return path, 23 * n_frame * (n_frame - 1) / 2, words

    def words(self, work):
        return ["xpcs", "fit", work.path, "--gap", "2e6", "--no-surfaces", *self.more, "-o",
                "fit"]  # fmt: skip

    def digest(self, folder):
        def strip(value):
            if isinstance(value, dict):
                return {k: strip(v) for k, v in value.items() if k not in FACTS}
            return [strip(v) for v in value] if isinstance(value, list) else value

        found = {}
        for path in sorted((folder / "fit").rglob("*.json")):
            found[path.name] = strip(json.loads(path.read_text()))
        return json.dumps(found, sort_keys=True)

    def steps(self, spans):
        """A pass: from its beginning until the sums of all ranks are together."""
        begins = [k for k, span in enumerate(spans) if span[0] == "xpcs.sweep"]
        steps = []
        for k, end in zip(begins, [*begins[1:], len(spans)], strict=True):
            _, begin, compute, _ = spans[k]
            parts = split(spans[k:end])
            parts |= {"compute": compute, "step": compute + parts["wait"] + parts["reduce"]}
            inside = [span for span in spans[k:end] if span[1] < begin + compute]
            read = sum(span[3] for span in inside if span[0] == "xpcs.pass")
            steps.append((read, parts))
        most = max(read for read, _ in steps)  # looks at part of the data are no steps
        return [parts for read, parts in steps if read > 0.9 * most]


class XpcsFit(Xpcs):
    """With the search for starts, noise and intervals: the whole of it is one step."""

    more = ("--sigma-mode", "estimate")

    def steps(self, spans):
        (fit,) = [span for span in spans if span[0] == "xpcs.fit"]
        return [whole(spans, fit[1], fit[2])]


class Decode(Case):
    """A part of a day: a step is the likelihood of all of its rows, by as many chunks as it takes.

    Either on a line, 200 places and 64 electrodes of 18,000 spikes that train, 2.4 spikes a row; or
    in a W-maze, 724 places and 22 electrodes of 20,000, 0.62 spikes a row.
    """

    n_row, n_place, n_electrode, n_train, per_row = 128000, 200, 64, 1170000, 2.4

    def data(self, share):
        n_row = max(16, round(self.n_row * share * self.size))
        words = ["decode", "simulate", "day-1d", "--time-bins", n_row, "--position-bins",
                 self.n_place, "--electrodes", self.n_electrode, "--encoding-spikes", self.n_train,
                 "--decoding-spikes", round(self.per_row * n_row)]  # fmt: skip
        return f"d{self.n_place}-{n_row}.npz", n_row, words

    def words(self, work):
        return ["decode", "run", work.path, "-o", "decoded"]

    def digest(self, folder):
        return digest_files(folder / "decoded")

    def steps(self, spans):
        chunks = [whole(spans, s[1], s[2]) for s in spans if s[0] == "decode.likelihood"]
        return [{key: sum(chunk[key] for chunk in chunks) for key in chunks[0]}]


class DecodeShort(Decode):
    """A quarter of it, where what does not depend on the rows weighs more."""

    n_row = 32000


class DecodeMaze(Decode):
    """724 places: more bytes for less work."""

    n_row, n_place, n_electrode, n_train, per_row = 32000, 724, 22, 440000, 0.62


@functools.cache
def recording(seed):
    from study_trees import samples

    return samples(seed, n_epoch=4000)


class Study(Case):
    """Recordings of a BIDS tree, 14 channels and 4,000 windows each; the study is one step."""

    def data(self, share):
        n = max(1, round(32 * share * self.size))
        return f"bids{n}", n, None

    def prepare(self, run, share):
        from study_trees import write_brainvision, write_tables

        work = super().prepare(run, share)
        root = run.folder / work.path
        for k in range(0 if root.exists() else int(work.amount)):
            subject = f"sub-{k + 1:02d}"
            stem = f"{subject}_task-odd"
            folder = root / subject / "eeg"
            write_brainvision(folder / f"{stem}_eeg.vhdr", recording(k % 4))
            write_tables(folder, stem, subject, "")
        text = '{"Name": "made up", "BIDSVersion": "1.9.0"}'
        (root / "dataset_description.json").write_text(text)
        return work

    def words(self, work):
        return ["autoreject", "study", work.path, "--window", "0.4", "-o", "out"]

    def digest(self, folder):
        return digest_files(folder / "out")

    def steps(self, spans):
        begin = spans[0][1]
        return [whole(spans, begin, max(s[1] + s[2] for s in spans) - begin)]


def make(size):
    """All cases, at this share of their usual size."""
    return [
        Xpcs("xpcs-pass", size),
        XpcsFit("xpcs-fit", size),
        Decode("decode-likelihood", size),
        DecodeShort("decode-likelihood-short", size),
        DecodeMaze("decode-maze", size),
        Study("study", size),
    ]


def time_exchange(run, cores):
    """Seconds of a gather by ranks and bytes, by comm_speed, beside the command."""
    program = Path(run.command).with_name("comm_speed")
    found = []
    n_rank = 2
    while program.exists() and n_rank <= cores:
        found.append(json.loads(run.launch(n_rank, [str(program)])))
        n_rank *= 2
    return found
