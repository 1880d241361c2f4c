"""On how many threads syncopate train computes: by affinity, by control group and by the workers of this host.

    test_threads.py COMMAND [MPIRUN]    the program to test, and how to launch ranks of it
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

COMMAND = "syncopate"
LAUNCH = []
SMALL = ["train", "--model", "mlp", "--data", "synthetic", "--synthetic-examples", "160", "--batch", "8", "--steps", "2",
         "--evaluate", "off"]
CORES = sorted(os.sched_getaffinity(0))
GROUPS = "/sys/fs/cgroup"


class Threads(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.out = os.path.join(self.home.name, "run")

    def train(self, *words, flags=(), resume=False, **how):
        target = ["--resume", self.out] if resume else [*SMALL[1:], "--out", self.out, "--overwrite"]
        done = subprocess.run([*words, COMMAND, "train", *target, *flags], capture_output=True, text=True, timeout=100,
                              check=False, **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.out, "settings.json"), encoding="utf-8") as file:
            return json.load(file)["hosts"]

    def check(self, hosts, cores, *rows):
        """rows: (workers, threads)"""
        self.assertEqual([(row["cores"], row["workers"], row["threads"]) for row in hosts],
                         [(cores, *row) for row in rows])

    def test_affinity_counts_rather_than_the_machine(self):
        self.check(self.train("taskset", "-c", str(CORES[0])), 1, (1, 1))

    def test_workers_that_are_threads_share_the_cores(self):
        cores = len(CORES)
        self.check(self.train(flags=["--workers", "2"]), cores, (2, max(1, cores // 2)))

    def test_resuming_finds_the_threads_anew(self):
        self.train("taskset", "-c", str(CORES[0]))
        self.check(self.train(resume=True, flags=["--steps", "4"]), len(CORES), (1, len(CORES)))

    def test_ranks_share_cores_unless_each_has_its_own(self):
        if not LAUNCH:
            self.skipTest("no mpirun")
        one = ["taskset", "-c", str(CORES[0])]
        self.check(self.train(*LAUNCH, "-n", "2"), len(CORES), (2, max(1, len(CORES) // 2)))
        self.check(self.train(*LAUNCH, "-n", "2", *one), 1, (2, 1))
        if len(CORES) >= 2:
            own = ["sh", "-c", f'exec taskset -c $(( ${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} + {CORES[0]} )) "$@"', "sh"]
            self.check(self.train(*LAUNCH, "-n", "2", *own), 1, (2, 1))

    def limited_group(self):
        """A control group, of either version, that has 1.2 cores' time."""
        version_1 = os.path.join(GROUPS, "cpu")
        limits = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "120000"}
        if not os.path.isdir(version_1):
            limits = {"cpu.max": "120000 100000"}
        group = os.path.join(version_1 if os.path.isdir(version_1) else GROUPS, f"syncopate-test-{os.getpid()}")
        try:
            os.mkdir(group)
        except OSError as error:
            self.skipTest(f"no control group can be made: {error}")
        self.addCleanup(os.rmdir, group)
        for name, value in limits.items():
            try:
                with open(os.path.join(group, name), "r+", encoding="ascii") as file:
                    file.write(value)
            except OSError as error:
                self.skipTest(f"no quota can be set: {error}")
        return group

    def test_a_quota_of_a_control_group_counts(self):
        join = ["sh", "-c", f'echo $$ > {self.limited_group()}/cgroup.procs && exec "$@"', "sh"]
        self.check(self.train(*join), 1, (1, 1))


if __name__ == "__main__":
    COMMAND, *LAUNCH = filter(None, sys.argv[1:])
    del sys.argv[1:]
    unittest.main()
