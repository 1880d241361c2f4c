"""A run's directory and its life as a user meets them: two runs that want one directory, full disks, time left,
other servers, lengths of runs, signals.

    test_run_command.py COMMAND [MPIRUN]     the program to test, and what starts it many times (in the environment of tests/mpi.env)
"""
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

COMMAND = "syncopate"
MPIRUN = None
SMALL = ["--model", "mlp", "--data", "synthetic", "--synthetic-examples", "480", "--threads", "1", "--batch", "8",
         "--evaluate", "off", "--lr", "0.05", "--lr-schedule", "constant", "--log-every", "5", "--warmup", "3"]
ENDLESS = [*SMALL, "--epochs", "100000"]


def words(ranks, *flags):
    if not ranks:
        return [COMMAND, *flags]
    return [MPIRUN, "-n", str(ranks), COMMAND, *flags]


def call(*flags, ranks=0, **more):
    return subprocess.run(words(ranks, *flags), capture_output=True, text=True, timeout=250, check=False,
                          **more)


def call_telling_codes(ranks, *flags):
    """Each rank's exit code on standard output; mpirun has only that of the rank that ends first."""
    command = words(ranks, *flags)
    at = command.index(COMMAND)
    command[at:at] = ["sh", "-c", '"$@"; echo "code $?"', "sh"]
    return subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)


def is_impatient():
    """Whether this mpirun kills ranks about a second after a signal, whatever is set."""
    return "(Open MPI) 5" in subprocess.run([MPIRUN, "--version"], capture_output=True, text=True, check=False).stdout


