"""bench/compare reads what runs left behind, and says what they came to."""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from project import ROOT, without_root

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
import runs  # noqa: E402

COMPARE = os.path.join(ROOT, "bench", "compare")


def compare(*words):
    """Exit code and output, errors included."""
    done = subprocess.run([sys.executable, COMPARE, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, timeout=60)
    return done.returncode, done.stdout


def speed(method, ms, repeat=0, sent=1000.0):
    return {"what": "speed", "rate": "100mbit", "method": method, "ms_per_step": ms, "bytes_out_per_step": sent,
            "repeat": repeat, "evaluations": []}


class Show(unittest.TestCase):
    def show(self, *runs):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.writelines(json.dumps(run) + "\n" for run in runs)
            file.flush()
            code, output = compare("--show", "--file", file.name)
        self.assertEqual(code, 0, output)
        return output

    def test_a_method_is_held_against_the_ceiling_of_its_own_repetition(self):
        output = self.show(speed("compute only", 20), speed("gtopk", 25), speed("compute only", 30, 1),
                           speed("gtopk", 30, 1), speed("compute only", 27, 2), speed("gtopk", 30, 2))
        self.assertIn("| gtopk | 30.0 (25.0-30.0) | 0.90 (0.80-1.00) | 1.0 | 3 |", output)

    def test_runs_of_different_builds_are_shown_apart(self):
        output = self.show({**speed("compute only", 20), "commit": "a1"}, {**speed("gtopk", 25), "commit": "a1"},
                           {**speed("compute only", 10), "commit": "b2"}, {**speed("gtopk", 40), "commit": "b2"})
        self.assertIn("| gtopk | 25.0 | 0.80 | 1.0 | 1 |", output)
        self.assertIn("| gtopk | 40.0 | 0.25 | 1.0 | 1 |", output)

    def test_advice_is_held_against_what_was_measured(self):
        advice = {"what": "advice", "rate": "100mbit", "method": "", "ssgd_step_ms": 110, "verdict": ""}
        output = self.show(advice, speed("ssgd", 100))
        self.assertIn("| ssgd | 110.0 | 100.0 | +10 % |", output)

    def test_time_to_the_target_is_that_of_the_first_evaluation_above_it(self):
        run = {**speed("ddp", 50), "what": "accuracy", "evaluations": [
            {"step": 10, "seconds": 1.0, "test_accuracy": 0.9}, {"step": 20, "seconds": 2.0, "test_accuracy": 0.99},
            {"step": 30, "seconds": 3.0, "test_accuracy": 0.98}]}
        self.assertIn("| ddp | 2.0 | 20 | 50.0 | 99.00% | 1 of 1 |", self.show(run))
        run["judged"] = run.pop("evaluations")  # as earlier builds wrote it
        self.assertIn("| ddp | 2.0 | 20 | 50.0 | 99.00% | 1 of 1 |", self.show(run))

    def test_a_target_that_was_not_reached_is_not_made_up(self):
        run = {**speed("ddp", 50), "what": "accuracy",
               "evaluations": [{"step": 10, "seconds": 1.0, "test_accuracy": 0.9}]}
        self.assertIn("| ddp | - | - | 50.0 | 90.00% | 0 of 1 |", self.show(run))


class WorkOff(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.path = os.path.join(home.name, "runs.jsonl")
        runs.say = lambda text: None

    def work_off(self, jobs, fails=()):
        """The jobs that were run."""
        begun = []

        def run(job):
            begun.append(job)
            return None if job in fails else {"ms": 7.0}
        runs.work_off(self.path, jobs, lambda job: {"job": job}, run, lambda job: ("part", job), {"part": 10})
        return begun

    def test_what_was_run_is_not_run_again(self):
        self.assertEqual(self.work_off(["a", "b"]), ["a", "b"])
        self.assertEqual(self.work_off(["a", "b", "c"]), ["c"])
        self.assertEqual([(run["job"], run["ms"]) for run in runs.read(self.path)],
                         [("a", 7.0), ("b", 7.0), ("c", 7.0)])

    def test_what_failed_is_run_again(self):
        self.assertEqual(self.work_off(["a", "b"], fails=("a",)), ["a", "b"])
        self.assertEqual(self.work_off(["a", "b"]), ["a"])

    def test_time_left_goes_by_runs_of_the_same_kind_then_of_the_same_part(self):
        took = {("speed", "ddp"): [60, 120], ("speed", "ssgd"): [30]}
        kinds = [("speed", "ddp"), ("speed", "gtopk"), ("accuracy", "ddp")]
        self.assertEqual(runs.minutes_left(kinds, took, {"accuracy": 300}), (90 + 70 + 300) / 60)


class Ownership(unittest.TestCase):
    def test_a_file_made_under_sudo_is_given_back(self):
        told = []
        with mock.patch.dict(os.environ, {"SUDO_UID": "1000", "SUDO_GID": "100"}), \
                mock.patch("os.geteuid", return_value=0), mock.patch("os.chown", lambda *words: told.append(words)):
            runs.give_back("compare.jsonl")
        self.assertEqual(told, [("compare.jsonl", 1000, 100)])


class Clock(unittest.TestCase):
    def whole_run(self, lines):
        loader = importlib.machinery.SourceFileLoader("compare", COMPARE)
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", loader))
        loader.exec_module(module)
        return module.whole_run(lines)

    def test_time_to_an_evaluation_is_on_the_wall_without_those_before(self):
        made = self.whole_run([
            {"step": 20, "step_ms": 1, "seconds": 2.0, "bytes_out": 5}, {"step": 20, "test_accuracy": 0.5, "seconds": 3.0},
            {"step": 40, "step_ms": 1, "seconds": 4.5, "bytes_out": 7}, {"step": 40, "test_accuracy": 0.9, "seconds": 5.0}])
        self.assertEqual([evaluation["seconds"] for evaluation in made["evaluations"]], [2.0, 3.5])
        self.assertEqual((made["ms_per_step"], made["bytes_out_per_step"]), (87.5, 6.0))

    def test_a_change_of_form_among_the_steps_does_not_stop_the_clock(self):
        made = self.whole_run([
            {"step": 0, "seconds": 0.5, "form_values": "q4"}, {"step": 12, "seconds": 1.5, "form_values": "f32"},
            {"step": 20, "step_ms": 1, "seconds": 2.0, "bytes_out": 5}, {"step": 20, "test_accuracy": 0.5, "seconds": 3.0}])
        self.assertEqual([evaluation["seconds"] for evaluation in made["evaluations"]], [2.0])


class BadInput(unittest.TestCase):
    def test_without_root_they_say_so(self):
        for name in ("compare", "validate"):
            with self.subTest(name):
                code, output = without_root(os.path.join(ROOT, "bench", name))
                self.assertEqual((code, output.count("\n")), (2, 1), output)
                self.assertIn("needs root", output)

    def test_it_is_refused_in_one_line_with_code_2(self):
        for words in (["--methods", "magic"], ["--rates", "fast"], ["--what", "nothing"], ["--steps", "30"],
                      ["--lead-in", "120"], ["--show", "--file", "/nonexistent/compare.jsonl"]):
            with self.subTest(words):
                code, output = compare(*words)
                self.assertEqual((code, output.count("\n")), (2, 1), output)


if __name__ == "__main__":
    unittest.main()
