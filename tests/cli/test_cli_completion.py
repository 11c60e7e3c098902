"""Completion offers what exists: every word is held against the table of `tessera help --json`.

Each shell is started once and answers all questions, one line of words each.
"""

import json
import shutil
import subprocess

import pytest

BASH = """
source <("$0" completion bash)
while IFS=$'\\t' read -r -a COMP_WORDS; do
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    [[ ${COMP_WORDS[COMP_CWORD]} == "''" ]] && COMP_WORDS[COMP_CWORD]=
    _tessera
    echo "${COMPREPLY[*]}"
done
"""

# Through the emulation that runs the function of bash, as the script's own first lines ask for.
ZSH = """
autoload -U +X compinit && compinit -D -u
"$0" completion zsh > script.zsh
source ./script.zsh
emulate ksh
while IFS=$'\\t' read -r -A COMP_WORDS; do
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    [[ ${COMP_WORDS[COMP_CWORD]} == "''" ]] && COMP_WORDS[COMP_CWORD]=
    _tessera
    echo "${COMPREPLY[*]}"
done
"""

FISH = """
$TESSERA completion fish | source
while read -l line
    echo (complete -C (string replace "''" "" -- $line) | string replace -r '\\t.*' '')
end
"""


class Shell:
    def __init__(self, name, tessera):
        if not shutil.which(name):
            pytest.skip(f"{name} is not installed")
        self.name = name
        self.tessera = tessera

    def ask(self, lines):
        """The words offered behind each line, a list of words of which the last is begun."""
        gap = " " if self.name == "fish" else "\t"
        text = "".join(gap.join(line[:-1] + [line[-1] or "''"]) + "\n" for line in lines)
        if self.name == "fish":
            words = ["fish", "--no-config", "-c", FISH]
        elif self.name == "zsh":
            words = ["zsh", "-f", "-c", ZSH, self.tessera.binary]
        else:
            words = ["bash", "--norc", "-c", BASH, self.tessera.binary]
        result = subprocess.run(
            words,
            input=text,
            env=self.tessera.environment | {"TESSERA": self.tessera.binary},
            cwd=self.tessera.directory,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        answers = [line.split() for line in result.stdout.split("\n")[:-1]]
        assert len(answers) == len(lines), result.stderr
        # zsh itself sorts out what does not begin as typed.
        pairs = zip(answers, lines, strict=True)
        return [[word for word in found if word.startswith(line[-1])] for found, line in pairs]


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request, tessera):
    return Shell(request.param, tessera)


@pytest.fixture
def table(tessera):
    return json.loads(tessera("help", "--json").stdout)["commands"]


def begin(command):
    return ["tessera", *command["name"].split()]


def test_first_words_and_verbs_are_those_there_are(shell, table):
    there = [command["name"].split() for command in table if command["is_present"]]
    groups = sorted({words[0] for words in there if len(words) > 1})
    lines = [["tessera", ""]] + [["tessera", group, ""] for group in groups]
    lines += [["tessera", "help", group, ""] for group in groups]
    first, *verbs = shell.ask(lines)
    assert sorted(set(first)) == sorted({words[0] for words in there} | {"profile"})
    for group, offered, helped in zip(groups, verbs, verbs[len(groups) :], strict=False):
        want = sorted(words[1] for words in there if words[0] == group)
        assert sorted(offered) == want
        assert sorted(helped) == want


def test_every_command_offers_its_own_options(shell, table):
    there = [command for command in table if command["is_present"]]
    answers = shell.ask([[*begin(command), "--"] for command in there])
    profiled = shell.ask([["tessera", "profile", *begin(there[0])[1:], "--"]])
    for command, offered in zip([*there, there[0]], [*answers, *profiled], strict=True):
        want = sorted("--" + option["name"] for option in command["options"])
        offered = [word.rstrip("=") for word in offered]
        assert sorted(set(offered)) == want, command["name"]


def test_options_offer_their_values_and_files_are_left_to_the_shell(shell, table):
    lines, wants = [], []
    for command in table:
        for option in command["options"]:
            values = option["choices"] or option["hints"]
            # Where nothing is to be offered fish lists files.
            if option["kind"] == "text" and (values or shell.name == "bash"):
                lines.append([*begin(command), "--" + option["name"], ""])
                wants.append(values)
    step = 1 if shell.name == "bash" else 7  # one table feeds all; the others are slow to ask
    lines, wants = lines[::step], wants[::step]
    for line, want, offered in zip(lines, wants, shell.ask(lines), strict=True):
        assert sorted(offered) == sorted(want), line


def test_operands(shell):
    systems = ["autoreject", "clifford", "decode", "xpcs"]
    shells = ["bash", "fish", "zsh"]
    answers = shell.ask(
        [
            ["tessera", "demo", ""],
            ["tessera", "cite", ""],
            ["tessera", "completion", ""],
            ["tessera", "decode", "simulate", "day"],
            ["tessera", "xpcs", "config", ""],
            ["tessera", "help", "exit"],
            ["tessera", "clifford", "table", "p"],
            ["tessera", "decode", "run", "x.npz", "--device", "cu"],
        ]
    )
    assert [sorted(words) for words in answers] == [
        systems,
        systems,
        shells,
        ["day-1d", "day-2d"],
        ["generate", "show", "validate"],
        ["exit-codes"],
        ["pga"],
        ["cuda"],
    ]


def test_bash_completes_behind_an_equals_sign_and_its_letters(tessera):
    answers = Shell("bash", tessera).ask(
        [
            ["tessera", "decode", "run", "x", "--mode", "=", "e"],
            ["tessera", "decode", "run", "x", "--mode", "=", ""],
            ["tessera", "decode", "run", "x", "--progress", "=", "j"],
            ["tessera", "decode", "run", "x", "--progress", "--no-p"],
            ["tessera", "decode", "run", "x", "-o", ""],
            ["tessera", "decode", "run", "--thr"],
            ["tessera", "device", ""],
        ]
    )
    assert answers[0] == ["exact"]
    assert "fast" in answers[1]
    assert answers[2] == ["json"]
    assert answers[3] == ["--no-progress"]
    assert answers[4] == []
    assert answers[5] == ["--threads"]
    assert "--benchmark" in answers[6]


def test_script_as_json(tessera):
    found = json.loads(tessera("completion", "fish", "--json").stdout)
    assert found["schema"] == "tessera.completion/1"
    assert found["text"] == tessera("completion", "fish").stdout
