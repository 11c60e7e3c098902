"""Devices of JAX: nothing is compiled at run time here, and there are none to count."""

from __future__ import annotations

import os
import sys

__all__ = ["VALID_MODES", "detect_optimal_devices", "main", "set_mode", "show_config"]

VALID_MODES = ["cmc", "cmc-hpc", "nlsq", "auto"]
_CORES = ((35, 8), (15, 6), (7, 4), (0, 2))


def detect_optimal_devices() -> int:
    """Return how many devices of its own the original would have JAX make of these cores.

    Returns
    -------
    int
        2 to 8.
    """
    cores = os.cpu_count() or 4
    return next(devices for more_than, devices in _CORES if cores > more_than)


def set_mode(mode: str) -> bool:
    """Say that a mode changes nothing: threads are ``threads=`` or TESSERA_NUM_THREADS.

    Parameters
    ----------
    mode : str
        Of ``VALID_MODES``.

    Returns
    -------
    bool
        Whether there is such a mode.
    """
    if mode not in VALID_MODES:
        words = ", ".join(VALID_MODES)
        print(f"Error: Invalid mode '{mode}'\nValid modes: {words}", file=sys.stderr)
        return False
    print(
        f"XLA mode {mode}: no effect, nothing is compiled at run time; TESSERA_NUM_THREADS=N "
        "says how many threads work"
    )
    return True


def show_config() -> None:
    """Print what there is to say."""
    print("Current XLA Configuration:\n  none: nothing is compiled at run time")
    print(f"  XLA_FLAGS: {os.environ.get('XLA_FLAGS', 'Not set')} (not read)")
    print(f"  TESSERA_NUM_THREADS: {os.environ.get('TESSERA_NUM_THREADS', 'Not set')}")


def main() -> None:
    """Run ``homodyne-config-xla``."""
    import argparse

    parser = argparse.ArgumentParser(description="XLA modes of homodyne, which have no effect here")
    parser.add_argument("--mode", choices=VALID_MODES)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    if given.mode and not given.show:
        set_mode(given.mode)
    else:
        show_config()
