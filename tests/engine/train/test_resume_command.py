"""Checkpoints as a user meets them: killed runs, mpirun, inspect, full disks, Ctrl-C.

    test_resume_command.py COMMAND [MPIRUN]     the program to test, and what starts it many times (in the environment of tests/mpi.env)
"""
import array
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

COMMAND = "syncopate"
MPIRUN = None
SMALL = ["--model", "mlp", "--data", "synthetic", "--synthetic-examples", "480", "--threads", "1", "--batch", "8",
         "--evaluate", "off", "--lr", "0.05", "--lr-schedule", "constant", "--log-every", "5", "--warmup", "3"]


def words(ranks, *flags):
    if not ranks:
        return [COMMAND, *flags]
    return [MPIRUN, "-n", str(ranks), COMMAND, *flags]


def call(*flags, ranks=0, **more):
    return subprocess.run(words(ranks, *flags), capture_output=True, text=True, timeout=250, **more)


def no_file_over(size):
    """For the child: a disk that is full after so many bytes of a file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def session_of(leader):
    """Processes of a session that are not zombies. mpirun puts its ranks into process groups of their own."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(name))
    return found


def kill_session(leader):
    """All of it: ranks that outlive their mpirun for a moment would go on writing."""
    while pids := session_of(leader):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.005)


