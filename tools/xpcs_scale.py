"""Fits xpcs data larger than memory, watches the process from outside, kills and resumes it.

    python tools/xpcs_scale.py [--points 1e8] [--source txc2|generated|hdf5] [--kills N]

`./dev scale xpcs` builds what this needs and runs it. Points are those of the full matrices. Data
are made once in --folder and stay there; generated data are made anew in every pass and lie
nowhere. The memory of the process is read from /proc ten times a second. Exit status 1: a row of
the table says no.
"""

import argparse
import json
import math
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PERIOD_S = 0.1
GAP = 2e6
TRUTH = {"sigma": 0.02, "dt": 0.1, "gap": GAP, "contrast_scatter": 0.05, "seed": 42}
TARGET_S = {"fit": 300, "save": 0.5, "term": 1.0}
TARGET_RSS = 512 << 20
TARGET_SPREAD = 0.02
TIMES = ("timestamp", "execution_time", "timing")


def shape_of(points):
    """Angles and frames (that at time zero included) of about so many points."""
    n_angle = 25 if points < 5e8 else 40
    return n_angle, round(math.sqrt(points / n_angle)) + 1


class Watched:
    """A process, its memory ten times a second, and what it says of its progress."""

    def __init__(self, words, log):
        self.begin = time.monotonic()
        self.process = subprocess.Popen(
            list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        self.rss = []  # (seconds, bytes)
        self.passes = []  # seconds at which a pass said something
        self.log = log
        self.threads = [threading.Thread(target=self.sample), threading.Thread(target=self.listen)]
        for thread in self.threads:
            thread.start()

    def sample(self):
        page = os.sysconf("SC_PAGESIZE")
        while self.process.poll() is None:
            try:
                words = Path(f"/proc/{self.process.pid}/statm").read_text().split()
            except OSError:
                break
            if words and int(words[1]) > 0:
                self.rss.append((time.monotonic() - self.begin, int(words[1]) * page))
            time.sleep(PERIOD_S)

    def listen(self):
        for line in self.process.stderr:
            if '"stage": "xpcs.pass"' in line:
                self.passes.append(time.monotonic() - self.begin)
            elif not line.startswith("{"):
                self.log.write(line)

    def wait(self, timeout=None):
        """False: it still runs."""
        try:
            _, status, usage = self._wait4(timeout)
        except TimeoutError:
            return False
        self.status = status
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.peak = usage.ru_maxrss * 1024
        self.seconds = time.monotonic() - self.begin
        for thread in self.threads:
            thread.join()
        self.log.flush()
        return True

    def wait_for_pass(self):
        """Until a pass over the data is at work. True: it has ended before."""
        while not self.passes:
            if self.wait(0.02):
                return True
        return False

    def _wait4(self, timeout):
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            pid, status, usage = os.wait4(self.process.pid, 0 if end is None else os.WNOHANG)
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                return pid, self.process.returncode, usage
            if time.monotonic() >= end:
                raise TimeoutError
            time.sleep(0.005)

    def steady(self):
        """Mean and coefficient of variation of memory while passes go over the data, after the
        first has begun to tell of itself."""
        if not self.passes:
            return 0, math.nan
        inside = [rss for t, rss in self.rss if self.passes[0] <= t <= self.passes[-1]]
        if len(inside) < 3:
            return 0, math.nan
        mean = statistics.fmean(inside)
        return mean, statistics.pstdev(inside) / mean


class Scale:
    def __init__(self, args):
        self.args = args
        self.folder = Path(args.folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.n_angle, self.n_frame = shape_of(args.points)
        self.log = (self.folder / "log.txt").open("a")
        self.rows = []
        self.often = 0 if args.points < 5e8 else 1  # seconds between checkpoints before a kill
        suffix = {"txc2": ".txc2", "hdf5": ".hdf", "generated": ""}[args.source]
        self.data = self.folder / f"xpcs_{self.n_angle}x{self.n_frame}{suffix}"

    def row(self, what, value, good=None):
        self.rows.append(good is not False)
        word = "" if good is None else "ok" if good else "NO"
        print(f"{what:<46} {value:<34} {word}", flush=True)

    def make_data(self):
        if self.args.source == "generated" or self.data.exists():
            return
        words = [self.args.command, "xpcs", "simulate", "-o", self.data, "-q", "--filter", "none",
                 "--dtype", "f64" if self.args.source == "hdf5" else "f32",
                 "--n-angle", self.n_angle, "--n-frame", self.n_frame]
        for name, value in TRUTH.items():
            words += ["--" + name.replace("_", "-"), value]
        watched = Watched(words, self.log)
        watched.wait()
        if watched.status != 0:
            sys.exit(f"simulate failed: see {self.log.name}")
        self.row("file made", f"{self.data.stat().st_size / 1e9:.2f} GB in {watched.seconds:.1f} s")

    def words(self, out, *more):
        """A fit whose numbers end up in the folder out."""
        shutil.rmtree(self.folder / out, ignore_errors=True)
        own = ["--memory-limit", self.args.memory_limit, "--sigma", TRUTH["sigma"]]
        if self.args.source == "generated":
            return [sys.executable, __file__, "--fit", self.n_angle, self.n_frame,
                    self.folder / out, *own, *more]
        return [self.args.command, "xpcs", "fit", self.data, "-o", self.folder / out, "--gap", GAP,
                "--no-surfaces", "--no-cache", "--progress=json", *own, *more]

    def numbers(self, out):
        found = json.loads((self.folder / out / "nlsq" / "parameters.json").read_text())
        return {key: value for key, value in found.items() if key not in TIMES}

    def metrics(self, out, part="run"):
        text = (self.folder / out / "nlsq" / "convergence_metrics.json").read_text()
        return json.loads(text)[part]

    def run(self, out, *more):
        watched = Watched(self.words(out, *more), self.log)
        watched.wait()
        if watched.status != 0:
            sys.exit(f"the fit failed with {watched.status}: see {self.log.name}")
        return watched

    def plain(self):
        watched = self.run("plain", "--threads", 2)
        mean, spread = watched.steady()
        self.plain_s = watched.seconds
        self.row("fit, two threads", f"{watched.seconds:.1f} s, {watched.cpu_s:.1f} s of CPU",
                 watched.seconds <= TARGET_S["fit"] * max(1, self.args.points / 1e8))
        self.row("largest resident memory", f"{watched.peak / 2**20:.0f} MiB",
                 watched.peak <= TARGET_RSS)
        self.row("memory during passes",
                 f"{mean / 2**20:.1f} MiB, varies by {100 * spread:.2f} %",
                 None if math.isnan(spread) else spread <= TARGET_SPREAD)

    def other_way(self):
        more = ["--threads", 3, "--strategy", "chunked", "--chunk-tiles", 176]
        watched = self.run("other", *more)
        self.row("chunked, three threads: the same bits", f"{watched.seconds:.1f} s",
                 self.numbers("other") == self.numbers("plain"))

    def checkpoint_cost(self):
        self.run("kept", "--threads", 2, *self.keep(5))
        run = self.metrics("kept")
        n = max(run["checkpoints"], 1)
        each = run["checkpoint_s"] / n
        self.row("checkpoints every 5 s: one save", f"{1e3 * each:.1f} ms ({run['checkpoints']})",
                 each < TARGET_S["save"])
        share = run["checkpoint_s"] / run["total_s"]
        self.row("checkpoints: share of the fit", f"{100 * share:.3f} %", share < 0.01)
        self.row("checkpoints: the same bits", "", self.numbers("kept") == self.numbers("plain"))

    def keep(self, every):
        return ["--checkpoint", self.folder / "work", "--checkpoint-every", every, "--resume"]

    def kills(self):
        rng = random.Random(7)
        n_killed = n_resumed = 0
        shutil.rmtree(self.folder / "work", ignore_errors=True)
        while n_killed < self.args.kills:
            ways = [[], ["--strategy", "streaming", "--chunk-tiles", 160],
                    ["--strategy", "chunked"]]
            more = [*self.keep(self.often), "--threads", rng.choice([1, 2, 3]), *rng.choice(ways)]
            watched = Watched(self.words("killed", *more), self.log)
            if watched.wait_for_pass() or watched.wait(rng.uniform(0, 0.3) * self.plain_s):
                if self.numbers("killed") != self.numbers("plain"):
                    break
                continue
            n_resumed += any((self.folder / "work").glob("*.ckpt"))
            watched.process.send_signal(signal.SIGKILL)
            watched.wait()
            n_killed += 1
        self.run("killed", *self.keep(self.often))
        self.row(f"killed {n_killed} times: the same bits", f"{n_resumed} left a checkpoint",
                 n_killed >= self.args.kills and self.numbers("killed") == self.numbers("plain"))

    def stop(self):
        """SIGTERM in the middle of a pass."""
        if self.args.source == "generated":
            return
        shutil.rmtree(self.folder / "work", ignore_errors=True)
        watched = Watched(self.words("stopped", *self.keep(1000)), self.log)
        watched.wait_for_pass()
        begin = time.monotonic()
        watched.process.send_signal(signal.SIGTERM)
        watched.wait()
        took = time.monotonic() - begin
        self.row("SIGTERM: exit 143", f"{watched.status} after {took:.2f} s",
                 watched.status == 143 and took < TARGET_S["term"])
        self.run("stopped", *self.keep(1000))
        self.row("SIGTERM, then resumed: the same bits",
                 "resumed" if self.metrics("stopped")["resumed"] else "begun afresh",
                 self.numbers("stopped") == self.numbers("plain"))

    def dry_run(self):
        """The plan's memory and time against those of the fit."""
        if self.args.source == "generated":
            return
        words = [str(word) for word in self.words("plan", "--dry-run", "--threads", 2)]
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        said = re.search(r"; ([0-9.]+) MiB of .* about ([0-9.e-]+) s a pass", text)
        run = self.metrics("plain")
        passes = self.metrics("plain", "convergence")["passes"]
        memory = float(said[1]) * 2**20 / run["peak_bytes"]
        self.row("plan: memory by what was taken", f"{memory:.3f}", 0.8 < memory < 1.25)
        # What follows the full passes in part is small against them.
        seconds = float(said[2]) * passes / (run["read_s"] + run["model_s"])
        self.row("plan: time of passes by what they took", f"{seconds:.2f}")

    def all(self):
        n = self.n_angle * (self.n_frame - 1) ** 2
        self.row("points", f"{n:.4g}: {self.n_angle} x {self.n_frame - 1}^2, {self.args.source}")
        self.make_data()
        self.plain()
        self.dry_run()
        self.other_way()
        self.checkpoint_cost()
        self.kills()
        self.stop()
        return 0 if all(self.rows) else 1


def fit_generated(argv):
    """The process that is watched where no file holds the data."""
    from tessera import xpcs

    parser = argparse.ArgumentParser()
    for name in ("n_angle", "n_frame"):
        parser.add_argument(name, type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--memory-limit")
    parser.add_argument("--sigma", type=float)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--strategy", default="auto")
    parser.add_argument("--chunk-tiles", type=int, default=0)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--checkpoint-every", type=float)
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args(argv)
    machine = {"memory_limit": args.memory_limit, "threads": args.threads}

    def tell(progress):
        print(f'{{"stage": "{progress.stage}"}}', file=sys.stderr, flush=True)

    data = xpcs.simulate(in_memory=False, n_angle=args.n_angle, n_frame=args.n_frame, **TRUTH,
                         **machine)
    keep = {name: getattr(args, name) for name in ("checkpoint", "checkpoint_every")}
    result = xpcs.fit(data, sigma=args.sigma, gap=GAP, strategy=args.strategy,
                      chunk_tiles=args.chunk_tiles, progress=tell, **machine,
                      **(keep if args.checkpoint else {}))
    result.save(args.out)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fit"]:
        fit_generated(sys.argv[2:])
        sys.exit(0)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--points", type=float, default=1e8)
    parser.add_argument("--source", choices=["txc2", "generated", "hdf5"], default="txc2")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--memory-limit", help="default: 512M, or less than an HDF5 file has")
    parser.add_argument("--folder", default=ROOT / "build" / "scale")
    parser.add_argument("--command", default=ROOT / "build" / "release" / "bin" / "tessera")
    args = parser.parse_args()
    if args.memory_limit is None:
        # An HDF5 file of f32 matrices has 4 bytes for a point.
        args.memory_limit = int(args.points) if args.source == "hdf5" else 512 << 20
    sys.exit(Scale(args).all())
