"""Which worker this process is, according to the launcher's environment variables."""
from __future__ import annotations

import os
from typing import Callable, Mapping, NamedTuple

from ..errors import OptionError


class Place(NamedTuple):
    rank: int = 0
    workers: int = 1
    is_one_host: bool = True
    job: str | None = None  # the same for all workers of a job on one host, and different for others


class Launcher(NamedTuple):
    rank: str
    workers: str
    here: tuple[str, ...]  # variables with the number of workers on this host; the first that is set counts
    job: Callable[[Mapping[str, str]], str | None]


def _job_of_open_mpi(variables: Mapping[str, str]) -> str | None:
    return variables.get("PMIX_NAMESPACE") or variables.get("OMPI_MCA_ess_base_jobid")


def _job_of_slurm(variables: Mapping[str, str]) -> str | None:
    if "SLURM_JOB_ID" not in variables:
        return None
    # The port is included because a new Slurm installation numbers its jobs from 1 again.
    names = ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_STEP_LAUNCHER_PORT")
    return "-".join(["slurm", *(variables.get(name, "0") for name in names)])


def _parent(process: int) -> tuple[str, int]:
    """The name of a process, and its parent."""
    with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
        name, _, rest = file.read().partition("(")[2].rpartition(")")
    return name, int(rest.split()[1])


def _job_of_pmi(variables: Mapping[str, str]) -> str | None:
    """Slurm's job, or the process of Hydra (the mpirun of MPICH and Intel MPI) that started all workers of this host:
    nothing in their environments distinguishes them from those of another job."""
    process = os.getpid()
    try:
        while process > 1:
            name, parent = _parent(process)
            if name.startswith("hydra_"):
                return f"hydra-{process}"
            process = parent
    except (OSError, ValueError, IndexError):
        pass
    return _job_of_slurm(variables)


TASKS_PER_NODE = "SLURM_STEP_TASKS_PER_NODE"

# The most specific first: mpirun in a Slurm job sees Slurm's variables too.
LAUNCHERS = (
    Launcher("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ("OMPI_COMM_WORLD_LOCAL_SIZE",), _job_of_open_mpi),
    Launcher("PMI_RANK", "PMI_SIZE", ("MPI_LOCALNRANKS", TASKS_PER_NODE), _job_of_pmi),  # srun --mpi=pmi2
    Launcher("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", (TASKS_PER_NODE,), _job_of_slurm),
)


def _number(variables: Mapping[str, str], name: str) -> int:
    try:
        return int(variables[name])
    except ValueError:
        raise OptionError(f'{name}: "{variables[name]}" is not valid; expected a whole number') from None


def find_place(variables: Mapping[str, str]) -> Place:
    """This process's place; without a launcher, the only worker."""
    for launcher in LAUNCHERS:
        if launcher.rank not in variables or launcher.workers not in variables:
            continue
        rank, workers = _number(variables, launcher.rank), _number(variables, launcher.workers)
        if not 0 <= rank < workers:
            raise OptionError(f"{launcher.rank}: {rank} is not valid; expected 0 to {workers - 1} ({launcher.workers})")
        if workers > 1:
            here = next((variables[name] for name in launcher.here if name in variables), "1")  # such as 2(x3),1
            return Place(rank, workers, here == str(workers), launcher.job(variables))
    return Place()
