"""syncopate train under real mpirun: the weights that threads come to, with workers alone and with parameter servers.

    test_mpi.py COMMAND MPIRUN [FLAG...]    the program to test and how to launch it; its last FLAG is --
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests"))
import pictures  # noqa: E402
import ranks  # noqa: E402

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
        processes = self.run_command([*LAUNCH, "-n", str(workers + servers), COMMAND, "train", *flags])
        for summary in (threads, processes):
            self.assertEqual((summary["workers"], summary["servers"]), (workers, servers))
        return threads, processes

    def check_same(self, workers, servers, *flags):
        threads, processes = self.train(workers, servers, *flags)
        self.assertEqual(threads["weights_hash"], processes["weights_hash"], (workers, servers, flags))

    def test_workers_come_to_the_same_weights_as_threads(self):
        for workers, algo in ((1, "ssgd"), (2, "ssgd"), (5, "ssgd"), (2, "gtopk"), (3, "gtopk"), (5, "gtopk"), (1, "ssd-sgd"),
                              (3, "ssd-sgd")):
            self.check_same(workers, 0, "--algo", algo)

    def test_servers_come_to_the_same_weights_as_threads(self):
        for workers, servers, algo in ((1, 1, "ssgd"), (2, 3, "ssgd"), (5, 1, "ssgd"), (3, 2, "ssd-sgd"),
                                       (3, 2, "topk"), (2, 1, "strom")):
            self.check_same(workers, servers, "--algo", algo)

    def make_folder(self, name):
        folder = os.path.join(self.home.name, name)
        for i in range(48):
            part = "val" if i % 6 == 5 else "train"
            pictures.write_png(os.path.join(folder, part, "night" if i % 2 else "day", f"{i}.png"), 100 * (i % 2) + i)
        return folder

    def train_on(self, folder):
        return [COMMAND, "train", "--model", "lenet", "--data", "folder", "--data-dir", folder, "--image-size", "28", "--threads",
                "1", "--batch", "4", "--epochs", "4", "--density", "0.05", "--loader-threads", "2", "--json"]

    def test_four_ranks_read_a_folder_of_pictures_as_four_threads_do(self):
        words = self.train_on(self.make_folder("pictures"))
        for algo in ("ssgd", "gtopk"):
            done = subprocess.run([*words, "--algo", algo, "--workers", "4", "--out", self.out, "--overwrite"],
                                  capture_output=True, text=True, timeout=100)
            if "this build is without libpng" in done.stderr:
                self.skipTest("no libpng")
            self.assertEqual(done.returncode, 0, done.stderr)
            ranks_ = self.run_command([*LAUNCH, "-n", "4", *words, "--algo", algo])
            self.assertEqual(ranks_["weights_hash"], json.loads(done.stdout)["weights_hash"], algo)
            self.assertEqual(ranks_["steps"], 12)  # 40 pictures, 16 a step: 3 an epoch

    def test_ranks_with_other_pictures_are_refused(self):
        here, there = (self.train_on(self.make_folder(name)) for name in ("here", "there"))
        with open(os.path.join(self.home.name, "there", "train", "day", "0.png"), "ab") as file:
            file.write(b"x")
        mixed = ranks.one_and_the_others(1, [*here, "--out", self.out], [*there, "--out", self.out])
        done = subprocess.run([*LAUNCH, "-n", "2", *mixed], capture_output=True, text=True, timeout=100)
        if "this build is without libpng" in done.stderr:
            self.skipTest("no libpng")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("data-fingerprint is", done.stderr)
        self.assertFalse(os.path.exists(self.out))

    def test_asgd_goes_through_and_tells_its_staleness(self):
        for summary in self.train(3, 1, "--algo", "asgd"):
            self.assertGreaterEqual(summary["staleness_max"], summary["staleness_mean"])

    def test_a_slow_disk_is_not_taken_for_a_dead_worker(self):
        """A worker whose checkpoint takes far longer than the time-out to reach the disk."""
        slow = os.environ.get("SYNCOPATE_SLOW_FSYNC")
        if not slow:
            self.skipTest("no library with a slow fsync()")
        train = [COMMAND, "train", *SMALL, "--timeout-ms", "500", "--evaluate", "off", "--checkpoint-every", "6",
                 "--out", self.out]
        mixed = ranks.one_and_the_others(2, train, ["env", f"LD_PRELOAD={slow}", *train])
        done = subprocess.run([*LAUNCH, "-n", "3", *mixed], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("slow fsync", done.stderr)
        self.assertEqual(json.loads(done.stdout)["steps"], 13)

    def test_what_a_measured_network_carried_can_be_sent_again_by_threads(self):
        flags = [*SMALL, "--algo", "fit", "--density", "auto", "--steps", "16"]
        ranks = self.run_command([*LAUNCH, "-n", "3", COMMAND, "train", *flags])
        kept = os.path.join(self.home.name, "kept.jsonl")
        os.rename(os.path.join(self.out, "metrics.jsonl"), kept)
        with open(kept, encoding="utf-8") as file:
            forms = [json.loads(line) for line in file if "form_values" in line]
        self.assertEqual(forms[0]["step"], 0)
        self.assertEqual((forms[0]["form_values"], forms[0]["form_density"]), ("q4", 1))
        again = self.run_command([COMMAND, "train", *flags, "--workers", "3", "--density-replay", kept])
        self.assertEqual(ranks["weights_hash"], again["weights_hash"])

    def test_a_warm_up_over_a_slow_link_does_not_send_everything_to_its_end(self):
        lab = os.path.join(ROOT, "bench", "lab")
        train = [COMMAND, "train", *SMALL, "--algo", "fit", "--density", "auto", "--steps", "60", "--warmup", "50", "--evaluate",
                 "off", "--out", self.out]
        done = subprocess.run([lab, "--hosts", "2", "--rate", "10mbit", "--", *train], capture_output=True, text=True,
                              timeout=100)
        if done.returncode == 2 and done.stderr.startswith("lab: "):
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.out, "metrics.jsonl"), encoding="utf-8") as file:
            forms = [(line["step"], line["form_density"]) for line in map(json.loads, file) if "form_values" in line]
        self.assertEqual(forms[0], (0, 1))
        self.assertTrue(any(step < 50 and density < 1 for step, density in forms), forms)

    def test_a_world_of_one_that_was_meant_as_three_is_refused(self):
        """As where the launcher is another MPI's: here there is none, only what it would have said."""
        done = subprocess.run([COMMAND, "train", *SMALL, "--out", self.out], capture_output=True, text=True, timeout=100,
                              check=False, env={**os.environ, "OMPI_COMM_WORLD_SIZE": "3"})
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("3 processes were started (OMPI_COMM_WORLD_SIZE), but MPI finds only this one", done.stderr)
        self.assertFalse(os.path.exists(self.out))

    def test_more_servers_than_ranks_are_refused(self):
        command = [*LAUNCH, "-n", "2", COMMAND, "train", *SMALL, "--algo", "asgd", "--servers", "2", "--out", self.out]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("2 servers in a group of 2 leave no worker", done.stderr)
        self.assertFalse(os.path.exists(self.out))

    def refuse(self, usual, odd):
        """What two ranks say of which the second has other flags: the same line, once each."""
        command = [COMMAND, "train", *SMALL, *usual, "--out", self.out]
        done = subprocess.run([*LAUNCH, "-n", "2", *ranks.one_and_the_others(1, command, [*command, *odd])],
                              capture_output=True, text=True, timeout=100, check=False)
        said = {line for line in done.stderr.splitlines() if line.startswith("syncopate: ")}
        self.assertEqual(done.returncode, 2, (odd, done.stderr))
        self.assertEqual(len(said), 1, (odd, done.stderr))
        self.assertFalse(os.path.exists(self.out), odd)
        return said.pop()

    def test_ranks_with_other_settings_are_refused_before_anything_is_written(self):
        for algo, flag, usual, odd in (("ssgd", "log-every", "20", "2"), ("od-sgd", "lr", "0.1", "0.3"),
                                       ("ssd-sgd", "warmup-steps", "0", "2"), ("topk", "clip", "0", "1"),
                                       ("gtopk", "weight-decay", "0", "0.01"), ("ssd-sgd", "delay", "4", "3"),
                                       ("strom", "batch", "8", "4"), ("ssgd", "synthetic-seed", "1", "2"),
                                       ("asgd", "lag", "0", "3"), ("ssgd", "servers", "0", "1"), ("ssgd", "seed", "1", "2"),
                                       ("ssgd", "model", "mlp", "lenet"), ("ssgd", "evaluate", "on", "off")):
            said = self.refuse(["--algo", algo, "--" + flag, usual], ["--" + flag, odd])
            self.assertEqual(said, f'syncopate: {flag} is "{usual}" on worker 0, but "{odd}" on worker 1; '
                                   "expected the same on all")

    def test_a_rank_that_refuses_its_flags_ends_those_that_wait_for_it(self):
        """Those are in MPI's start by then, where nothing but its launcher or MPI itself reaches them."""
        said = self.refuse([], ["--batch", "some"])
        self.assertIn('batch: "some" is not valid', said)

    def test_bad_input_that_only_a_run_finds_ends_all_ranks_with_the_same_code(self):
        os.mkdir(self.out)
        with open(os.path.join(self.out, "metrics.jsonl"), "w", encoding="utf-8") as file:
            file.write("{}\n")
        for flags in (["--synthetic-height", "5"], ["--batch", "999"], []):  # the last: a run is there already
            command = [*LAUNCH, "-n", "3", "sh", "-c", '"$0" "$@"; echo "ended with $?"', COMMAND, "train", *SMALL,
                       *flags, "--out", self.out]
            done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
            self.assertEqual(done.stdout.count("ended with 2"), 3, (flags, done.stdout, done.stderr))

    def test_ranks_may_have_threads_and_directories_of_their_own(self):
        command = [COMMAND, "train", *SMALL]
        odd = [*command, "--threads", "2", "--select-threads", "2", "--data-dir", self.home.name, "--out", self.out + "-2"]
        done = subprocess.run([*LAUNCH, "-n", "2", *ranks.one_and_the_others(1, [*command, "--out", self.out], odd)],
                              capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_ranks_with_other_data_are_refused(self):
        flags = ["train", "--model", "mlp", "--data", "mnist", "--steps", "2", "--batch", "2", "--out", self.out]
        for name, examples, label in (("a", 40, 1), ("b", 40, 2), ("c", 44, 1)):
            write_mnist(os.path.join(self.home.name, name), examples, label)
        for name, words in (("b", "data-fingerprint is"), ("c", 'training-examples is "40" on worker 0')):
            both = [[COMMAND, *flags, "--data-dir", os.path.join(self.home.name, folder)] for folder in ("a", name)]
            done = subprocess.run([*LAUNCH, "-n", "2", *ranks.one_and_the_others(1, *both)], capture_output=True,
                                  text=True, timeout=100, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertFalse(os.path.exists(self.out))


def write_mnist(folder, examples, last_label):
    """A set in MNIST's form, all black; what differs is the last label."""
    os.makedirs(folder)
    for part, count in (("train", examples), ("t10k", 10)):
        labels = bytes(i % 10 for i in range(count - 1)) + bytes([last_label])
        with open(os.path.join(folder, part + "-images-idx3-ubyte"), "wb") as file:
            file.write(struct.pack(">IIII", 0x803, count, 28, 28) + bytes(count * 28 * 28))
        with open(os.path.join(folder, part + "-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">II", 0x801, count) + labels)


if __name__ == "__main__":
    END = sys.argv.index("--")
    COMMAND, *LAUNCH = sys.argv[1:END]
    del sys.argv[1:END + 1]
    unittest.main()
