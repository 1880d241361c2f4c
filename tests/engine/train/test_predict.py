"""What is said of runs before they are made: syncopate simulate, syncopate advise, and train --algo auto.

    test_predict.py COMMAND [MPIRUN]     the program to test, and what starts it many times (in the environment of tests/mpi.env)
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

COMMAND = "syncopate"
MPIRUN = None
SMALL = ["--model", "mlp", "--data", "synthetic", "--synthetic-examples", "1000", "--threads", "1"]


def run(*words, ranks=0, cwd=None):
    mpirun = [MPIRUN, "-n", str(ranks)] if ranks else []
    return subprocess.run([*mpirun, COMMAND, *words], capture_output=True, text=True, timeout=200, cwd=cwd, check=False)


class Simulate(unittest.TestCase):
    def test_json_has_a_line_for_each_method_and_number_of_workers(self):
        done = run("simulate", "--workers", "2,3", "--recipe", "ssgd,ssd-sgd+gtopk", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([(line["recipe"], line["workers"]) for line in found],
                         [("ssgd", 2), ("ssgd", 3), ("ssd-sgd+gtopk", 2), ("ssd-sgd+gtopk", 3)])

    def test_flags_of_a_method_change_it(self):
        def seldom(delay):
            done = run("simulate", "--workers", "4", "--recipe", "ssd-sgd", "--json", "--delay", delay)
            return json.loads(done.stdout)["bytes_out"]
        self.assertAlmostEqual(seldom("2") / seldom("1"), 0.75)

    def test_units_are_what_they_are_called(self):
        def step_ms(**flags):
            words = [word for name, value in flags.items() for word in (f"--{name}", value)]
            done = run("simulate", "--workers", "4", "--recipe", "ssgd", "--json", *words)
            return json.loads(done.stdout)["step_ms"]
        for name, values in (("bandwidth", ("1000000kbit", "1000mbit", "1gbit")),
                             ("latency", ("2000000ns", "2000us", "2ms", "0.002s")),
                             ("compute", ("1500000us", "1500ms", "1.5s"))):
            found = [step_ms(**{name: value}) for value in values]
            for value in found:
                self.assertAlmostEqual(value, found[0], places=6)
        # Three messages of a quarter each way around the ring: 1 MB at 125 bytes a us.
        self.assertAlmostEqual(step_ms(bandwidth="1gbit", latency="1ms", compute="100ms", **{"merge-ms": "0"}),
                               100 + 6 * (1 + 1e6 / 125000), places=6)

    def test_json_has_shares_of_one_and_bytes(self):
        # A step of 100 ms to compute and six messages of 1 MB, 8 ms each on a link, and 1 ms on the way.
        words = ["--workers", "4", "--recipe", "ssgd", "--bandwidth", "1gbit", "--latency", "1ms", "--compute", "100ms",
                 "--merge-ms", "0"]
        found = json.loads(run("simulate", *words, "--json").stdout)
        for name, expected in (("step_ms", 154), ("efficiency", 100 / 154), ("bytes_out", 6e6), ("busiest_link", 48 / 154)):
            self.assertAlmostEqual(found[name] / expected, 1, places=4, msg=name)
        # The charts have percent and kilobytes.
        said = run("simulate", *words).stdout
        self.assertEqual(re.findall(r"^ +4 +([0-9.]+)$", said, re.MULTILINE), ["154", "64.94", "6000", "31.17"])

    def test_the_file_holds_the_curves(self):
        with tempfile.TemporaryDirectory() as home:
            path = os.path.join(home, "sim.json")
            done = run("simulate", "--workers", "4..10", "--recipe", "topk", "-o", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
            self.assertEqual(os.listdir(home), ["sim.json"])
        self.assertEqual(found["kind"], "simulation")
        self.assertEqual(found["x"]["label"], "workers")
        points = found["charts"][0]["series"][0]["points"]
        self.assertEqual([workers for workers, _ in points], [4, 8, 10])
        self.assertEqual(found["charts"][0]["series"][0]["name"], "topk")

    def test_bad_input_is_one_line_and_code_2(self):
        for flags in (["--workers", "0"], ["--workers", "8..4"], ["--workers", "4,,5"], ["--workers", "9999"],
                      ["--latency", "5"], ["--bandwidth", "1"], ["--compute", "-1ms"], ["--recipe", "magic"],
                      ["--recipe", "ssgd+magic"], ["--jitter", "11"], ["--servers", "1", "--recipe", "gtopk"],
                      ["word"], ["--out", "/dev/null/sim.json", "--workers", "2"], ["--bandwidth", "0gbit"]):
            with self.subTest(flags=flags):
                done = run("simulate", *flags)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertTrue(done.stderr.startswith("syncopate: "), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class Advise(unittest.TestCase):
    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        advice = json.loads(done.stdout)
        for field in ("latency_ms", "mbit_per_s", "compute_ms", "sparse_ms", "ssgd_step_ms", "gtopk_step_ms"):
            self.assertGreater(advice[field], 0, field)
        self.assertGreaterEqual(advice["together_ms"], advice["compute_ms"])
        self.assertIn(advice["best"], ("ssgd", "od-sgd", "ssd-sgd", "topk", "gtopk", "strom", "fit"))
        self.assertEqual(advice["is_dense_fine"], advice["best"] == "ssgd")
        return advice

    def test_threads_get_one_answer(self):
        self.assertEqual(self.check(run("advise", *SMALL, "--workers", "3", "--json"))["workers"], 3)

    def test_ranks_get_one_answer(self):
        if not MPIRUN:
            self.skipTest("no mpirun")
        self.assertEqual(self.check(run("advise", *SMALL, "--json", ranks=3))["workers"], 3)

    def test_words_end_with_the_verdict(self):
        done = run("advise", *SMALL, "--workers", "2")
        last = done.stdout.splitlines()[-1]
        self.assertTrue(last.startswith(("use ", "DO NOT COMPRESS: ")), done.stdout)

    def test_it_leaves_no_files(self):
        with tempfile.TemporaryDirectory() as home:
            before = set(os.listdir("/"))
            done = run("advise", *SMALL, "--workers", "2", "--batch", "8", cwd=home)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(os.listdir(home), [])
            self.assertEqual(set(os.listdir("/")), before)

    def test_bad_input_is_one_line_and_code_2(self):
        for flags in (["--workers", "1"], ["--model", "magic"], ["word"], ["--batch", "0"]):
            with self.subTest(flags=flags):
                done = run("advise", *SMALL, *flags)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class Auto(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.out = os.path.join(home.name, "run")

    def train(self, *flags, ranks=0):
        done = run("train", *SMALL, "--steps", "4", "--json", "--overwrite", "--out", self.out, *flags, ranks=ranks)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.out, "settings.json"), encoding="utf-8") as file:
            return json.loads(done.stdout), json.load(file), done.stderr

    def test_the_choice_and_its_reason_are_written_down_and_said(self):
        summary, settings, said = self.train("--algo", "auto", "--workers", "2")
        self.assertNotEqual(settings["algo"], "auto")
        self.assertEqual(summary["algo"], settings["algo"])
        self.assertIn(settings["advice"], said)

    def test_optimizers_that_adapt_get_methods_that_suit_them(self):
        for optimizer in ("adamw", "lamb"):
            summary, _, _ = self.train("--algo", "auto", "--workers", "2", "--optimizer", optimizer)
            self.assertIn(summary["algo"], ("ssgd", "diloco"))
        done = run("advise", *SMALL, "--workers", "2", "--optimizer", "adamw", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        advice = json.loads(done.stdout)
        self.assertEqual({key for key in advice if key.endswith("_even_ms")}, {"ssgd_even_ms", "diloco_even_ms"})
        self.assertIsNone(advice["sparse_ms"])

    def test_ranks_agree(self):
        if not MPIRUN:
            self.skipTest("no mpirun")
        summary, settings, said = self.train("--algo", "auto", ranks=3)
        self.assertEqual(summary["algo"], settings["algo"])
        self.assertEqual(said.count("algo auto"), 1, said)

    def test_the_run_is_the_one_of_the_method_chosen(self):
        summary, _, _ = self.train("--algo", "auto", "--workers", "2")
        again, _, _ = self.train("--algo", summary["algo"], "--workers", "2")
        self.assertEqual(summary["weights_hash"], again["weights_hash"])

    def test_servers_are_refused_before_anything_is_written(self):
        with tempfile.TemporaryDirectory() as home:
            done = run("train", *SMALL, "--workers", "2", "--servers", "1", "--algo", "auto", "--out", f"{home}/run")
            self.assertEqual(done.returncode, 2)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn("servers is 1", done.stderr)
            self.assertEqual(os.listdir(home), [])

    def test_one_worker_has_nothing_to_choose(self):
        summary, settings, _ = self.train("--algo", "auto")
        self.assertEqual(summary["algo"], "ssgd")
        self.assertIn("one worker", settings["advice"])

    def test_without_exchange_workers_send_nothing(self):
        summary, _, _ = self.train("--no-exchange", "--workers", "2")
        self.assertEqual(summary["bytes_out_per_step"], 0)
        self.assertEqual(summary["workers"], 2)
        self.assertIsNone(summary["test_accuracy"])


if __name__ == "__main__":
    COMMAND = os.path.abspath(sys.argv.pop(1))
    if len(sys.argv) > 1 and os.access(sys.argv[1], os.X_OK):
        MPIRUN = sys.argv.pop(1)
    unittest.main()
