"""Scripts for batch systems: what they say, that they are safe, and what they do when run."""

import json
import os
import shutil
import signal
import stat
import subprocess
import time

import numpy as np
import pytest
from test_paths import write_bids

SYSTEMS = ["slurm", "pbs"]
FIT = ["xpcs", "fit", "run.txc2", "--gap", "2e6", "-o", "fit"]
DRAW = ["xpcs", "mcmc", "run.txc2", "--gap", "2e6", "-o", "draws"]
# Nothing of this may be run, split or expanded.
ODD = ["a b", "it's", 'say "x"', "$HOME", "$(touch hit)", "`touch hit`", "back\\slash", "end\\",
       "two\nlines", "\n#SBATCH --begin=never\n", "; touch hit", "~", "*", "{}", "-x=y", "#no",
       "!1", "ü\u2019", "", "%x\t&"]


@pytest.fixture
def run_file(tessera):
    tessera("xpcs", "simulate", "-o", "run.txc2", "--n-angle", "2", "--n-frame", "30", "-q")


def lint(text):
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    found = subprocess.run(["shellcheck", "-"], input=text, capture_output=True, text=True,
                           check=False)
    assert found.returncode == 0, text + found.stdout


def script(tessera, *words):
    result = tessera(*words)
    assert result.returncode == 0, result.stderr
    lint(result.stdout)
    return result.stdout


def directives(text):
    lines = text.splitlines()
    return [line.split(maxsplit=1)[1] for line in lines if line.startswith(("#SBATCH", "#PBS"))]


def test_what_a_slurm_script_asks_for(tessera, run_file):
    text = script(tessera, "slurm", "--time", "1-02:03:04", "--partition", "gpu", "--account", "us",
                  "--job-name", "mine", *FIT, "--device", "cuda:0", "--threads", "6",
                  "--memory-limit", "3G")
    mem = 3 * 1024 // 4 * 5 + 512
    assert directives(text) == [
        "--job-name=mine", "--nodes=1", "--ntasks=1", "--cpus-per-task=6", f"--mem={mem}M",
        "--time=1-02:03:04", "--gpus-per-task=1", "--partition=gpu", "--account=us",
        "--output=%x-%j.log", "--open-mode=append", "--signal=B:USR1@60", "--requeue",
    ]
    assert "--threads=" not in text and "--memory-limit=" not in text  # as the user said
    assert 'command+=(--checkpoint="$own" --resume)' in text


def test_what_a_pbs_script_asks_for(tessera, run_file):
    text = script(tessera, "pbs", "--time", "90", "--queue", "long", "--stop-before", "100",
                  "--cpus-per-task", "3", "--mem", "2G", *FIT)
    assert directives(text) == [
        "-N xpcs-fit", "-l select=1:ncpus=3:mem=2048mb", "-l walltime=01:30:00", "-j oe",
        "-q long", "-r y",
    ]
    for option in ("--time-limit=5300", "--threads=3", "--memory-limit=1638M", "--progress=plain"):
        assert option in text


