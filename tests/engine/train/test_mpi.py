"""syncopate train under real mpirun: the weights that threads come to, with workers alone and with parameter servers.

    test_mpi.py COMMAND MPIRUN [FLAG...]    the program to test and how to launch it; its last FLAG is --
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

COMMAND = "syncopate"
LAUNCH = ["mpirun"]
SMALL = ["--model", "mlp", "--data", "synthetic", "--synthetic-examples", "600", "--threads", "1", "--batch", "8",
         "--steps", "13", "--warmup", "3", "--density", "0.02", "--json"]


class Mpi(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.out = os.path.join(self.home.name, "run")

    def run_command(self, command):
        done = subprocess.run([*command, "--out", self.out, "--overwrite"], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("\n"), 1, done.stdout)  # worker 0 alone speaks
        return json.loads(done.stdout)

    def train(self, workers, servers, *flags):
        """Two summaries: of threads, and of as many processes."""
        flags = [*SMALL, "--servers", str(servers), *flags]
        threads = self.run_command([COMMAND, "train", *flags, "--workers", str(workers)])
        ranks = self.run_command([*LAUNCH, "-n", str(workers + servers), COMMAND, "train", *flags])
        for summary in (threads, ranks):
            self.assertEqual((summary["workers"], summary["servers"]), (workers, servers))
        return threads, ranks

    def check_same(self, workers, servers, *flags):
        threads, ranks = self.train(workers, servers, *flags)
        self.assertEqual(threads["weights_hash"], ranks["weights_hash"], (workers, servers, flags))

    def test_workers_come_to_the_same_weights_as_threads(self):
        for algo in ("ssgd", "gtopk", "ssd-sgd"):
            for workers in (1, 2, 3, 5):
                self.check_same(workers, 0, "--algo", algo)

    def test_servers_come_to_the_same_weights_as_threads(self):
        for workers, servers, algo in ((1, 1, "ssgd"), (2, 3, "ssgd"), (5, 1, "ssgd"), (3, 2, "ssd-sgd"),
                                       (3, 2, "topk"), (2, 1, "strom")):
            self.check_same(workers, servers, "--algo", algo)

    def test_asgd_goes_through_and_tells_its_staleness(self):
        for summary in self.train(3, 1, "--algo", "asgd"):
            self.assertGreaterEqual(summary["staleness_max"], summary["staleness_mean"])

    def test_more_servers_than_ranks_are_refused(self):
        command = [*LAUNCH, "-n", "2", COMMAND, "train", *SMALL, "--algo", "asgd", "--servers", "2", "--out", self.out]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("2 servers in a group of 2 leave no worker", done.stderr)
        self.assertFalse(os.path.exists(self.out))


if __name__ == "__main__":
    END = sys.argv.index("--")
    COMMAND, *LAUNCH = sys.argv[1:END]
    del sys.argv[1:END + 1]
    unittest.main()
