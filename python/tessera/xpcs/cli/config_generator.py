"""The original's command ``homodyne-config``: write, build and check configurations."""

from __future__ import annotations

import argparse
import copy
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tessera.xpcs._config import Settings, template
from tessera.xpcs.config.manager import read_document
from tessera.xpcs.data.config import save_yaml_config

__all__ = [
    "create_parser",
    "generate_config",
    "get_template_path",
    "interactive_builder",
    "main",
    "validate_config",
]

_MODES = {"static": "static_anisotropic", "laminar_flow": "laminar_flow"}
_FILTERS = ("full", "minimal", "nlsq_only", "cmc_only")
_MINIMAL = ("metadata", "analysis_mode", "analyzer_parameters", "experimental_data")


def _yaml_escape_string(s: str) -> str:
    return s.replace("\\", "\\\\").replace('"', '\\"')


def create_parser() -> argparse.ArgumentParser:
    """Return the parser of ``homodyne-config``.

    Returns
    -------
    argparse.ArgumentParser
        With the original's words.
    """
    parser = argparse.ArgumentParser(
        prog="homodyne-config", description="Write, build and check Homodyne configuration files"
    )
    parser.add_argument("--mode", "-m", choices=list(_MODES), help="static or laminar_flow")
    parser.add_argument("--output", "-o", type=Path, help="the file to write")
    parser.add_argument("--interactive", "-i", action="store_true", help="ask for what matters")
    parser.add_argument("--validate", "-v", type=Path, metavar="CONFIG_FILE", help="check a file")
    parser.add_argument("--force", "-f", action="store_true", help="replace a file")
    parser.add_argument(
        "--filter",
        choices=_FILTERS,
        default="full",
        help="sections to write (default %(default)s)",
    )
    return parser


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tessera_templates_")


def get_template_path(mode: str) -> Path:
    """Return a file with the template of a mode, which is there as long as the program runs.

    Parameters
    ----------
    mode : {'static', 'laminar_flow'}
        The mode.

    Returns
    -------
    Path
        YAML; the library writes it when it is asked for.
    """
    path = Path(_folder().name) / "templates" / f"homodyne_{mode}.yaml"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        text = template(_MODES[mode])
        # The original's word for it.
        text = text.replace("analysis_mode: static_anisotropic", "analysis_mode: static")
        path.write_text(text, encoding="utf-8")
    return path


def _filtered(config: Mapping[str, Any], filter_mode: str) -> dict[str, Any]:
    found = copy.deepcopy(dict(config))
    if filter_mode == "minimal":
        method = (found.get("optimization") or {}).get("method", "nlsq")
        found = {key: found[key] for key in _MINIMAL if key in found}
        found["optimization"] = {"method": method}
        return found
    gone = {"nlsq_only": ("cmc", "mcmc"), "cmc_only": ("nlsq", "lsq")}.get(filter_mode, ())
    for name in gone:
        (found.get("optimization") or {}).pop(name, None)
    return found


def generate_config(
    mode: str, output_path: Path, force: bool = False, filter_mode: str = "full"
) -> dict[str, Any]:
    """Write a configuration from a template.

    Parameters
    ----------
    mode : {'static', 'laminar_flow'}
        The mode.
    output_path : Path
        Where to.
    force : bool, default False
        Replace a file that is there.
    filter_mode : {'full', 'minimal', 'nlsq_only', 'cmc_only'}
        Which sections; 'full' has comments, too.

    Returns
    -------
    dict
        What was written.
    """
    output_path = Path(output_path)
    if output_path.exists() and not force:
        raise FileExistsError(
            f"Configuration file already exists: {output_path}\nUse --force to overwrite"
        )
    source = get_template_path(mode)
    config = _filtered(read_document(source), filter_mode)
    output_path.parent.mkdir(parents=True, exist_ok=True)
    if filter_mode == "full":
        output_path.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    else:
        save_yaml_config(config, output_path)
    note = "" if filter_mode == "full" else f" (filter: {filter_mode})"
    print(f"OK: Generated {mode} configuration{note}: {output_path}")
    print(f"Next: set experimental_data.file_path in it, then homodyne --config {output_path}")
    return config


def _ask(question: str, default: str) -> str:
    return input(f"{question} [{default}]: ").strip() or default


def interactive_builder() -> dict[str, Any]:
    """Ask for what matters, and write a configuration.

    Returns
    -------
    dict
        What was written; empty where nothing was.
    """
    print("Mode:  1. static (diffusion)   2. laminar_flow (diffusion and shear)")
    while (choice := input("Mode [1/2]: ").strip()) not in ("1", "2"):
        print("Invalid choice. Please enter 1 or 2.")
    mode = "static" if choice == "1" else "laminar_flow"
    sample = _ask("Sample name", "my_sample")
    experiment = _ask("Experiment ID", "experiment_001")
    data_file = _ask("HDF5 data file", "./data/experiment.hdf")
    folder = _ask("Output directory", "./output")
    path = Path(_ask("Save configuration to", f"homodyne_{mode}_{sample}.yaml"))
    if path.suffix not in (".yaml", ".yml"):
        print(f"Error: Invalid output path - {path} does not end in .yaml", file=sys.stderr)
        return {}
    if path.exists() and _ask(f"{path} exists. Overwrite? y/N", "N").lower() != "y":
        print("Configuration not saved.")
        return {}
    config = _filtered(read_document(get_template_path(mode)), "full")
    config.setdefault("metadata", {})["description"] = f"{sample}, {experiment}"
    config["experimental_data"] = {"file_path": data_file}
    config["output"] = {"directory": folder}
    try:
        save_yaml_config(config, path)
    except ValueError as error:
        print(f"Error: {error}", file=sys.stderr)
        return {}
    print(f"OK: Configuration saved: {path}")
    print(f"Next: homodyne-config --validate {path}, then homodyne --config {path}")
    return config


def validate_config(config_path: Path) -> bool:
    """Check a configuration as a fit would, and print what is found.

    Parameters
    ----------
    config_path : Path
        The file.

    Returns
    -------
    bool
        Whether a fit takes it.
    """
    path = Path(config_path)
    print(f"Validating configuration: {path}")
    if not path.exists():
        print(f"ERROR: Configuration file not found: {path}")
        return False
    try:
        settings = Settings(path)
    except (ValueError, OSError) as error:
        print(f"ERROR: Configuration validation failed:\n  {error}")
        return False
    print(f"  Mode:         {settings.model['mode']}")
    print(f"  Data file:    {settings.data_path or 'not specified'}")
    if settings.data_path and not Path(settings.data_path).exists():
        print("    WARNING: Data file not found")
    print(f"  Method:       {settings.method}")
    for line in settings.notices:
        print(f"  {line}")
    print("OK: Configuration is valid")
    return True


def main() -> int:
    """Run ``homodyne-config`` with the words of the command line.

    Returns
    -------
    int
        The exit code.
    """
    parser = create_parser()
    args = parser.parse_args()
    if args.validate:
        return 0 if validate_config(args.validate) else 1
    try:
        if args.interactive:
            return 0 if interactive_builder() else 1
        if args.mode:
            output = args.output or Path(f"homodyne_{args.mode}_config.yaml")
            generate_config(args.mode, output, args.force, args.filter)
            return 0
    except (KeyboardInterrupt, EOFError):
        print("\nCancelled.")
        return 1
    except (OSError, ValueError) as error:
        print(f"ERROR: {error}")
        return 1
    parser.print_help()
    print("\nError: Please specify --mode, --interactive, or --validate")
    return 1


if __name__ == "__main__":
    sys.exit(main())