def no_file_over(size):
    """For the child: a disk that is full after so many bytes of a file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class Run(unittest.TestCase):
    def setUp(self):
        root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.home = tempfile.TemporaryDirectory(dir=root)
        self.addCleanup(self.home.cleanup)
        self.out = os.path.join(self.home.name, "run")

    def train(self, *flags, **more):
        done = call("train", *flags, "--json", **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def start(self, *flags, ranks=0, until="metrics.jsonl", env=None):
        """Begin a run; return when it has that file."""
        process = subprocess.Popen(words(ranks, "train", *flags, "--out", self.out), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=env)
        self.addCleanup(self.end, process)
        deadline = time.monotonic() + 100
        while not os.path.exists(os.path.join(self.out, until)):
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.communicate()

    def ranks(self):
        """The processes of the run that mpirun has started."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    line = file.read().decode(errors="replace").split("\0")
            except OSError:  # it has ended meanwhile
                continue
            if line[0] == COMMAND and self.out in line:
                found.append(int(name))
        return found

    def listing(self):
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(self.out) for name in names)

    def steps_of(self, worker):
        """Steps, after the first, of which there is a checkpoint of that worker's."""
        return {name.split("/")[-2] for name in self.listing() if re.search(rf"/step-[1-9]\d*/worker-{worker}.syn$", name)}

    def check_refused(self, done, pid):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.check_refusal(done, pid)

    def check_refusal(self, done, pid):
        said = [line for line in done.stderr.splitlines() if line.startswith("syncopate: out:")]
        self.assertEqual(len(said), 1, done.stderr)
        self.assertRegex(said[0], rf'"{self.out}" is still running \(host {re.escape(socket.gethostname())}, '
                                  rf"process {pid}, since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC\)")

    def test_a_run_that_goes_on_is_neither_resumed_nor_overwritten(self):
        process = self.start(*ENDLESS, "--workers", "2", "--checkpoint-every", "1000000",
                             until="checkpoints/step-0/worker-1.syn")
        before = self.listing()
        self.assertIn(os.path.join(self.out, "lock"), before)
        for flags in (["--resume", self.out], [*SMALL, "--out", self.out], [*SMALL, "--out", self.out, "--overwrite"]):
            with self.subTest(flags=flags):
                self.check_refused(call("train", *flags), process.pid)
                self.assertEqual(self.listing(), before)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=100), 128 + signal.SIGINT)
        self.assertNotIn(os.path.join(self.out, "lock"), self.listing())
        with open(os.path.join(self.out, "summary.json"), encoding="utf-8") as file:
            steps = json.load(file)["steps"]
        self.assertEqual(self.train("--resume", self.out, "--steps", str(steps + 2))["steps"], steps + 2)

    def test_a_run_without_a_checkpoint_yet_is_said_to_go_on(self):
        process = self.start(*ENDLESS, "--workers", "2")
        before = self.listing()
        for command in (["train", "--resume", self.out], ["export", self.out, "-o", self.out + ".npz"], ["evaluate", self.out],
                        ["predict", self.out, "image"]):
            with self.subTest(command=command):
                done = call(*command)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                self.assertRegex(done.stderr, rf'the run in "{self.out}" is still running \(host {re.escape(socket.gethostname())}, '
                                              rf"process {process.pid}, since .* UTC\) and has not written a checkpoint yet")
                self.assertEqual(self.listing(), before)

    def test_under_mpirun_no_rank_touches_a_run_that_goes_on(self):
        if not MPIRUN:
            self.skipTest("no mpirun")
        process = self.start(*ENDLESS, "--workers", "3", "--checkpoint-every", "1000000",
                             until="checkpoints/step-0/worker-2.syn")
        before = self.listing()
        for flags in (["--resume", self.out], [*SMALL, "--out", self.out, "--overwrite"]):
            with self.subTest(flags=flags):
                done = call_telling_codes(3, "train", *flags)
                self.assertEqual(done.stdout, "code 2\n" * 3, done.stderr)
                self.check_refusal(done, process.pid)
                self.assertEqual(self.listing(), before)

    def test_a_run_that_was_killed_leaves_no_lock_behind(self):
        process = self.start(*ENDLESS)
        process.kill()
        process.wait()
        self.assertEqual(self.train(*SMALL, "--steps", "2", "--out", self.out, "--overwrite")["steps"], 2)

    def test_weights_that_cannot_be_saved_at_the_end_are_a_failure(self):
        done = call("train", *SMALL, "--workers", "2", "--steps", "9", "--out", self.out,
                    preexec_fn=lambda: no_file_over(65536))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"syncopate: the weights of step 9 could not be saved in {self.out}\n", done.stderr)
        self.assertEqual(os.listdir(os.path.join(self.out, "checkpoints")), [])

    def test_servers_may_change_with_a_resumed_run(self):
        for algo in ("ssgd", "asgd"):
            with self.subTest(algo=algo):
                out = os.path.join(self.home.name, algo)
                self.train(*SMALL, "--algo", algo, "--workers", "2", "--servers", "1", "--steps", "4", "--out", out)
                again = self.train("--resume", out, "--servers", "2", "--steps", "8")
                self.assertEqual((again["steps"], again["servers"]), (8, 2))
        done = call("train", "--resume", os.path.join(self.home.name, "ssgd"), "--servers", "0", "--steps", "9")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("servers", done.stderr)

    def settings(self):
        with open(os.path.join(self.out, "settings.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_a_short_run_has_the_method_that_was_asked_for(self):
        flags = ["--model", "mlp", "--data", "synthetic", "--synthetic-examples", "6000", "--threads", "1",
                 "--workers", "2", "--evaluate", "off", "--log-every", "1", "--out", self.out, "--overwrite"]
        self.train(*flags, "--algo", "gtopk", "--steps", "10")
        self.assertAlmostEqual(self.settings()["density_warmup"], 0.2 * 10 / 47)
        with open(os.path.join(self.out, "metrics.jsonl"), encoding="utf-8") as file:
            densities = [json.loads(line)["density"] for line in file]
        self.assertGreater(densities[0], 0.2)
        self.assertLess(densities[-1], 0.011)
        summary = self.train(*flags, "--algo", "ssd-sgd", "--steps", "20")
        self.assertEqual(self.settings()["warmup"], 2)
        self.assertNotIn("idle", summary)

    def test_a_method_that_never_begins_says_so_at_the_start_and_at_the_end(self):
        flags = [*SMALL, "--workers", "2", "--algo", "ssd-sgd", "--warmup", "500", "--steps", "12", "--out", self.out]
        done = call("train", *flags)
        words = "ssd-sgd never begins to delay: its warm-up is 500 steps, the run 12 (--warmup)"
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count(f"syncopate: warning: {words}\n"), 1, done.stderr)
        self.assertIn(f"\n{words}\n", done.stdout)
        with open(os.path.join(self.out, "summary.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["idle"], words)

    def test_a_last_batch_too_small_for_batch_norm_is_told_once_with_a_better_one(self):
        flags = ["--data", "synthetic", "--synthetic-height", "32", "--synthetic-width", "32", "--threads", "1",
                 "--workers", "2", "--evaluate", "off"]
        told = "only 2 images per worker, too few for batch norm in most networks; --batch 17 avoids this"
        for model, examples, batch, times in (("resnet20", 68, 16, 1), ("resnet20", 68, 17, 0), ("resnet20", 80, 16, 0),
                                              ("resnet20", 64, 16, 0), ("mlp", 68, 16, 0)):
            done = call("train", *flags, "--model", model, "--synthetic-examples", str(examples), "--batch", str(batch),
                        "--epochs", "1")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count(told), times, (model, examples, batch, done.stderr))
        done = call("train", *flags, "--model", "resnet20", "--synthetic-examples", "68", "--batch", "16", "--steps", "2")
        self.assertNotIn(told, done.stderr)  # this run never reaches the last batch

    def test_a_finished_cycle_that_is_resumed_begins_a_new_one_with_a_warning(self):
        flags = [*SMALL, "--lr-schedule", "one-cycle", "--log-every", "1", "--out", self.out]
        self.train(*flags, "--epochs", "1")
        done = call("train", "--resume", self.out, "--epochs", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("syncopate: warning: the learning rate had reached 0:"), 1, done.stderr)
        with open(os.path.join(self.out, "metrics.jsonl"), encoding="utf-8") as file:
            rates = [json.loads(line)["lr"] for line in file]
        self.assertLess(rates[60], 0.05 * max(rates))
        self.assertEqual(self.settings()["lr_from"], 1)

    def test_a_signal_in_the_middle_of_a_long_step_leaves_a_checkpoint(self):
        """A step of 6,000 batches; mpirun gets the signal. A test must not depend on speed: after SIGINT, mpirun waits longer
        than by default before it kills, for all of that time, however soon the ranks end; where it cannot, the ranks get
        the signal themselves. After SIGUSR1, it waits for ever."""
        if not MPIRUN:
            self.skipTest("no mpirun")
        slow = ["--model", "resnet20", "--data", "synthetic", "--synthetic-examples", "12000", "--threads", "1",
                "--batch", "1", "--accumulate", "6000", "--evaluate", "off"]
        patience = {"OMPI_MCA_odls_base_sigkill_timeout": "10", "PRTE_MCA_odls_base_sigkill_timeout": "10"}
        for ranks, number, algo in ((2, signal.SIGINT, ["ssgd"]), (3, signal.SIGUSR1, ["asgd", "--servers", "1"])):
            with self.subTest(algo=algo, number=number):
                self.out = os.path.join(self.home.name, f"{algo[0]}-{number}")
                process = self.start(*slow, "--algo", *algo, ranks=ranks, env={**os.environ, **patience})
                time.sleep(1)
                if number == signal.SIGINT and is_impatient():
                    found = self.ranks()
                    self.assertEqual(len(found), ranks)
                    for rank in found:
                        os.kill(rank, number)
                else:
                    process.send_signal(number)
                _, told = process.communicate(timeout=100)
                self.assertNotIn("not finite", told)
                parts = os.listdir(os.path.join(self.out, "checkpoints", "step-0"))
                self.assertEqual(sorted(parts), ["worker-0.syn", "worker-1.syn"])
                with open(os.path.join(self.out, "summary.json"), encoding="utf-8") as file:
                    self.assertTrue(json.load(file)["stopped"])

    def test_under_mpirun_checkpoints_are_written_by_the_clock(self):
        """So that what ends a run without warning costs ten minutes at most, by default."""
        if not MPIRUN:
            self.skipTest("no mpirun")
        process = self.start(*ENDLESS, "--checkpoint-minutes", "0.001", ranks=2)
        deadline = time.monotonic() + 100
        while not self.steps_of(0) & self.steps_of(1):
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline, self.listing())
            time.sleep(0.05)


if __name__ == "__main__":
    COMMAND = sys.argv.pop(1)
    if len(sys.argv) > 1 and os.access(sys.argv[1], os.X_OK):
        MPIRUN = sys.argv.pop(1)
    unittest.main()
