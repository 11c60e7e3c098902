"""Shards as jobs of a PBS cluster: what to write there instead."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tessera.xpcs.optimization.cmc.backends._common import CMCBackend

if TYPE_CHECKING:
    from tessera.xpcs.optimization.cmc.config import CMCConfig
    from tessera.xpcs.optimization.cmc.data_prep import PreparedData

__all__ = ["PBS_JOB_TEMPLATE", "PBSBackend"]

PBS_JOB_TEMPLATE = """#!/bin/bash
#PBS -N cmc_shard_{shard_id}
#PBS -l nodes=1:ppn={ppn}
#PBS -l walltime={walltime}
#PBS -l mem={memory}
#PBS -o {output_dir}/shard_{shard_id}.out
#PBS -e {output_dir}/shard_{shard_id}.err
#PBS -q {queue}
cd $PBS_O_WORKDIR
{activate_env}
tessera xpcs mcmc {config_file} --out {result_file}
"""

_FORMS = {
    "queue": (re.compile(r"[a-zA-Z0-9_-]+"), "letters, digits, hyphens and underscores"),
    "walltime": (re.compile(r"\d{1,3}:\d{2}:\d{2}"), "HH:MM:SS"),
    "memory": (re.compile(r"\d+[kmgKMG][bB]"), "a number with kb, mb or gb"),
}


def _validate_pbs_params(*, queue: str, walltime: str, memory: str) -> None:
    """Raise ValueError for what must not stand in a job's script."""
    for name, value in {"queue": queue, "walltime": walltime, "memory": memory}.items():
        form, words = _FORMS[name]
        if form.fullmatch(value) is None:
            what = "queue name" if name == "queue" else name
            raise ValueError(f"Invalid PBS {what} {value!r}: expected {words}")


class PBSBackend(CMCBackend):
    """Jobs of a PBS cluster, which this version does not submit itself.

    Parameters
    ----------
    queue, walltime, memory : str
        Of the jobs.
    ppn : int, default 4
        Cores of a job.
    poll_interval, max_wait_time : int
        Seconds.
    """

    def __init__(
        self,
        queue: str = "batch",
        ppn: int = 4,
        walltime: str = "04:00:00",
        memory: str = "8gb",
        poll_interval: int = 30,
        max_wait_time: int = 14400,
    ) -> None:
        _validate_pbs_params(queue=queue, walltime=walltime, memory=memory)
        self.queue, self.ppn = queue, ppn
        self.walltime, self.memory = walltime, memory
        self.poll_interval, self.max_wait_time = poll_interval, max_wait_time

    def get_name(self) -> str:
        """Return what it is called.

        Returns
        -------
        str
            'pbs'.
        """
        return "pbs"

    def is_available(self) -> bool:
        """Return whether jobs could be submitted here.

        Returns
        -------
        bool
            Whether there is a ``qsub``.
        """
        return shutil.which("qsub") is not None

    def run(
        self,
        model: Callable[..., Any],
        model_kwargs: Mapping[str, Any],
        config: CMCConfig,
        shards: Sequence[PreparedData] | None = None,
    ) -> NoReturn:
        """Raise: jobs are submitted by a script of one's own.

        Parameters
        ----------
        model, model_kwargs, config, shards
            As of :class:`CMCBackend`.

        Returns
        -------
        NoReturn
            It always raises :class:`NotImplementedError`.
        """
        raise NotImplementedError(
            "backend pbs: Tessera submits no jobs; choose backend 'multiprocessing', which samples "
            "all data on one machine, or submit `tessera xpcs mcmc` from a job script"
        )
