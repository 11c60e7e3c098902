"""Nodes, cores and memory, and which way of working in parallel suits them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tessera._system import sys_info

__all__ = ["HardwareConfig", "detect_hardware"]


@dataclass(frozen=True)
class HardwareConfig:
    """What a program may use.

    Parameters
    ----------
    platform : str
        'cpu'.
    num_devices : int
        Devices.
    memory_per_device_gb, total_memory_gb : float
        Memory of a node, in 1e9 bytes.
    num_nodes, cores_per_node : int
        Nodes of the job, and physical cores of each.
    cluster_type : {'pbs', 'slurm', 'standalone'} or None
        Who started the job.
    recommended_backend : str
        'pbs', 'slurm' or 'multiprocessing'.
    max_parallel_shards : int
        Cores of all nodes.
    """

    platform: str
    num_devices: int
    memory_per_device_gb: float
    num_nodes: int
    cores_per_node: int
    total_memory_gb: float
    cluster_type: str | None
    recommended_backend: str
    max_parallel_shards: int


def _job() -> tuple[str, int]:
    """Return who started the program, and on how many nodes."""
    if "PBS_JOBID" in os.environ:
        try:
            lines = Path(os.environ.get("PBS_NODEFILE", "")).read_text(encoding="utf-8").split()
        except OSError:
            lines = []
        return "pbs", max(1, len(set(lines)))
    if "SLURM_JOB_NUM_NODES" in os.environ:
        try:
            return "slurm", int(os.environ["SLURM_JOB_NUM_NODES"])
        except ValueError:
            return "slurm", 1
    return "standalone", 1


def detect_hardware() -> HardwareConfig:
    """Say what this program may use.

    Returns
    -------
    HardwareConfig
        Nodes, cores and memory.
    """
    system = sys_info()["system"]
    memory = system["memory_bytes"] / 1e9
    cores = int(system["cores_physical"])
    cluster, nodes = _job()
    return HardwareConfig(
        platform="cpu",
        num_devices=1,
        memory_per_device_gb=memory,
        num_nodes=nodes,
        cores_per_node=cores,
        total_memory_gb=memory,
        cluster_type=cluster,
        recommended_backend=cluster if nodes > 1 else "multiprocessing",
        max_parallel_shards=cores * nodes,
    )
