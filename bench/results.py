"""Results of benchmarks as files: bench/results/SYSTEM-MACHINE-DATE.json, one per run.

A file says on which machine, when, of which commit and by which command its rows were measured;
bench/tables.py makes the pages of them. Files are added and replaced by newer ones, not edited.
"""

import json
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "results"
SCHEMA = "tessera.bench-result/1"
NEEDED = ("system", "machine", "date", "commit", "command", "rows")


def load(path):
    """One result file, or an error that names it and what it lacks."""
    result = json.loads(path.read_text())
    if result.get("schema") != SCHEMA:
        raise ValueError(f"{path}: schema {result.get('schema')!r} instead of {SCHEMA!r}")
    missing = [key for key in NEEDED if not result.get(key)]
    if missing:
        raise ValueError(f"{path}: without {', '.join(missing)}")
    begin = f"{result['system']}-{result['machine']['id']}-{result['date']}"
    if not re.fullmatch(re.escape(begin) + r"(-\d+)?", path.stem):
        raise ValueError(f"{path}: holds {begin}, which the file's name does not say")
    return result


def load_all(folder=FOLDER):
    """Every result, the oldest first, so that a newer row of a case replaces an older one."""
    def order(path):
        date, number = re.search(r"(\d{4}-\d\d-\d\d)(?:-(\d+))?$", path.stem).groups(default="1")
        return date, int(number), path.stem

    return [load(path) for path in sorted(folder.glob("*.json"), key=order)]


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def cpu_name():
    """What the processor calls itself; on Arm, where it gives numbers, the architecture."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        found = None
    return re.sub(r"\((R|TM)\)", "", found[1]).strip() if found else platform.machine()


def gpu_name():
    try:
        answer = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
                                check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.splitlines()[0].strip() if answer.stdout.strip() else None


def this_machine(cores, with_gpu, name=None):
    """The machine of a result. A GPU is named where rows were measured on it."""
    gpu = gpu_name() if with_gpu else None
    name = name or gpu or f"{cpu_name()}, {cores} core{'s' * (cores != 1)}"
    return {"id": slug(name), "name": name, "architecture": platform.machine(), "cores": cores,
            "gpu": gpu}


def this_commit(root=HERE.parent):
    """The commit, with + where the tree differs from it; 'unknown' in a source archive."""
    def git(*words):
        return subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True,
                              text=True).stdout.strip()
    try:
        is_changed = bool(git("status", "--porcelain", "--untracked-files=no"))
        return git("rev-parse", "--short", "HEAD") + "+" * is_changed
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def save(system, machine, command, ceilings, rows, folder=FOLDER, notes=()):
    """Write rows of one system as a new file; a second one of a day gets a number."""
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    stem = f"{system}-{machine['id']}-{date}"
    taken = [path.stem for path in folder.glob(f"{stem}*.json")]
    path = folder / (f"{stem}.json" if stem not in taken else f"{stem}-{len(taken) + 1}.json")
    result = {"schema": SCHEMA, "system": system, "machine": machine, "date": date,
              "commit": this_commit(), "command": command, "ceilings": ceilings,
              "notes": list(notes), "rows": rows}
    folder.mkdir(exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    temporary.rename(path)
    return path
