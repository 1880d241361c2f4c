"""bench/compare reads what runs left behind, and says what they came to."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from project import ROOT

COMPARE = os.path.join(ROOT, "bench", "compare")


def compare(*words):
    """Exit code and output, errors included."""
    done = subprocess.run([sys.executable, COMPARE, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, timeout=60)
    return done.returncode, done.stdout


def speed(method, ms, sent=1000.0):
    return {"what": "speed", "rate": "100mbit", "method": method, "ms_per_step": ms, "bytes_out_per_step": sent,
            "judged": []}


class Show(unittest.TestCase):
    def show(self, *runs):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.writelines(json.dumps(run) + "\n" for run in runs)
            file.flush()
            code, output = compare("--show", "--file", file.name)
        self.assertEqual(code, 0, output)
        return output

    def test_a_method_is_held_against_the_ceiling_of_its_own_repetition(self):
        output = self.show(speed("compute only", 20), speed("gtopk", 25), speed("compute only", 30),
                           speed("gtopk", 30), speed("compute only", 27), speed("gtopk", 30))
        self.assertIn("| gtopk | 30.0 (25.0-30.0) | 0.90 (0.80-1.00) | 1.0 | 3 |", output)

    def test_advice_is_held_against_what_was_measured(self):
        advice = {"what": "advice", "rate": "100mbit", "ssgd_step_ms": 110, "verdict": ""}
        output = self.show(advice, speed("ssgd", 100))
        self.assertIn("| ssgd | 110.0 | 100.0 | +10 % |", output)

    def test_time_to_the_target_is_that_of_the_first_evaluation_above_it(self):
        run = {**speed("ddp", 50), "what": "accuracy", "judged": [
            {"step": 10, "seconds": 1.0, "test_accuracy": 0.9}, {"step": 20, "seconds": 2.0, "test_accuracy": 0.99},
            {"step": 30, "seconds": 3.0, "test_accuracy": 0.98}]}
        self.assertIn("| ddp | 2.0 | 20 | 50.0 | 99.00% | 1 of 1 |", self.show(run))

    def test_a_target_that_was_not_reached_is_not_made_up(self):
        run = {**speed("ddp", 50), "what": "accuracy",
               "judged": [{"step": 10, "seconds": 1.0, "test_accuracy": 0.9}]}
        self.assertIn("| ddp | - | - | 50.0 | 90.00% | 0 of 1 |", self.show(run))


class BadInput(unittest.TestCase):
    def test_it_is_refused_with_code_2(self):
        for words in (["--methods", "magic"], ["--rates", "fast"], ["--what", "nothing"], ["--steps", "30"],
                      ["--lead-in", "120"], ["--show", "--file", "/nonexistent/compare.jsonl"]):
            with self.subTest(words):
                code, output = compare(*words)
                self.assertEqual(code, 2, output)


if __name__ == "__main__":
    unittest.main()