def test_ranks(tessera, run_file, called):
    """Memory is of each rank, and the launcher stands in front of the command."""
    words = ["--mem", "2G", "--ntasks", "4", "--cpus-per-task", "3", *FIT]
    slurm = directives(script(tessera, "slurm", *words))
    assert slurm[1:4] == ["--ntasks=4", "--cpus-per-task=3", "--mem-per-cpu=683M"]
    slurm = directives(script(tessera, "slurm", "--nodes", "2", *words))
    assert slurm[1:4] == ["--ntasks=4", "--nodes=2", "--ntasks-per-node=2"]
    pbs = directives(script(tessera, "pbs", *words))
    assert pbs[1] == "-l select=4:ncpus=3:mpiprocs=1:mem=2048mb"
    pbs = directives(script(tessera, "pbs", "--nodes", "2", *words))
    assert pbs[1:3] == ["-l select=2:ncpus=6:mpiprocs=2:mem=4096mb", "-l place=scatter"]
    folder = tessera.directory / "bin"
    for name in ("srun", "mpirun"):
        make_program(folder, name, '#!/bin/bash\nprintf "%s\\0" "$@" >>words\n'
                                   'while [ "${1:0:1}" = - ]; do shift; done\n"$@"\n')
    make_program(folder, "tessera", '#!/bin/bash\nexit 0\n')
    got, calls = called(by_name(tessera, "slurm", *words), SLURM_CPUS_PER_TASK="3",
                        SLURM_PROCID="0")
    assert got[:4] == ["--mpi=pmix", "--kill-on-bad-exit=1", "--cpus-per-task=3", "bash"]
    assert got[7:10] == ["tessera", *FIT[:2]] and got[-1] == "--resume"
    assert calls == []
    got, _ = called(by_name(tessera, "pbs", *words), code=127)  # 4 is no program
    assert got[:4] == ["-n", "4", "tessera", "xpcs"]
    make_program(folder, "srun", "#!/bin/bash\nexit 0\n")  # which is what it did
    text = by_name(tessera, "slurm", *words)
    assert called(text, SLURM_CPUS_PER_TASK="3", code=75)[1] == ["scontrol requeue 7"]


@pytest.mark.parametrize(("device", "n"), [("cpu", 0), ("cuda", 1), ("cuda:all", 1), ("cuda:1", 2),
                                           ("cuda:0,cuda:1", 2), ("cuda:3,cuda:0", 4)])
def test_gpus_are_as_many_as_the_device_needs(tessera, run_file, device, n):
    """A job that has one GPU finds no cuda:1; what is said outright holds."""
    words = ["--mem", "1G", *FIT, "--device", device]
    found = [line for line in directives(script(tessera, "slurm", *words)) if "gpus" in line]
    assert found == [f"--gpus-per-task={n}"] * (n > 0)
    found = directives(script(tessera, "pbs", *words))[1]
    assert found.split("mb")[1] == (f":ngpus={n}" if n else "")
    assert "--gpus-per-task=8" in script(tessera, "slurm", "--gpus-per-task", "8", *words)


def test_ranks_of_a_machine_divide_the_gpus_of_a_list(tessera, run_file):
    words = ["--mem", "1G", "--ntasks", "4", "--nodes", "2", *FIT, "--device", "cuda:0,cuda:1"]
    found = [line for line in directives(script(tessera, "slurm", *words)) if "gpus" in line]
    assert found == ["--gpus-per-node=2"]
    assert directives(script(tessera, "pbs", *words))[1].endswith(":ngpus=2")
    found = directives(script(tessera, "slurm", "--gpus-per-task", "1", *words))
    assert "--gpus-per-task=1" in found
    assert "--gpus-per-node=2" not in found


@pytest.mark.parametrize("system", SYSTEMS)
def test_memory_follows_the_plan(tessera, tmp_path, system):
    """Larger tiles ask for more, and a limit of that much gives the same plan."""
    np.save(tmp_path / "x.npy", np.zeros((800, 64, 1000), np.float32, order="F"))
    asked = []
    for n_tile in (4, 800):
        words = ["autoreject", "ptp", "x.npy", "-o", "p.npy", "--tile-epochs", str(n_tile)]
        text = script(tessera, system, *words)
        asked.append(int(text.split("mem=")[1].split("M" if system == "slurm" else "mb")[0]))
        limit = text.split("--memory-limit=")[1].split()[0].rstrip(")")
        plans = [tessera(*words, "--dry-run", "--threads", "4", *more).stdout.split(";")[1]
                 for more in ([], ["--memory-limit", limit])]
        assert plans[0] == plans[1]
    assert asked[0] == 256 * 5 // 4 + 512
    assert asked[1] > asked[0]


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_the_user_said_of_checkpoints_stays(tessera, run_file, system):
    own = script(tessera, system, *FIT, "--checkpoint", "here")
    assert "command+=(--resume)" in own and "--checkpoint=" not in own
    both = script(tessera, system, *FIT, "--checkpoint", "here", "--resume")
    assert "command+=" not in both
    plain = script(tessera, system, "--mem", "1G", "xpcs", "simulate", "-o", "y.txc2")
    assert "--checkpoint" not in plain and "requeue" not in plain and "qsub -v" not in plain


