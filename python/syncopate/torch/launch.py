"""Finding the other workers: under mpirun by MPI, else by torch.distributed."""
from __future__ import annotations

import os
import tempfile
from typing import Any

import torch.distributed as dist

from ..core import Group, under_mpi
from ..errors import OptionError
from ..options import GroupOptions
from .store import do_without_libuv
from .transport import DistributedGroup

TRANSPORTS = ("auto", "mpi", "torch")


def init() -> tuple[int, int]:
    """Initialise torch.distributed (gloo) under torchrun, mpirun or alone; (rank, number of workers).

    Under mpirun on several hosts, MASTER_ADDR and MASTER_PORT must name a place on the first one.
    Harmless when it has been initialised already.
    """
    if dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    if "RANK" in os.environ:
        _initialise()
        return dist.get_rank(), dist.get_world_size()
    rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
    workers = int(os.environ.get("OMPI_COMM_WORLD_SIZE", 1))
    tasks = os.environ.get("SLURM_STEP_NUM_TASKS", "1")
    if workers == 1 and tasks != "1" and "OMPI_COMM_WORLD_SIZE" not in os.environ:
        raise OptionError(f"srun started {tasks} processes that cannot find each other; have srun start torchrun "
                          "(examples/cluster/torchrun.sbatch), or unset SLURM_STEP_NUM_TASKS if each is to train by itself")
    _initialise(init_method=_meeting_point(workers), rank=rank, world_size=workers)
    return rank, workers


def _initialise(**how: Any) -> None:
    try:
        dist.init_process_group("gloo", **how)
    except RuntimeError as error:
        if "libuv" not in str(error):
            raise
        do_without_libuv()
        dist.init_process_group("gloo", **how)


def _meeting_point(workers: int) -> str:
    if "MASTER_ADDR" in os.environ:
        return f"tcp://{os.environ['MASTER_ADDR']}:{os.environ.get('MASTER_PORT', '29500')}"
    if int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", 1)) != workers:
        raise OptionError("mpirun started processes on several hosts; set MASTER_ADDR to the first "
                          "one's address, such as by mpirun -x MASTER_ADDR=...")
    job = os.environ.get("PMIX_NAMESPACE") or os.environ.get("OMPI_MCA_ess_base_jobid")
    if job is None or workers == 1:
        return f"file://{tempfile.mkdtemp(prefix='syncopate-')}/meeting"
    return f"file://{tempfile.gettempdir()}/syncopate-{os.getuid()}-{job}"


def join(transport: str = "auto", options: dict[str, Any] | None = None) -> Group:
    """This process's place among the workers. Collective."""
    if transport not in TRANSPORTS:
        raise OptionError(f'transport: "{transport}" is not valid; expected one of '
                          + ", ".join(TRANSPORTS))
    chosen = GroupOptions()
    chosen.set_all(options or {})
    if transport == "mpi" or (transport == "auto" and under_mpi()):
        return Group.over_mpi(chosen)
    return DistributedGroup(chosen)
