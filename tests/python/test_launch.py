"""Workers find their places and each other by what launchers leave in the environment."""
import os
import subprocess
import sys

import pytest

import syncopate
import syncopate.torch
from syncopate.torch.launchers import find_place

SCENE = """
import os, torch, torch.distributed as dist
import syncopate.torch
rank, workers = syncopate.torch.init()
sum = torch.tensor([10.0 ** rank])
dist.all_reduce(sum)
os.write(1, f"{rank} {workers} {int(sum)}\\n".encode())  # in one piece, for they share a pipe
"""


@pytest.mark.parametrize("variables, place", [
    ({}, (0, 1, True, None)),
    ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_LOCAL_SIZE": "3", "PMIX_NAMESPACE": "j"},
     (2, 3, True, "j")),
    ({"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "2", "SLURM_JOB_ID": "7"}, (1, 4, False, "slurm-7-0-0")),
    ({"PMI_RANK": "1", "PMI_SIZE": "2", "SLURM_STEP_TASKS_PER_NODE": "2", "SLURM_JOB_ID": "7"}, (1, 2, True, "slurm-7-0-0")),
    ({"PMI_RANK": "1", "PMI_SIZE": "2", "SLURM_STEP_TASKS_PER_NODE": "1(x2)", "SLURM_JOB_ID": "7"},
     (1, 2, False, "slurm-7-0-0")),
    ({"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "6", "SLURM_STEP_TASKS_PER_NODE": "2(x3)", "SLURM_JOB_ID": "7",
      "SLURM_STEP_ID": "8", "SLURM_STEP_LAUNCHER_PORT": "9"}, (5, 6, False, "slurm-7-8-9")),
    ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "6", "SLURM_STEP_TASKS_PER_NODE": "6"}, (0, 6, True, None)),
    # A batch script is one process, whatever it asks for, and may call mpirun.
    ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, (0, 1, True, None)),
    ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "4"},
     (3, 4, True, None)),
])
def test_a_place_is_what_the_launcher_says(variables, place):
    assert find_place(variables) == place


@pytest.mark.parametrize("variables, words", [
    ({"PMI_RANK": "x", "PMI_SIZE": "2"}, 'PMI_RANK: "x" is not valid; expected a whole number'),
    ({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "2"}, "SLURM_PROCID: 2 is not valid; expected 0 to 1"),
])
def test_a_place_that_cannot_be_is_refused(variables, words):
    with pytest.raises(syncopate.OptionError, match=words):
        find_place(variables)


def clean():
    """The environment without any launcher."""
    return {name: value for name, value in os.environ.items()
            if name not in ("RANK", "WORLD_SIZE", "MASTER_ADDR") and not name.startswith(("PMI", "SLURM", "OMPI_COMM", "MPI_"))}


def answers(processes):
    return sorted(process.communicate(timeout=100)[0].strip() for process in processes)


def test_tasks_of_srun_on_one_host_meet():
    job = {"SLURM_STEP_NUM_TASKS": "3", "SLURM_STEP_TASKS_PER_NODE": "3", "SLURM_JOB_ID": f"t{os.getpid()}"}
    started = [subprocess.Popen([sys.executable, "-c", SCENE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env={**clean(), **job, "SLURM_PROCID": str(rank)}) for rank in range(3)]
    assert answers(started) == ["0 3 111", "1 3 111", "2 3 111"]


def test_ranks_of_hydra_on_one_host_meet(tmp_path):
    """Under a process of the name that MPICH's has; a shell between makes no difference."""
    proxy = tmp_path / "hydra_pmi_proxy"
    proxy.write_text('#!/bin/sh\nfor rank in 0 1; do PMI_RANK=$rank sh -c \'"$@"; true\' sh "$@" & done; wait\n')
    proxy.chmod(0o755)
    job = {"PMI_SIZE": "2", "MPI_LOCALNRANKS": "2"}
    done = subprocess.run([str(proxy), sys.executable, "-c", SCENE], env={**clean(), **job}, capture_output=True, text=True,
                          timeout=100, check=False)
    assert sorted(done.stdout.split("\n")) == ["", "0 2 11", "1 2 11"], done.stderr


@pytest.mark.parametrize("variables, words", [
    ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "3", "SLURM_STEP_TASKS_PER_NODE": "1(x3)"}, "MASTER_ADDR.*torchrun"),
    ({"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALNRANKS": "2"}, "without a rendezvous point; set MASTER_ADDR=127.0.0.1"),
])
def test_workers_without_a_meeting_point_are_refused(monkeypatch, variables, words):
    monkeypatch.setattr("torch.distributed.is_initialized", lambda: False)
    monkeypatch.setattr("os.environ", {**clean(), **variables})
    with pytest.raises(syncopate.OptionError, match=words):
        syncopate.torch.init()