def test_the_same_words_have_the_same_folder(tessera, run_file):
    def folder(*words):
        return script(tessera, "slurm", *words).split("\nwork=")[1].split("\n")[0]

    assert folder(*FIT) == folder("--time", "5", *FIT)
    assert folder(*FIT) != folder(*FIT, "--dt", "0.2")
    assert folder("--work", "/scratch/me", *FIT).startswith("/scratch/me/xpcs-fit-")


# ---- Any words ---------------------------------------------------------------------------------


def make_program(folder, name, text):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def called(tessera, tmp_path):
    """called(script, variables): what programs of the names in bin/ were called with."""
    make_program(tmp_path / "bin", "tessera", '#!/bin/bash\nprintf "%s\\0" "$@" >>words\n')
    make_program(tmp_path / "bin", "sleep", "#!/bin/bash\n[ \"$1\" = 300 ] || exec /bin/sleep $1\n")
    for name in ("sbatch", "qsub", "scontrol"):
        make_program(tmp_path / "bin", name, f'#!/bin/bash\necho "{name} $*" >>calls\necho 7\n')

    def run(text, *words, code=0, **variables):
        for name in ("words", "calls"):
            (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / "job.sh").write_text(text)
        environment = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "SLURM_JOB_ID": "7", **variables}
        result = subprocess.run(["bash", "job.sh", *words], cwd=tmp_path, env=environment,
                                capture_output=True, text=True, timeout=30, check=False)
        assert result.returncode == code, result.stderr
        spoken = tmp_path / "words"
        calls = tmp_path / "calls"
        return (spoken.read_text().split("\0")[:-1] if spoken.exists() else [],
                calls.read_text().splitlines() if calls.exists() else [])

    return run


