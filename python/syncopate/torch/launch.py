"""Finding the other workers: under mpirun through MPI, otherwise through torch.distributed."""
from __future__ import annotations

import os
import tempfile
from typing import Any

import torch.distributed as dist

from ..core import Group, under_mpi
from ..errors import OptionError
from ..options import GroupOptions
from .launchers import Place, find_place
from .store import do_without_libuv
from .transport import DistributedGroup

TRANSPORTS = ("auto", "mpi", "torch")


def init() -> tuple[int, int]:
    """Initialise torch.distributed (gloo) under torchrun, mpirun, srun or alone; returns (rank, number of workers).

    Under mpirun or srun on several hosts, MASTER_ADDR and MASTER_PORT must be an address and a port of the first host.
    Harmless if it has been initialised already.
    """
    if dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    if "RANK" in os.environ:
        _initialise()
        return dist.get_rank(), dist.get_world_size()
    place = find_place(os.environ)
    _initialise(init_method=_meeting_point(place), rank=place.rank, world_size=place.workers)
    return place.rank, place.workers


def _initialise(**how: Any) -> None:
    try:
        dist.init_process_group("gloo", **how)
    except RuntimeError as error:
        if "libuv" not in str(error):
            raise
        do_without_libuv()
        dist.init_process_group("gloo", **how)


def _meeting_point(place: Place) -> str:
    if "MASTER_ADDR" in os.environ:
        return f"tcp://{os.environ['MASTER_ADDR']}:{os.environ.get('MASTER_PORT', '29500')}"
    if place.workers == 1:
        return f"file://{tempfile.mkdtemp(prefix='syncopate-')}/meeting"
    if not place.is_one_host:
        raise OptionError(f"{place.workers} processes were started on several hosts; set MASTER_ADDR to the address of the "
                          "first host, for example with mpirun -x MASTER_ADDR=..., or let srun start torchrun "
                          "(examples/cluster/torchrun.sbatch)")
    if place.job is None:
        raise OptionError(f"{place.workers} processes were started without a rendezvous point; set MASTER_ADDR=127.0.0.1 and "
                          "MASTER_PORT for all of them")
    return f"file://{tempfile.gettempdir()}/syncopate-{os.getuid()}-{place.job}"


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
