"""Syncopate under a real Slurm: scripts/slurm starts one for this test and stops it.

    test_slurm.py COMMAND MPIRUN [LIBRARY]    the program to test, and the library of the Python package
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import ranks  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
COMMAND = "syncopate"
MPIRUN = "mpirun"
LIBRARY = ""
SMALL = ["train", "--model", "mlp", "--data", "synthetic", "--synthetic-examples", "600", "--threads", "1", "--batch", "8",
         "--steps", "7", "--warmup", "3", "--density", "0.02", "--algo", "gtopk", "--json"]
JOB = """
import torch, syncopate.torch
from torch.nn.parallel import DistributedDataParallel
rank, workers = syncopate.torch.init()
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(4, 3))
attached = syncopate.torch.attach(model, "gtopk", density=0.5)
torch.manual_seed(rank)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
with open(f"told-{rank}", "w") as file:
    print(workers, sum(p.double().sum().item() for p in model.parameters()), file=file)
"""


def how_ranks_meet():
    """What srun is to offer to the MPI at hand: Debian's MPICH speaks no PMIx."""
    version = subprocess.run([MPIRUN, "--version"], capture_output=True, text=True, check=False).stdout
    return "--mpi=pmi2" if "HYDRA" in version else "--mpi=pmix"


class Slurm(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.out = os.path.join(self.home.name, "run")

    def run_words(self, *words, code=0, **more):
        done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False, cwd=self.home.name,
                              env={**os.environ, **more})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def train(self, *launch, flags=()):
        done = self.run_words(*launch, COMMAND, *SMALL, "--out", self.out, "--overwrite", *flags)
        return json.loads(done.stdout)

    def test_ranks_of_srun_come_to_the_weights_of_threads(self):
        threads = self.train(flags=["--workers", "3"])
        tasks = self.train("srun", how_ranks_meet(), "-n", "3")
        self.assertEqual(tasks["workers"], 3)
        self.assertEqual(tasks["weights_hash"], threads["weights_hash"])

    def test_srun_without_mpi_is_refused(self):
        done = self.run_words("srun", "-n", "3", COMMAND, *SMALL, "--out", self.out, code=2)
        self.assertIn("srun started 3 processes", done.stderr)
        self.assertIn("--mpi=pmix", done.stderr)
        self.assertFalse(os.path.exists(self.out))

    def test_a_task_that_refuses_its_flags_ends_those_that_wait_for_it(self):
        train = [COMMAND, *SMALL, "--out", self.out]
        mixed = ranks.one_and_the_others(2, train, [*train, "--batch", "some"])
        done = subprocess.run(["srun", how_ranks_meet(), "-n", "3", *mixed],
                              capture_output=True, text=True, timeout=200, check=False, cwd=self.home.name)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('batch: "some" is not valid', done.stderr)
        self.assertFalse(os.path.exists(self.out))

    def test_as_many_single_runs_as_tasks_are_there_for_the_asking(self):
        script = f'exec {COMMAND} {" ".join(SMALL)} --workers 1 --out {self.out}-$SLURM_PROCID'
        self.run_words("srun", "-n", "2", "sh", "-c", script)
        for task in range(2):
            with open(f"{self.out}-{task}/summary.json", encoding="utf-8") as file:
                self.assertEqual(json.load(file)["workers"], 1)

    def batch(self, name, *words, **more):
        """Run a batch script of the examples to its end, on one node and with two tasks."""
        log = os.path.join(self.home.name, "log")
        how = ["--wait", "-N", "1", "--ntasks-per-node", more.pop("tasks", "2"), "--cpus-per-task", "1", "-o", log]
        done = subprocess.run(["sbatch", *how, os.path.join(ROOT, "examples", "cluster", name), *words], check=False,
                              capture_output=True, text=True, timeout=200, env={**os.environ, **more}, cwd=self.home.name)
        with open(log, encoding="utf-8") as file:
            self.assertEqual(done.returncode, 0, done.stderr + file.read())

    def test_batch_scripts_start_ranks_by_srun_and_by_mpirun(self):
        folder = os.path.dirname(MPIRUN)
        for name in ("srun", "mpirun"):
            self.batch(f"{name}.sbatch", *SMALL[1:], "--out", self.out, "--overwrite", SYNCOPATE=COMMAND,
                       SLURM_MPI_TYPE=how_ranks_meet().partition("=")[2], PATH=f"{folder}:{os.environ['PATH']}")
            with open(f"{self.out}/summary.json", encoding="utf-8") as file:
                self.assertEqual(json.load(file)["workers"], 2, name)

    def test_torchrun_under_srun_joins_its_workers(self):
        if not LIBRARY or subprocess.run(["/usr/bin/python3", "-c", "import torch"], check=False,
                                         capture_output=True).returncode != 0:
            self.skipTest("no PyTorch")
        job = os.path.join(self.home.name, "job.py")
        with open(job, "w", encoding="utf-8") as file:
            file.write(JOB)
        self.batch("torchrun.sbatch", job, tasks="1", WORKERS_PER_NODE="2", PYTHON="/usr/bin/python3",
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000), SYNCOPATE_LIBRARY=LIBRARY,
                   OMP_NUM_THREADS="1", PYTHONPATH=os.path.join(ROOT, "python"), PYTHONDONTWRITEBYTECODE="1")
        told = []
        for rank in range(2):
            with open(os.path.join(self.home.name, f"told-{rank}"), encoding="utf-8") as file:
                told.append(file.read().split())
        self.assertEqual(told[0][0], "2")
        self.assertEqual(told[0], told[1])


if __name__ == "__main__":
    if "SLURM_CONF" not in os.environ or not os.environ["SLURM_CONF"].startswith("/tmp/slurm-"):
        os.execv(os.path.join(ROOT, "scripts", "slurm"), ["slurm", sys.executable, *sys.argv])
    COMMAND, MPIRUN, LIBRARY = (sys.argv[1:] + [""])[:3]
    del sys.argv[1:]
    unittest.main()