def by_name(tessera, *words):
    """The script of a command that was called by its name alone."""
    result = subprocess.run(["tessera", *words], executable=tessera.binary, cwd=tessera.directory,
                            env=tessera.environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    lint(result.stdout)
    return result.stdout


@pytest.mark.parametrize("system", SYSTEMS)
def test_any_word_arrives_as_it_is(tessera, tmp_path, called, system):
    words = [w for odd in ODD for w in ("--no-warn", odd)]
    text = by_name(tessera, system, "--mem", "1G", "--work", "odd $(touch hit)'s\nwork",
                   "autoreject", "ptp", "x.npy", *words)
    got, _ = called(text)
    assert got[: 3 + len(words)] == ["autoreject", "ptp", "x.npy", *words]
    assert "--resume" in got
    assert not (tmp_path / "hit").exists()
    assert (tmp_path / "odd $(touch hit)'s\nwork").is_dir()


@pytest.mark.parametrize("system", SYSTEMS)
def test_any_value_arrives_as_it_is(tessera, tmp_path, called, system):
    values = [odd for odd in ODD if odd and "," not in odd]
    text = by_name(tessera, system, "--mem", "1G", "--each", ",".join(values), "autoreject", "ptp",
                   "in $x {}.npy", "-o", "{}/{}.npy")
    for task, value in enumerate(values):
        variables = ({"SLURM_ARRAY_TASK_ID": str(task)} if system == "slurm" else
                     {"PBS_ARRAY_INDEX": str(task), "TESSERA_STEP": "part"})
        got, _ = called(text, **variables)
        assert got[:5] == ["autoreject", "ptp", f"in $x {value}.npy", "-o", f"{value}/{value}.npy"]
        assert got[-2].endswith(f"/{task}")
    assert not (tmp_path / "hit").exists()


# ---- Going on ----------------------------------------------------------------------------------


def ends_with(tmp_path, code):
    make_program(tmp_path / "bin", "tessera", f"#!/bin/bash\nexit {code}\n")


@pytest.mark.parametrize(("code", "again"), [(0, 0), (1, 0), (71, 0), (75, 1), (143, 0)])
def test_slurm_goes_on_after_its_own_stop(tessera, tmp_path, called, code, again):
    """143 without the signal ahead of the limit is somebody's scancel, or SLURM's own business."""
    text = by_name(tessera, "slurm", "--mem", "1G", "--restarts", "2", *FIT)
    ends_with(tmp_path, code)
    calls = called(text, code=code, SLURM_RESTART_COUNT="1")[1]
    assert calls == ["scontrol requeue 7"] * again
    assert called(text, code=code, SLURM_RESTART_COUNT="2")[1] == []


@pytest.mark.parametrize(("number", "calls"), [(signal.SIGUSR1, "scontrol requeue 7\n"),
                                               (signal.SIGTERM, None)])
def test_slurm_tells_the_run_before_the_limit(tessera, tmp_path, called, number, calls):
    text = by_name(tessera, "slurm", "--mem", "1G", *FIT)
    make_program(tmp_path / "bin", "tessera",
                 "#!/bin/bash\ntrap 'sleep 0.3; exit 143' TERM\n: >began\n"
                 "for _ in {1..100}; do sleep 0.1; done\n")
    (tmp_path / "job.sh").write_text(text)
    environment = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "SLURM_JOB_ID": "7"}
    job = subprocess.Popen(["bash", "job.sh"], cwd=tmp_path, env=environment,
                           start_new_session=True, stderr=subprocess.DEVNULL)
    while not (tmp_path / "began").exists():
        time.sleep(0.02)
    if number == signal.SIGTERM:
        os.killpg(job.pid, number)  # as SLURM does: all processes of the job
    else:
        job.send_signal(number)
    assert job.wait(timeout=30) == 143
    made = tmp_path / "calls"
    assert (made.read_text() if made.exists() else None) == calls


def test_pbs_goes_on_after_its_own_stop(tessera, tmp_path, called):
    text = by_name(tessera, "pbs", "--mem", "1G", "--restarts", "2", *FIT)
    script_of = "tessera-work/" + text.split("\nwork=tessera-work/")[1].split("\n")[0] + "/job.sh"
    ends_with(tmp_path, 75)
    assert called(text, code=75)[1] == [f"qsub -v TESSERA_RESTART=1 {script_of}"]
    assert (tmp_path / script_of).read_text() == text
    assert called(text, code=75, TESSERA_RESTART="2")[1] == []
    ends_with(tmp_path, 143)
    assert called(text, code=143)[1] == []


# ---- Arrays ------------------------------------------------------------------------------------


def test_slurm_shards_and_what_joins_them(tessera, run_file, called):
    text = by_name(tessera, "slurm", "--shards", "3", "--at-a-time", "2", *DRAW)
    work = text.split("\nwork=")[1].split("\n")[0]
    assert not any(line.startswith("--array") for line in directives(text))
    assert called(text)[1] == [
        "sbatch --parsable --array=1-3%2 job.sh part",
        "sbatch --dependency=afterok:7 --kill-on-invalid-dep=yes --output=%x-%j.log job.sh join",
    ]
    got, _ = called(text, "part", SLURM_ARRAY_TASK_ID="2")
    assert {"--shard=2/3", f"--output={work}/parts", f"--checkpoint={work}/2"} <= set(got)
    got, _ = called(text, "join")
    assert {f"--combine={work}/parts", f"--checkpoint={work}/join"} <= set(got)
    assert not any(word.startswith(("--shard", "--output")) for word in got)


