"""The words of the original's command ``homodyne``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from tessera import __version__

__all__ = ["create_parser", "validate_args"]

_DEFAULT_CONFIG = Path("./homodyne_config.yaml")

# Numbers that have to be above zero where they are given.
_POSITIVE = {
    "max_iterations": "Maximum iterations",
    "tolerance": "Tolerance",
    "threads": "--threads",
    "n_samples": "MCMC samples",
    "n_warmup": "MCMC warmup",
    "n_chains": "MCMC chains",
    "cmc_num_shards": "CMC num_shards",
    "initial_d0": "--initial-d0",
}

_STARTS = {
    "d0": "D0 in Å²/s",
    "alpha": "alpha",
    "d-offset": "D_offset in Å²/s",
    "gamma-dot-t0": "gamma_dot_t0 in 1/s",
    "beta": "beta",
    "gamma-dot-offset": "gamma_dot_t_offset in 1/s",
    "phi0": "phi0 in degrees",
}

_EPILOG = """
examples:
  %(prog)s --config my_config.yaml --output-dir results
  %(prog)s --config my_config.yaml --static-mode --save-plots
  %(prog)s --plot-simulated-data --contrast 0.5 --offset 1.05 --phi-angles 0,45,90

methods:
  nlsq  nonlinear least squares with bounds
  cmc   sampling of the posterior
  both  nlsq, then cmc

The fit is that of 'tessera xpcs fit', which has more options: see 'tessera help xpcs fit'.
"""


def _add_fit(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("least squares")
    group.add_argument(
        "--max-iterations", type=int, default=10000, help="most iterations (default %(default)s)"
    )
    group.add_argument(
        "--tolerance", type=float, default=1e-8, help="of convergence (default %(default)s)"
    )
    group = parser.add_argument_group("starts, in place of the configuration's")
    for name, what in _STARTS.items():
        group.add_argument(f"--initial-{name}", type=float, help=f"start of {what}")


def _add_sampling(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "Consensus Monte Carlo", "for --method cmc and both, which sample the posterior"
    )
    group.add_argument("--n-samples", type=int, help="draws of a chain")
    group.add_argument("--n-warmup", type=int, help="draws that adapt the sampler")
    group.add_argument("--n-chains", type=int, help="chains")
    group.add_argument("--cmc-num-shards", type=int, help="parts the data are cut into")
    group.add_argument(
        "--cmc-backend", choices=["auto", "pjit", "multiprocessing", "pbs"], help="where they run"
    )
    group.add_argument("--cmc-plot-diagnostics", action="store_true", help="accepted")
    group.add_argument("--no-nlsq-warmstart", action="store_true", help="no fit before")
    group.add_argument("--nlsq-result", type=Path, help="folder of a fit to begin with")
    group.add_argument("--dense-mass-matrix", action="store_true", help="full mass matrix")


def _add_plots(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("figures")
    group.add_argument("--save-plots", action="store_true", help="of every angle")
    group.add_argument(
        "--plot-experimental-data", action="store_true", help="of the data, and fit nothing"
    )
    group.add_argument(
        "--plot-simulated-data", action="store_true", help="of the model, and fit nothing"
    )
    group.add_argument(
        "--plotting-backend",
        choices=["auto", "matplotlib", "datashader"],
        default="auto",
        help="accepted: the library draws",
    )
    group.add_argument("--parallel-plots", action="store_true", help="accepted")
    group.add_argument("--contrast", type=float, default=0.3, help="of the model")
    group.add_argument("--offset", type=float, default=1.0, help="of the model")
    group.add_argument("--phi-angles", help="of the model in degrees: 0,45,90")


def create_parser() -> argparse.ArgumentParser:
    """Return the parser of ``homodyne``.

    Returns
    -------
    argparse.ArgumentParser
        With the original's words and defaults.
    """
    parser = argparse.ArgumentParser(
        prog="homodyne",
        description="Homodyne scattering analysis for XPCS, done by Tessera",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"Homodyne (Tessera {__version__})")
    parser.add_argument(
        "--method",
        choices=["nlsq", "cmc", "both"],
        default="nlsq",
        help="nlsq: least squares; cmc: sampling (Consensus Monte Carlo); both: one after the "
        "other (default %(default)s)",
    )
    parser.add_argument("--config", type=Path, default=_DEFAULT_CONFIG, help="YAML or JSON")
    parser.add_argument("--output-dir", type=Path, default=Path("./homodyne_results"))
    parser.add_argument("--data-file", type=Path, help="in place of the configuration's")
    parser.add_argument("--static-mode", action="store_true", help="3 parameters")
    parser.add_argument("--laminar-flow", action="store_true", help="7 parameters")
    _add_fit(parser)
    _add_sampling(parser)
    _add_plots(parser)
    parser.add_argument("--output-format", choices=["yaml", "json", "npz"], default="yaml")
    parser.add_argument("--verbose", "-v", action="count", default=0, help="say more")
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors")
    parser.add_argument("--threads", type=int, help="threads (default: all)")
    parser.add_argument("--no-jit", action="store_true", help="accepted: nothing is compiled")
    return parser


def _complaints(args: argparse.Namespace) -> Iterator[str]:
    """Yield what is wrong."""
    if args.static_mode and args.laminar_flow:
        yield "Cannot specify both --static-mode and --laminar-flow"
    if args.verbose > 0 and args.quiet:
        yield "Cannot specify both --verbose and --quiet"
    for name, what in _POSITIVE.items():
        value = getattr(args, name, None)
        if value is not None and value <= 0:
            yield f"{what} must be positive"
    if args.phi_angles is not None:
        try:
            [float(angle) for angle in args.phi_angles.split(",")]
        except ValueError:
            yield f"--phi-angles must be comma-separated numbers, got: '{args.phi_angles}'"
    if args.config.resolve() != _DEFAULT_CONFIG.resolve() and not args.config.exists():
        yield f"Configuration file not found: {args.config}"
    if args.data_file and not args.data_file.exists():
        yield f"Data file not found: {args.data_file}"


def validate_args(args: argparse.Namespace) -> bool:
    """Check arguments against each other, and print what is wrong.

    Parameters
    ----------
    args : argparse.Namespace
        What the parser made.

    Returns
    -------
    bool
        Whether all is well.
    """
    wrong = next(_complaints(args), None)
    if wrong is not None:
        print(f"Error: {wrong}")
        return False
    if args.method == "nlsq":
        for words, names in (
            ("--cmc-num-shards", ["cmc_num_shards"]),
            ("--cmc-backend", ["cmc_backend"]),
            ("--n-samples/--n-warmup/--n-chains", ["n_samples", "n_warmup", "n_chains"]),
        ):
            if any(getattr(args, name) is not None for name in names):
                print(f"Warning: {words} ignored (not applicable for method={args.method})")
    return True
