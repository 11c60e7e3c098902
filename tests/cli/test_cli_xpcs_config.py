"""tessera xpcs config: templates, checks and what is in force."""

import json
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "xpcs"

GOOD = """\
analysis_mode: laminar_flow
analyzer_parameters:
  dt: 0.1
  geometry: {stator_rotor_gap: 2000000}
experimental_data: {file_path: run42.hdf}
optimization:
  nlsq: {xtol: 1e-8, loss: huber, workflow: auto}
"""

WRONG = {
    "unknown_key": "optimization:\n  nlsq:\n    tolerence: 1.0e-8\n",
    "bad_value": "analyzer_parameters: {dt: -1}\n",
    "no_gap": "analysis_mode: laminar_flow\n",
    "two_component": "analysis_mode: heterodyne\n"
    "initial_parameters: {fixed_parameters: {phi0: 1}}\n",
    "tab": "analyzer_parameters:\n\tdt: 1\n",
    "twice": "analysis_mode: static\nanalysis_mode: static\n",
}

USAGE = {
    "help_xpcs_config": ["xpcs", "config", "--help"],
    "usage_xpcs_config_verb": ["xpcs", "config", "validat", "x.yaml"],
    "usage_xpcs_config_file": ["xpcs", "config", "validate"],
    "usage_xpcs_config_mode": ["xpcs", "config", "generate", "--mode", "turbulent"],
    "usage_xpcs_config_where": ["xpcs", "config", "generate", "x.yaml"],
}


@pytest.mark.parametrize("name", USAGE)
def test_usage(name, same_as_stored):
    same_as_stored(name, *USAGE[name])


@pytest.mark.parametrize("name", WRONG)
def test_wrong_file(name, same_as_stored, tmp_path, yaml):
    (tmp_path / "run.yaml").write_text(WRONG[name])
    result = same_as_stored(f"xpcs_config_{name}", "xpcs", "config", "validate", "run.yaml")
    assert result.returncode == 78


def test_missing_file(tessera):
    result = tessera("xpcs", "config", "validate", "nowhere.yaml")
    assert result.returncode == 66
    assert "nowhere.yaml" in result.stderr


def test_valid_file(same_as_stored, tmp_path, yaml):
    (tmp_path / "run.yaml").write_text(GOOD)
    same_as_stored("xpcs_config_valid", "xpcs", "config", "validate", "run.yaml")
    same_as_stored("xpcs_config_valid_json", "xpcs", "config", "validate", "run.yaml", "--json")


def test_lenient_turns_unknown_keys_into_warnings(tessera, tmp_path, yaml):
    (tmp_path / "run.yaml").write_text("analysis_mode: static\nanalysis_mod: static\n")
    result = tessera("xpcs", "config", "validate", "run.yaml", "--lenient")
    assert result.returncode == 0
    assert (
        "run.yaml:2:1: unknown key 'analysis_mod'; did you mean 'analysis_mode'?" in result.stderr
    )


def test_templates(same_as_stored):
    words = ["xpcs", "config", "generate"]
    same_as_stored("xpcs_config_laminar", *words)
    same_as_stored("xpcs_config_minimal", *words, "--mode", "static", "--minimal")


MODES = ["static", "static_isotropic", "static_anisotropic", "laminar_flow"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("minimal", [[], ["--minimal"]])
def test_what_is_generated_is_valid(tessera, tmp_path, mode, minimal, yaml):
    words = ["xpcs", "config", "generate", "--mode", mode, "-o", "new.yaml", *minimal]
    result = tessera(*words)
    assert result.returncode == 0
    assert "wrote new.yaml" in result.stderr
    refused = tessera(*words)
    assert refused.returncode == 73
    assert "new.yaml exists; give --force to replace it" in refused.stderr
    (tmp_path / "new.yaml").write_text("broken")
    assert tessera(*words, "--force").returncode == 0
    valid = tessera("xpcs", "config", "validate", "new.yaml")
    said = "tessera: shear kernel: upstream (model.shear_kernel)\n"
    assert (valid.returncode, valid.stderr) == (0, said if mode == "laminar_flow" else "")


def test_a_template_as_json(tessera):
    text = tessera("xpcs", "config", "generate").stdout
    found = json.loads(tessera("xpcs", "config", "generate", "--json").stdout)
    assert found["text"] == text


def test_show_has_every_value_with_its_type_and_origin(tessera, tmp_path, yaml):
    (tmp_path / "run.yaml").write_text(GOOD)
    found = json.loads(tessera("xpcs", "config", "show", "run.yaml", "--json").stdout)
    assert found["schema"] == "tessera.xpcs.settings/1"
    values = found["values"]
    assert values["optimization.nlsq.xtol"] == {
        "type": "float", "value": 1e-8, "origin": "file", "line": 7,
    }  # fmt: skip
    assert values["optimization.nlsq.gtol"] == {
        "type": "float", "value": 1e-8, "origin": "default",
    }  # fmt: skip
    assert found["accepted_without_effect"] == ["optimization.nlsq.workflow"]
    assert found["resolved"]["fit"]["loss"] == "huber"
    assert found["resolved"]["start"] == [None] * 7
    assert json.loads(tessera("xpcs", "config", "show", "--json").stdout)["file"] is None


@pytest.mark.parametrize("name", ["config_laminar", "config_static"])
def test_golden_values(tessera, name, yaml):
    result = tessera("xpcs", "config", "show", str(GOLDEN / f"{name}.yaml"), "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    want = json.loads((GOLDEN / f"{name}.expected.json").read_text())
    for key, value in want["values"].items():
        assert {part: found["values"][key][part] for part in ("type", "value")} == value, key
    assert found["accepted_without_effect"] == want["accepted_without_effect"]