def test_pbs_shards_and_what_joins_them(tessera, tmp_path, run_file, called):
    text = by_name(tessera, "pbs", "--shards", "2", *DRAW)
    work = text.split("\nwork=")[1].split("\n")[0]
    for _ in range(2):  # submitted again, all is done again
        assert called(text)[1] == [f"qsub -v TESSERA_STEP=part -J 1-2 {work}/job.sh"]
        part = {"TESSERA_STEP": "part"}
        got, calls = called(text, PBS_ARRAY_INDEX="2", **part)
        assert ("--shard=2/2" in got, calls) == (True, [])
        got, calls = called(text, PBS_ARRAY_INDEX="2", **part)
        assert calls == []  # the same one twice is not two
        got, calls = called(text, TESSERA_TASK="1", TESSERA_RESTART="3", **part)
        assert ("--shard=1/2" in got, calls) == (True, [f"qsub -v TESSERA_STEP=join {work}/job.sh"])
        assert called(text, PBS_ARRAY_INDEX="1", **part)[1] == []  # joined once
        assert f"--combine={work}/parts" in called(text, TESSERA_STEP="join")[0]
    ends_with(tmp_path, 75)
    assert called(text, code=75, PBS_ARRAY_INDEX="1", **part)[1] == [
        f"qsub -v TESSERA_RESTART=1,TESSERA_STEP=part,TESSERA_TASK=1 {work}/job.sh"]


def test_shards_run_by_their_script_are_those_of_one_command(tessera, tmp_path, run_file, called):
    """The real command, the script's words: parts, then their join."""
    few = ["--mode", "static_isotropic", "--n-samples", "60", "--n-warmup", "60", "--n-chains", "1",
           "--min-ess", "0", "--max-rhat", "9"]
    text = script(tessera, "slurm", "--shards", "2", "--cpus-per-task", "1", *DRAW, *few)
    for task in ("1", "2"):
        called(text, "part", SLURM_ARRAY_TASK_ID=task)
    called(text, "join")
    for k in ("1/2", "2/2"):
        tessera(*DRAW[:-2], *few, "-o", "parts", "--shard", k)
    assert tessera(*DRAW[:-2], *few, "-o", "own", "--combine", "parts").returncode == 0
    name = "cmc/samples.npz"
    assert (tmp_path / "draws" / name).read_bytes() == (tmp_path / "own" / name).read_bytes()


def test_a_study_by_subjects(tessera, tmp_path, called):
    """As a whole: the same files, the group's among them."""
    names = [f"E{i}" for i in range(8)]
    for subject in ("01", "02", "odd"):
        write_bids(tmp_path / "bids", names, subject)
    angles = np.linspace(0.2, 5.9, len(names))
    (tmp_path / "head.csv").write_text("name,x,y,z\n" + "".join(
        f"{n},{0.08 * np.cos(a)},{0.08 * np.sin(a)},0.04\n"
        for n, a in zip(names, angles, strict=True)))
    study = ["autoreject", "study", "bids", "--montage", "head.csv", "--window", "0.16", "--n-fold",
             "2"]
    text = script(tessera, "slurm", "--per-subject", "--cpus-per-task", "1", *study, "-o", "parts")
    assert [c.split() for c in called(text)[1]][0][2] == "--array=0-2"
    assert "--dependency=afterany:7" in called(text)[1][1]
    (tmp_path / "job.sh").write_text(text)
    tasks = [subprocess.Popen(["bash", "job.sh", "part"], cwd=tmp_path,
                              env=tessera.environment | {"SLURM_ARRAY_TASK_ID": str(task)})
             for task in range(3)]  # at the same time
    assert [task.wait(timeout=60) for task in tasks] == [0, 0, 0]
    called(text, "join")
    assert tessera(*study, "-o", "whole", "--threads", "1").returncode == 0
    files = {str(p.relative_to(tmp_path / "whole")) for p in (tmp_path / "whole").rglob("*.*")}
    assert len([name for name in files if "sub-odd" in name]) > 0
    for name in files:
        if name.endswith((".npz", ".tsv")):
            whole, parts = (tmp_path / f / name for f in ("whole", "parts"))
            assert whole.read_bytes() == parts.read_bytes(), name


