"""The original's command, done by ``tessera xpcs fit``."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from tessera import _core
from tessera.xpcs.cli.args_parser import create_parser, validate_args
from tessera.xpcs.cli.config_handling import (  # noqa: F401
    _apply_cli_overrides,
    _load_configuration,
)
from tessera.xpcs.config.manager import ConfigManager
from tessera.xpcs.data.angle_filtering import (
    angle_in_range,
    apply_angle_filtering,
    apply_angle_filtering_for_optimization,
    apply_angle_filtering_for_plot,
    normalize_angle_to_symmetric_range,
)
from tessera.xpcs.data.xpcs_loader import XPCSDataLoader

__all__ = ["dispatch_command", "normalize_angle_to_symmetric_range"]

# The original's scripts know them under these names, too.
_angle_in_range = angle_in_range
_apply_angle_filtering = apply_angle_filtering
_apply_angle_filtering_for_optimization = apply_angle_filtering_for_optimization
_apply_angle_filtering_for_plot = apply_angle_filtering_for_plot

_STARTS = ("d0", "alpha", "d_offset", "gamma_dot_t0", "beta", "gamma_dot_offset", "phi0")
_FLAGS = (
    "static_mode",
    "laminar_flow",
    "save_plots",
    "plot_experimental_data",
    "plot_simulated_data",
    "parallel_plots",
    "no_jit",
    "no_nlsq_warmstart",
    "cmc_plot_diagnostics",
    "dense_mass_matrix",
)
_SAMPLING = ("n_samples", "n_warmup", "n_chains", "cmc_num_shards", "cmc_backend", "nlsq_result")


def _load_data(args: argparse.Namespace, config: ConfigManager) -> Any:
    """Read the data a command line or a configuration names."""
    said = getattr(config, "config", None) or {}
    if args.data_file:
        path = Path(args.data_file).resolve()
        frames = said.get("analyzer_parameters") or {"dt": 0.1, "start_frame": 1, "end_frame": -1}
        data = {"data_folder_path": str(path.parent), "data_file_name": path.name}
        said = {"experimental_data": data, "analyzer_parameters": frames}
    data = said.get("experimental_data") or {}
    if not data.get("data_folder_path") and not data.get("file_path"):
        raise RuntimeError(
            "Failed to load experimental data: No data file specified in configuration; set "
            "experimental_data.file_path, or give --data-file"
        )
    try:
        return XPCSDataLoader(config_dict=said).load_experimental_data()
    except FileNotFoundError as error:
        raise RuntimeError(f"Data file not found: {error}") from error
    except (ValueError, OSError) as error:
        raise RuntimeError(f"Failed to load experimental data: {error}") from error


def find_command() -> str:
    """Return the command ``tessera`` that came with this package, or one on the path."""
    named = os.environ.get("TESSERA_COMMAND")
    beside = Path(sysconfig.get_path("scripts")) / "tessera"
    found = named or (str(beside) if beside.exists() else shutil.which("tessera"))
    if not found:
        raise _core.NotFoundError(
            "the command 'tessera' is not there: install the package with pip, or name the command "
            "in TESSERA_COMMAND"
        )
    return found


def translate(args: argparse.Namespace) -> list[str]:
    """Return the words of ``tessera`` that do what those of ``homodyne`` ask for."""
    defaults = create_parser().parse_args([])
    words = ["xpcs", "fit", "--output-dir", str(args.output_dir)]
    if args.config != defaults.config or args.config.exists():
        words += ["--config", str(args.config)]
    if args.data_file:
        words += ["--data-file", str(args.data_file)]
    words += [f"--{name.replace('_', '-')}" for name in _FLAGS if getattr(args, name)]
    said = ["max_iterations", "tolerance", "plotting_backend", *_SAMPLING]
    said += ["contrast", "offset", "phi_angles"] if args.plot_simulated_data else []
    for name in said:
        value = getattr(args, name)
        # What nobody said is the configuration's.
        if value != getattr(defaults, name):
            words += [f"--{name.replace('_', '-')}={value}"]
    for name in _STARTS:
        value = getattr(args, f"initial_{name}")
        if value is not None:
            words += [f"--initial-{name.replace('_', '-')}={value!r}"]
    if args.threads is not None:
        words += ["--threads", str(args.threads)]
    if args.method != "nlsq":
        words += ["--method", args.method]
    words += ["--output-format", args.output_format, "--overwrite"]
    return words + (["--quiet"] if args.quiet else ["-v"] * min(args.verbose, 1))


def _run(words: list[str]) -> tuple[int, list[str]]:
    """Run a command; what it says on stderr is shown as it comes, and kept."""
    lines: list[str] = []
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            sys.stderr.write(line)
            sys.stderr.flush()
            if line.strip():
                lines.append(line.rstrip("\n"))
    return process.returncode, lines


def dispatch_command(args: argparse.Namespace) -> dict[str, Any]:
    """Do what the arguments ask for.

    Parameters
    ----------
    args : argparse.Namespace
        Of :func:`tessera.xpcs.cli.args_parser.create_parser`.

    Returns
    -------
    dict
        ``success``, ``output_dir``, ``returncode``, and ``error`` where it failed. Results are
        files, and those of a run before are replaced, as the original does.
    """
    if not validate_args(args):
        return {"success": False, "error": "Invalid command-line arguments", "returncode": 2}
    defaults = create_parser().parse_args([])
    for name in () if args.plot_simulated_data else ("contrast", "offset", "phi_angles"):
        if getattr(args, name) != getattr(defaults, name):
            word = name.replace("_", "-")
            print(f"Warning: --{word} ignored (it is of --plot-simulated-data)", file=sys.stderr)
    returncode, lines = _run([find_command(), *translate(args)])
    found: dict[str, Any] = {
        "success": returncode == 0,
        "returncode": returncode,
        "method": args.method,
        "output_dir": str(args.output_dir),
    }
    if returncode:
        found["error"] = lines[-1] if lines else f"exit code {returncode}"
    return found
