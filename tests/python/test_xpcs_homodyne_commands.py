"""homodyne, homodyne-config, hexp and hsim."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tessera import xpcs
from tessera.xpcs.cli import commands, config_generator
from tessera.xpcs.cli.args_parser import create_parser, validate_args
from tessera.xpcs.config.manager import read_document

ROOT = Path(__file__).parents[2]
main = import_module("tessera.xpcs.cli.main")  # the package has the function of this name

needs_command = pytest.mark.skipif(
    not os.environ.get("TESSERA_COMMAND"), reason="TESSERA_COMMAND names no command"
)


def words(*typed: str) -> list[str]:
    return commands.translate(create_parser().parse_args(list(typed)))


def test_words_are_translated() -> None:
    plain = words()
    assert plain[:2] == ["xpcs", "fit"]
    # What nobody typed stays the configuration's.
    assert not {"--max-iterations=10000", "--tolerance=1e-08", "--config"} & set(plain)
    found = words(
        "--static-mode", "--max-iterations", "50", "--initial-phi0", "-2.5", "--phi-angles",
        "0,45", "--threads", "2", "--save-plots", "--no-jit", "--quiet", "--plot-simulated-data",
    )  # fmt: skip
    for word in (
        "--static-mode", "--max-iterations=50", "--initial-phi0=-2.5", "--phi-angles=0,45",
        "--threads", "--save-plots", "--no-jit", "--quiet",
    ):  # fmt: skip
        assert word in found
    assert words("--method", "both")[-5:-3] == ["--method", "both"]


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        (["--static-mode", "--laminar-flow"], "both --static-mode"),
        (["--tolerance", "0"], "Tolerance must be positive"),
        (["--phi-angles", "a,b"], "comma-separated"),
        (["--config", "none.yaml"], "not found: none.yaml"),
        (["-v", "--quiet"], "both --verbose"),
    ],
)
def test_what_cannot_be_is_told(
    typed: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    args = create_parser().parse_args(typed)
    assert not validate_args(args)
    assert complaint in capsys.readouterr().out
    assert not commands.dispatch_command(args)["success"]


def test_unknown_words_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        create_parser().parse_args(["--gpu-memory"])
    assert "--gpu-memory" in capsys.readouterr().err


@needs_command
def test_a_fit_by_the_originals_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    xpcs.simulate_file("run.hdf", n_angle=3, n_frame=24, dt=0.1, gap=2e6, sigma=0.01)
    monkeypatch.setattr(
        sys, "argv", ["homodyne-config", "-m", "static", "-o", "homodyne_config.yaml"]
    )
    assert config_generator.main() == 0
    typed = ["homodyne", "--data-file", "run.hdf", "--output-dir", "out", "--static-mode"]
    monkeypatch.setattr(sys, "argv", typed)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 0, capfd.readouterr().err
    found = json.loads((tmp_path / "out/nlsq/parameters.json").read_text())
    assert "D0" in found["parameters"]
    monkeypatch.setattr(sys, "argv", ["hexp", "--data-file", "run.hdf", "--output-dir", "maps"])
    with pytest.raises(SystemExit) as ended:
        main.main_hexp()
    assert ended.value.code == 0
    assert len(list((tmp_path / "maps").glob("c2_heatmaps_phi_*.png"))) == 3
    typed = ["hsim", "--output-dir", "model", "--phi-angles", "0,45", "--initial-d0", "2000"]
    typed += ["--initial-alpha", "-1", "--initial-d-offset", "0", "--contrast", "0.2"]
    monkeypatch.setattr(sys, "argv", typed)
    with pytest.raises(SystemExit) as ended:
        main.main_hsim()
    assert ended.value.code == 0, capfd.readouterr().err
    assert len(list((tmp_path / "model").glob("c2_heatmaps_phi_*.png"))) == 2
    typed = ["--method", "cmc", "--data-file", "run.hdf", "--static-mode", "--output-dir", "draws"]
    typed += ["--n-chains", "2", "--n-warmup", "100", "--n-samples", "120"]
    result = commands.dispatch_command(create_parser().parse_args(typed))
    assert result["success"], result
    with np.load(tmp_path / "draws/cmc/samples.npz") as found:
        assert found["posterior_samples"].shape[:2] == (2, 120)


def test_configurations_are_written_and_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.yaml"
    config = config_generator.generate_config("laminar_flow", path)
    assert config["analysis_mode"] == "laminar_flow"
    assert path.read_text() == config_generator.get_template_path("laminar_flow").read_text()
    with pytest.raises(FileExistsError, match="--force"):
        config_generator.generate_config("static", path)
    for filter_mode, gone in (("nlsq_only", "cmc"), ("cmc_only", "nlsq"), ("minimal", "nlsq")):
        config_generator.generate_config("static", path, True, filter_mode)
        assert gone not in read_document(path)["optimization"]
    config_generator.generate_config("static", path, True)
    assert config_generator.validate_config(path)
    path.write_text("analysis_mode: sttatic\n")
    assert not config_generator.validate_config(path)
    assert "did you mean" in capsys.readouterr().out


def test_a_configuration_is_built_by_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "b.yaml"
    answers = iter(["3", "1", "silica", "e7", "a.hdf", "out", str(path)])
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    config_generator.interactive_builder()
    settings = xpcs.Settings(path)
    assert settings.data_path == "a.hdf"
    assert settings.output_folder == "out"
    assert settings.model["mode"] == "static_anisotropic"


def test_the_companions_commands_exist() -> None:
    text = (ROOT / "packaging/homodyne-commands/pyproject.toml").read_text()
    scripts = tomllib.loads(text)["project"]["scripts"]
    assert set(scripts) == {"homodyne", "homodyne-config", "hexp", "hsim"}
    for target in scripts.values():
        module, _, name = target.partition(":")
        assert callable(getattr(import_module(module), name))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "tessera-homodyne-commands" in extras["optional-dependencies"]["homodyne-commands"]


def test_words_that_count_elsewhere_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands, "find_command", lambda: sys.executable)
    monkeypatch.setattr(commands, "translate", lambda _: ["-c", "import sys; sys.exit('no\\nway')"])
    found = commands.dispatch_command(create_parser().parse_args(["--contrast", "0.2"]))
    assert (found["success"], found["returncode"], found["error"]) == (False, 1, "way")
    said = capsys.readouterr().err.splitlines()
    assert said == ["Warning: --contrast ignored (it is of --plot-simulated-data)", "no", "way"]
