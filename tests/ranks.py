"""Ranks of one mpirun that run different things. Not by `mpirun -n 1 this : -n 1 that`: the mpirun of Open MPI 5.0.7, as in
Debian 13, crashes on any colon. Each rank chooses by its number instead."""
import shlex


RANK = '"${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}"'  # Open MPI's mpirun, MPICH's, srun


def one_and_the_others(count, one, others):
    """Words that run one on the first count ranks and others on the rest."""
    return ["sh", "-c", f"if [ {RANK} -lt {count} ]; then exec {shlex.join(one)}; else exec {shlex.join(others)}; fi"]
