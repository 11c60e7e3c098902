"""Every option of every command, from the table: it parses, is explained, and refuses nonsense."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("TESSERA_COMMAND", ROOT / "build/release/bin/tessera")).resolve()
TABLE = (
    json.loads(subprocess.run([BINARY, "help", "--json"], capture_output=True, check=True).stdout)[
        "commands"
    ]
    if BINARY.exists()
    else []
)
COMMANDS = {command["name"]: command for command in TABLE if command["is_present"]}
NUMBERS = ("N", "X", "BYTES")


# Options a command cannot do without, which it asks for before it reads others.
NEEDED = {
    "xpcs simulate": ["-o", "x.hdf"],
    "xpcs fit": ["absent.hdf"],
}


def operands(command):
    """As many as the command needs, of files that are not there."""
    choices = {"completion": "bash", "xpcs config": "show"}
    return [
        choices.get(command["name"], "absent.npy") for word in command["operands"] if word["needed"]
    ]


def line(command, *options):
    """The command with these options, which a command that passes words on wants first."""
    words = [*operands(command), *NEEDED.get(command["name"], [])]
    more = [*options, *words] if command["passes_words"] else [*words, *options]
    return [*command["name"].split(), *more]


def with_value(option):
    name = "--" + option["name"]
    if option["kind"] in ("flag", "count"):
        return name
    values = [value.rstrip(":") for value in option["choices"]] or option["hints"]
    kinds = {"N": "1", "X": "1", "BYTES": "64M", "yes|no": "yes"}
    return f"{name}={values[0] if values else kinds.get(option['value'], 'word')}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_parses_and_is_in_the_help(tessera, name):
    command = COMMANDS[name]
    lines = [with_value(option) for option in command["options"] if option["name"] != "help"]
    result = tessera(*name.split(), *lines, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    flat = " ".join(result.stdout.split())
    for option in command["options"]:
        assert "--" + option["name"] in flat
        assert " ".join(option["help"].split()) in flat


@pytest.mark.parametrize("name", COMMANDS)
def test_nonsense_is_a_usage_error_that_names_the_option(tessera, name):
    command = COMMANDS[name]
    for option in command["options"]:
        spelled = "--" + option["name"]
        if option["kind"] in ("flag", "count"):
            word = f"{spelled}=5"
        elif option["choices"] or option["value"] in NUMBERS or option["value"] == "yes|no":
            word = f"{spelled}=nonsense"
        else:
            continue
        result = tessera(*line(command, word))
        assert (result.returncode, spelled in result.stderr) == (2, True), (word, result)
        assert result.stdout == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_missing_values_and_slips_of_the_pen(tessera, name):
    command = COMMANDS[name]
    texts = [option for option in command["options"] if option["kind"] == "text"]
    for option in texts[:1]:
        words = [] if command["passes_words"] else operands(command)
        result = tessera(*name.split(), *words, "--" + option["name"])
        assert result.returncode == 2
        assert f"'--{option['name']}' needs a value" in result.stderr
    result = tessera(*line(command, "--verbos"))
    assert (result.returncode, "did you mean '--verbose'" in result.stderr) == (2, True)


def test_every_command_that_prints_has_json():
    without = {
        name
        for name, command in COMMANDS.items()
        if "json" not in {option["name"] for option in command["options"]}
    }
    assert without <= {"demo"}
