"""Watches a folder while files appear, grow, break, move and vanish, and the watch is killed.

    python tools/xpcs_soak.py [--minutes 60] [--every 2] [--command build/release/bin/tessera]

`./dev soak xpcs` builds what this needs and runs it. Every content a file was closed with is noted
by inode, size and time; at the end each that is there must have a row of its own, and so must those
that vanished when the watch had come to files --grace seconds younger; no content has two. Exit
status 1: something was missed or fitted twice.
"""

import argparse
import csv
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODE = ["--mode", "static_anisotropic", "--sigma-mode", "estimate", "--no-surfaces"]


@dataclass
class Content:
    """What a file held when it was closed."""

    name: str
    closed: float
    gone: float = float("inf")
    is_whole: bool = True


@dataclass
class Soak:
    """A watch, the files it is given, and what is known of them."""

    command: str
    folder: Path
    random: random.Random
    contents: dict = field(default_factory=dict)  # (inode, size, mtime_ns): Content
    names: dict = field(default_factory=dict)  # name: its key, None while it is incomplete
    told: list = field(default_factory=list)  # (time, row) of stdout
    counts: dict = field(default_factory=dict)
    rss: list = field(default_factory=list)
    minutes: float = 0
    done: dict = field(default_factory=dict)  # key: when its last row was made
    process: subprocess.Popen = None

    def __post_init__(self):
        self.inbox = self.folder / "in"
        self.inbox.mkdir(parents=True)
        self.bytes = []
        for seed in range(8):
            path = self.folder / f"template{seed}.hdf"
            words = ["xpcs", "simulate", "-o", path, "--n-angle", "3", "--n-frame", "60", "-q"]
            subprocess.run([self.command, *words, *MODE[:2], "--seed", str(seed)], check=True)
            self.bytes.append(path.read_bytes())

    def start(self):
        words = [self.command, "xpcs", "watch", self.inbox, "-o", self.folder / "live", *MODE]
        with open(self.folder / "stderr", "ab") as errors:
            self.process = subprocess.Popen(
                [*words, "--patience", "10", "--json"], stdout=subprocess.PIPE, stderr=errors
            )
        threading.Thread(target=self.listen, args=(self.process,), daemon=True).start()

    def listen(self, process):
        for line in process.stdout:
            self.told.append((time.time(), json.loads(line)))

    def stop(self, number):
        self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        assert code in (-signal.SIGKILL, 128 + number), f"the watch ended with {code}"

    # ---- what happens to files -----------------------------------------------------------------

    def closed(self, name, is_whole=True):
        """Notes what the file of this name is now."""
        self.lost(name)
        there = (self.inbox / name).stat()
        key = (there.st_ino, there.st_size, there.st_mtime_ns)
        self.contents[key] = Content(name, time.time(), is_whole=is_whole)
        self.names[name] = key

    def lost(self, name):
        key = self.names.pop(name, None)
        if key:
            self.contents[key].gone = time.time()

    def new_name(self):
        return f"scan_{len(self.contents):06d}_{self.random.randrange(1000)}.hdf"

    def any_name(self):
        return self.random.choice(sorted(self.names)) if self.names else None

    def act_copy(self):
        name = self.new_name()
        (self.inbox / name).write_bytes(self.random.choice(self.bytes))
        self.closed(name)

    def act_slow(self):
        name, data = self.new_name(), self.random.choice(self.bytes)
        with open(self.inbox / name, "wb") as file:
            for at in range(0, len(data), len(data) // 4 + 1):
                file.write(data[at : at + len(data) // 4 + 1])
                file.flush()
                time.sleep(self.random.uniform(0, 0.8))
        self.closed(name)

    def act_hidden_then_moved(self):
        name = self.new_name()
        (self.inbox / f".{name}.part").write_bytes(self.random.choice(self.bytes))
        os.rename(self.inbox / f".{name}.part", self.inbox / name)
        self.closed(name)

    def act_truncated(self):
        name, data = self.new_name(), self.random.choice(self.bytes)
        (self.inbox / name).write_bytes(data[: self.random.randrange(len(data))])
        self.closed(name, is_whole=False)

    def act_completed(self):
        broken = [n for n, k in self.names.items() if not self.contents[k].is_whole]
        if broken:
            name = self.random.choice(sorted(broken))
            (self.inbox / name).write_bytes(self.random.choice(self.bytes))
            self.closed(name)

    def act_rename(self):
        name = self.any_name()
        if name:
            other, key = self.new_name() + "x.hdf", self.names.pop(name)
            os.rename(self.inbox / name, self.inbox / other)
            self.names[other] = key

    def act_delete(self):
        name = self.any_name()
        if name:
            self.lost(name)
            (self.inbox / name).unlink()

    def act_rewrite(self):
        name = self.any_name()
        if name:
            (self.inbox / name).write_bytes(self.random.choice(self.bytes))
            self.closed(name)

    def act_replace(self):
        name = self.any_name()
        if name:
            (self.inbox / ".new").write_bytes(self.random.choice(self.bytes))
            os.rename(self.inbox / ".new", self.inbox / name)
            self.closed(name)

    def act_kill(self):
        self.stop(signal.SIGKILL)
        self.start()

    def act_terminate(self):
        self.stop(signal.SIGTERM)
        self.start()

    WEIGHTS = {
        "copy": 30, "slow": 10, "hidden_then_moved": 15, "truncated": 6, "completed": 5,
        "rename": 6, "delete": 8, "rewrite": 6, "replace": 6, "kill": 2, "terminate": 1,
    }  # fmt: skip

    def run(self, minutes, every):
        self.minutes = minutes
        end = time.time() + 60 * minutes
        self.start()
        while time.time() < end:
            what = self.random.choices(list(self.WEIGHTS), list(self.WEIGHTS.values()))[0]
            getattr(self, f"act_{what}")()
            self.counts[what] = self.counts.get(what, 0) + 1
            time.sleep(self.random.expovariate(1 / every))
            assert self.process.poll() is None, "the watch ended by itself"
            status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
            self.rss.append(int(status.split("VmRSS:")[1].split()[0]) * 1024)
        self.catch_up(end)
        self.stop(signal.SIGTERM)

    def catch_up(self, end):
        """Gives a busy machine as long again as the run took to fit what is left."""
        limit = time.time() + 30 + (time.time() - end) + 60 * self.minutes
        while self.missed(0) and time.time() < limit:
            time.sleep(1)

    # ---- what came of it -----------------------------------------------------------------------

    def rows(self):
        text = (self.folder / "live/watch.csv").read_text(encoding="utf-8")
        whole = text[: text.rindex("\n") + 1]  # a row may be on its way
        return list(csv.DictReader(x for x in whole.splitlines() if not x.startswith("#")))

    def fitted(self):
        """The states of every content that has rows."""
        found = {}
        for row in self.rows():
            seconds, part = row["mtime"].split(".")
            key = (int(row["inode"]), int(row["size"]), int(seconds) * 10**9 + int(part))
            found.setdefault(key, []).append(row["status"])
            self.done[key] = datetime.fromisoformat(row["fitted_at"]).timestamp()
        return found

    def passed_by(self, content, grace):
        """Whether the watch came to later files, and this one still lay there."""
        later = (k for k, c in self.contents.items() if c.closed > content.closed + grace)
        return any(self.done.get(k, content.gone) < content.gone - 1 for k in later)

    def missed(self, grace):
        """Whole files without a row that are there, or were passed by before they vanished."""
        fitted = self.fitted()
        return [
            c.name
            for k, c in self.contents.items()
            if c.is_whole
            and "fitted" not in fitted.get(k, [])
            and (k in self.names.values() or (grace and self.passed_by(c, grace)))
        ]

    def judge(self, grace):
        fitted = self.fitted()
        missed = self.missed(grace)
        twice = [k for k, v in fitted.items() if v.count("fitted") > 1]
        first = {}
        for at, row in self.told:
            first.setdefault(row["file"], at) if row["status"] == "fitted" else None
        waits = sorted(
            first[c.name] - c.closed for c in self.contents.values()
            if c.is_whole and c.name in first and first[c.name] > c.closed
        )  # fmt: skip
        print(f"actions        {self.counts}")
        print(f"contents       {len(self.contents)}, rows {sum(map(len, fitted.values()))}")
        print(f"missed         {len(missed)} {missed[:5]}")
        print(f"fitted twice   {len(twice)} {twice[:5]}")
        print(
            f"closing to row median {statistics.median(waits):.2f} s, "
            f"95 % within {waits[int(0.95 * len(waits))]:.2f} s, longest {waits[-1]:.2f} s"
        )
        print(f"memory         {self.rss[0] >> 20} MiB at first, {max(self.rss) >> 20} MiB at most")
        return not missed and not twice


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=2, help="seconds from action to action")
    parser.add_argument("--grace", type=float, default=20, help="how much younger, in seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", default=str(ROOT / "build/release/bin/tessera"))
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="xpcs-soak-"))
    soak = Soak(os.path.abspath(args.command), folder, random.Random(args.seed))
    try:
        soak.run(args.minutes, args.every)
        is_right = soak.judge(args.grace)
    finally:
        if soak.process and soak.process.poll() is None:
            soak.process.kill()
    if is_right:
        shutil.rmtree(folder)
    else:
        print(f"kept in {folder}")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