# ---- What is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 2, "needs COMMAND"),
        (["nothing"], 2, "'nothing' is no command that can be a job"),
        (["slurm", "xpcs", "fit"], 2, "no command that can be a job"),
        (["xpcs", "fit", "--gapp", "2"], 2, "did you mean '--gap'"),
        (["xpcs", "fit", "run.txc2", "--help"], 2, "--help is nothing for a job"),
        (["xpcs", "fit", "--", "-x"], 2, "./-name"),
        (["--time", "soon", *FIT], 2, "--time: 'soon' is no time limit"),
        (["--time", "-5", *FIT], 2, "no time limit"),
        (["--time", "0", *FIT], 2, "no time limit"),
        (["--job-name", "a\n#SBATCH --x", *FIT], 2, "--job-name: a name of"),
        (["--account", "", *FIT], 2, "--account: a name of"),
        (["--cpus-per-task", "2", *FIT, "--threads", "4"], 2, "less than the command's --threads"),
        (["--mem", "1G", *FIT, "--memory-limit", "1G"], 2, "--mem is not more than"),
        (["xpcs", "simulate", "-o", "x.txc2"], 2, "makes no plan"),
        (["xpcs", "fit", "none.txc2", "--gap", "1"], 66, "--mem BYTES does without it"),
        (["--shards", "4", *FIT], 2, "--shards is of 'xpcs mcmc'"),
        (["--shards", "4", *DRAW, "--shard", "1/4"], 2, "leave them out"),
        (["--shards", "1", *DRAW], 2, "one part is no array"),
        (["--ntasks", "2", "--shards", "4", *DRAW], 2, "--ntasks and --shards exclude"),
        (["--ntasks", "4", "--nodes", "3", *FIT], 2, "--ntasks 4 is no multiple of it"),
        (["--ntasks", "2", "autoreject", "ptp", "x.npy"], 2, "'autoreject ptp' works in one"),
        (["--shards", "4", "--each", "a", *DRAW], 2, "exclude each other"),
        (["--per-subject", *FIT], 2, "--per-subject is of 'autoreject study'"),
        (["--shards", "4", *DRAW, "--checkpoint", "w"], 2, "one folder for all tasks"),
        (["--each", "a,b", *FIT], 2, "no word of the command has {}"),
        (["--each", "a,,b", "xpcs", "fit", "{}"], 2, "value 2 of 'a,,b' is empty"),
        (["--each", "a,b", "xpcs", "fit", "{}", "-o", "x"], 2, "-o x: all tasks would write"),
        (["--each", "a,b", "xpcs", "fit", "{}"], 2, "-o is missing"),
    ],
)
def test_what_is_refused(tessera, run_file, system, words, code, says):
    result = tessera(system, *words)
    assert (result.returncode, result.stdout) == (code, ""), result.stderr
    assert says in result.stderr


def test_a_script_as_json(tessera, run_file):
    made = json.loads(tessera("pbs", "--json", *FIT).stdout)
    assert (made["schema"], made["path"]) == ("tessera.pbs/1", None)
    assert made["text"] == script(tessera, "pbs", *FIT)


def test_a_script_is_not_overwritten(tessera, tmp_path, run_file):
    words = ["slurm", "-o", "job.sh", *FIT]
    assert (tessera(*words).returncode, tessera(*words).returncode) == (0, 73)
    assert tessera("slurm", "--overwrite", *words[1:]).returncode == 0
    assert (tmp_path / "job.sh").read_text().startswith("#!/bin/bash\n")