class Resume(unittest.TestCase):
    def setUp(self):
        root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.home = tempfile.TemporaryDirectory(dir=root)
        self.addCleanup(self.home.cleanup)
        self.out = os.path.join(self.home.name, "run")

    def train(self, *flags, **more):
        done = call("train", *flags, "--json", **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def checkpoints(self):
        folder = os.path.join(self.out, "checkpoints")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return sorted(int(name[5:]) for name in names if name.startswith("step-") and name[5:].isdigit())

    def kill_after(self, step, ranks, *flags):
        """Start a run and kill all of it once it has a checkpoint of that step or a later one."""
        with subprocess.Popen(words(ranks, "train", *flags, "--out", self.out), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True) as process:
            end = time.monotonic() + 100
            while not any(found >= step for found in self.checkpoints()) and process.poll() is None:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.005)
            kill_session(process.pid)
            process.wait()

    def check_killed(self, algo, workers, ranks, resumed_ranks):
        flags = [*SMALL, "--workers", str(workers), "--epochs", "2", "--algo", *algo, "--checkpoint-every", "3"]
        whole = self.train(*flags, "--out", os.path.join(self.home.name, "whole"))
        self.kill_after(random.randrange(3, whole["steps"] // 2), ranks, *flags)
        again = self.train("--resume", self.out, ranks=resumed_ranks)
        self.assertEqual(again["weights_hash"], whole["weights_hash"])
        self.assertEqual(again["steps"], whole["steps"])

    def test_killed_at_a_random_step_it_resumes_to_the_same_bits(self):
        self.check_killed(["gtopk", "--density", "0.02"], 3, 0, 0)

    def test_killed_with_delayed_steps_it_resumes_to_the_same_bits(self):
        self.check_killed(["ssd-sgd"], 2, 0, 0)

    def test_killed_under_mpirun_it_resumes_there_or_on_threads(self):
        if not MPIRUN:
            self.skipTest("no mpirun")
        self.check_killed(["ssd-sgd", "--select", "topk", "--density", "0.02", "--exchange", "gtopk"], 3, 3, 3)
        shutil.rmtree(self.home.name + "/whole")
        shutil.rmtree(self.out)
        self.check_killed(["od-sgd"], 3, 3, 0)

    def test_each_rank_may_have_a_file_system_of_its_own(self):
        if not MPIRUN:
            self.skipTest("no mpirun")
        flags = [*SMALL, "--workers", "2", "--epochs", "1", "--algo", "topk"]
        whole = self.train(*flags, "--out", self.out, "--checkpoint-every", "20")
        shutil.rmtree(os.path.join(self.out, "checkpoints", f"step-{whole['steps']}"))
        parts = os.path.join(self.out, "checkpoints", f"step-{self.checkpoints()[-1]}")
        program = os.path.join(self.home.name, "program")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\ncd {self.home.name}/node-${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} && exec {COMMAND} "$@"\n')
        os.chmod(program, 0o755)
        for rank in range(2):
            node = os.path.join(self.home.name, f"node-{rank}", "run")
            shutil.copytree(self.out, node)
            os.remove(os.path.join(node, os.path.relpath(parts, self.out), f"worker-{1 - rank}.syn"))
        done = subprocess.run([MPIRUN, "-n", "2", program, "train", "--resume", "run", "--json"],
                              capture_output=True, text=True, timeout=250, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["weights_hash"], whole["weights_hash"])
        for rank in range(2):
            left = os.path.join(self.home.name, f"node-{rank}", "run", "checkpoints", f"step-{whole['steps']}")
            self.assertEqual(os.listdir(left), [f"worker-{rank}.syn"])

    def test_after_ctrl_c_with_three_workers_it_goes_on(self):
        flags = [*SMALL, "--workers", "3", "--log-every", "100000000", "--epochs", "100000"]
        with subprocess.Popen(words(0, "train", *flags, "--checkpoint-every", "1000000", "--out", self.out),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            end = time.monotonic() + 60
            while self.checkpoints() != [0] and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        stopped_at = self.checkpoints()[-1]
        again = self.train("--resume", self.out, "--steps", str(stopped_at + 4))
        self.assertEqual(again["steps"], stopped_at + 4)

    def test_inspect_tells_what_is_there_and_refuses_the_rest(self):
        self.train(*SMALL, "--workers", "2", "--steps", "6", "--algo", "topk", "--out", self.out)
        part = os.path.join(self.out, "checkpoints", "step-6", "worker-1.syn")
        told = json.loads(call("inspect", part, "--json").stdout)
        self.assertEqual((told["version"], told["step"], told["rank"], told["workers"]), (1, 6, 1, 2))
        self.assertEqual((told["model"], told["data"], told["algo"]), ("mlp", "synthetic", "topk"))
        arrays = {section["name"]: section for section in told["sections"]}
        self.assertEqual(arrays["train/weights"]["floats"], told["params"])
        self.assertGreater(arrays["train/weights"]["norm"], 0)
        self.assertGreater(told["residual_norm"], 0)
        self.assertEqual(call("inspect", self.out).stdout.count("intact"), 2)
        self.assertIn("train/weights", call("inspect", os.path.dirname(part)).stdout)
        with open(part, "rb") as file:
            whole = file.read()
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:]
        for spoilt in (whole[:100], whole[:-1], whole + b"\0", flipped, b"", b"hello"):
            with open(part, "wb") as file:
                file.write(spoilt)
            for path in (part, self.out):
                done = call("inspect", path)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for path in (os.path.join(self.out, "settings.json"), self.home.name, "/nowhere"):
            done = call("inspect", path)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    def test_inspect_tells_norms_and_the_epoch(self):
        self.train(*SMALL, "--workers", "2", "--steps", "6", "--out", self.out)
        part = os.path.join(self.out, "checkpoints", "step-6", "worker-1.syn")
        told = json.loads(call("inspect", part, "--json").stdout)
        self.assertAlmostEqual(told["epoch"], 6 / 30)  # 480 examples, 16 in a step
        with open(part, "rb") as file:
            whole = file.read()
        begin = whole.index(b"train/weights\0") + 64  # behind name, length and hash
        weights = array.array("f", whole[begin:begin + 4 * told["params"]])
        norm = next(section["norm"] for section in told["sections"] if section["name"] == "train/weights")
        self.assertAlmostEqual(norm / math.hypot(*weights), 1, places=6)

    def test_inspect_counts_epochs_in_examples_whatever_the_number_of_workers_was(self):
        self.train(*SMALL, "--workers", "2", "--steps", "6", "--out", self.out)
        self.train("--resume", self.out, "--workers", "4", "--steps", "9")
        part = os.path.join(self.out, "checkpoints", "step-9", "worker-0.syn")
        told = json.loads(call("inspect", part, "--json").stdout)
        self.assertEqual(told["step"], 9)
        self.assertAlmostEqual(told["epoch"], (6 * 16 + 3 * 32) / 480)

    def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(self):
        whole = self.train(*SMALL, "--workers", "2", "--steps", "20", "--checkpoint-every", "8", "--out", self.out)
        path = os.path.join(self.out, "checkpoints", "step-20", "worker-1.syn")
        with open(path, "r+b") as file:
            file.seek(9999)
            file.write(b"damage")
        done = call("train", "--resume", self.out, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(path, done.stderr)
        self.assertIn("from step 16", done.stderr)
        self.assertEqual(json.loads(done.stdout)["weights_hash"], whole["weights_hash"])

    def test_what_contradicts_the_run_is_one_line_and_code_2(self):
        self.train(*SMALL, "--steps", "3", "--out", self.out)
        for flags in (["--model", "lenet"], ["--data", "mnist"], ["--lr", "1"], ["--algo", "topk"], ["--batch", "9"],
                      ["--seed", "2"], ["--steps", "2"], ["--resume", self.home.name], ["--delay", "3"]):
            with self.subTest(flags=flags):
                done = call("train", "--resume", self.out, *flags)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertTrue(os.path.exists(os.path.join(self.out, "summary.json")))

    def test_another_number_of_workers_is_told(self):
        self.train(*SMALL, "--workers", "4", "--steps", "5", "--algo", "gtopk", "--out", self.out)
        done = call("train", "--resume", self.out, "--workers", "3", "--steps", "9", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 workers instead of 4", done.stderr)
        self.assertEqual(json.loads(done.stdout)["steps"], 9)

    def test_a_full_disk_is_told_at_the_start_if_checkpoints_are_asked_for(self):
        done = call("train", *SMALL, "--workers", "2", "--steps", "9", "--checkpoint-every", "3", "--out", self.out,
                    preexec_fn=lambda: no_file_over(65536))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cannot be written", done.stderr)
        self.assertEqual(self.checkpoints(), [])


if __name__ == "__main__":
    COMMAND = sys.argv.pop(1)
    if len(sys.argv) > 1 and os.access(sys.argv[1], os.X_OK):
        MPIRUN = sys.argv.pop(1)
    unittest.main()
