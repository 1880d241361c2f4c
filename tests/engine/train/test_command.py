"""syncopate train as a user meets it: exit codes, output, the bar, Ctrl-C, and a short run on real images.

    test_command.py COMMAND       the program to test; further arguments as unittest takes them
"""
import json
import math
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

COMMAND = "syncopate"
FASHION = "/usr/share/datasets"
SMALL = ["--model", "mlp", "--data", "synthetic", "--synthetic-examples", "1000", "--threads", "1"]


def train(*flags, **more):
    return subprocess.run([COMMAND, "train", *flags], capture_output=True, text=True, timeout=200, **more)


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def wait_for(path, seconds=60):
    end = time.monotonic() + seconds
    while not (os.path.exists(path) and os.path.getsize(path)):
        if time.monotonic() > end:
            raise TimeoutError(path)
        time.sleep(0.02)


class Train(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.out = os.path.join(self.home.name, "run")

    def read(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            return json.load(file)

    def test_json_on_standard_output_is_the_summary(self):
        done = train(*SMALL, "--epochs", "1", "--json", "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), self.read("summary.json"))

    def test_without_json_one_line_tells_the_accuracy_and_the_directory(self):
        done = train(*SMALL, "--epochs", "1", "--out", self.out)
        self.assertEqual(done.stdout.count("\n"), 1)
        self.assertIn("test accuracy", done.stdout)
        self.assertIn(self.out, done.stdout)

    def test_what_is_typed_goes_over_the_preset(self):
        train(*SMALL, "--lr=0.011", "--momentum", "0.5", "--steps", "2", "--out", self.out)
        settings = self.read("settings.json")
        self.assertEqual(settings["lr"], 0.011)
        self.assertEqual(settings["momentum"], 0.5)
        self.assertEqual(settings["lr_schedule"], "one-cycle")

    def test_sparse_gradients_under_adamw_are_warned_of_once(self):
        adamw = [*SMALL, "--workers", "2", "--steps", "2", "--optimizer", "adamw", "--lr", "0.001"]
        sparse = train(*adamw, "--algo", "topk", "--momentum-form", "global", "--out", self.out)
        self.assertEqual(sparse.stderr.count("warning: optimizer adamw divides"), 1, sparse.stderr)
        for algo in ("ssgd", "sparseloco"):
            done = train(*adamw, "--algo", algo, "--out", os.path.join(self.home.name, algo))
            self.assertEqual((done.returncode, done.stderr.count("divides")), (0, 0), done.stderr)

    def test_lamb_trains_and_is_refused_where_tensors_are_divided(self):
        lamb = [*SMALL, "--workers", "2", "--steps", "30", "--optimizer", "lamb", "--lr", "0.01", "--algo"]
        for algo in ("ssgd", "diloco"):
            out = os.path.join(self.home.name, algo)
            done = train(*lamb, algo, "--log-every", "1", "--out", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            losses = [line["loss"] for line in lines(os.path.join(out, "metrics.jsonl")) if "loss" in line]
            self.assertLess(losses[-1], 0.9 * losses[0])
        done = train(*lamb, "ssgd", "--store", "shards", "--out", self.out)
        self.assertEqual(done.returncode, 2)
        self.assertIn("optimizer lamb needs the norms of whole tensors", done.stderr)

    def test_a_line_tells_of_the_steps_since_the_line_before(self):
        """The norm's mean over them, the rate of the last one (a cosine that falls to lr_final), and a time that is its parts."""
        flags = [*SMALL, "--evaluate", "off", "--steps", "6", "--lr", "0.1", "--lr-schedule", "cosine", "--warmup-epochs", "0"]
        train(*flags, "--log-every", "1", "--out", self.out)
        each = lines(os.path.join(self.out, "metrics.jsonl"))
        final = self.read("settings.json")["lr_final"]
        train(*flags, "--log-every", "3", "--out", self.out, "--overwrite")
        both = lines(os.path.join(self.out, "metrics.jsonl"))
        self.assertEqual([len(each), len(both)], [6, 2])
        for number, line in enumerate(both):
            steps = each[3 * number:3 * number + 3]
            self.assertAlmostEqual(line["gradient_norm"], sum(step["gradient_norm"] for step in steps) / 3, 5)
            self.assertAlmostEqual(line["loss"], sum(step["loss"] for step in steps) / 3, 5)
            share = final + (1 - final) * (1 + math.cos(math.pi * (3 * number + 2) / 6)) / 2
            self.assertAlmostEqual(line["lr"], 0.1 * share, 6)
        for line in each:
            parts = line["data_wait_ms"] + line["compute_ms"] + line["update_ms"]
            self.assertAlmostEqual(line["step_ms"], parts, delta=1e-4 * parts)

    def test_help_has_a_dozen_flags_with_the_defaults_of_the_model(self):
        for words in (["--help"], ["-h"]):
            done = train(*words)
            self.assertEqual((done.returncode, len(re.findall(r"^  --", done.stdout, re.MULTILINE))), (0, 12))
        for words in (["--model", "resnet20", "--help"], ["--help", "--model=resnet20"]):
            said = train(*words).stdout
            self.assertRegex(said, r"--epochs .*\n .*\[164\]")
            self.assertRegex(said, r"--data .*\n .*\[cifar10\]")
            self.assertIn("Defaults are those of resnet20", said)
        self.assertEqual(train("--model", "magic", "--help").returncode, 2)

    def test_a_switch_is_turned_off_by_no(self):
        for words, expected in ((["--no-evaluate"], False), (["--evaluate", "off"], False), (["--evaluate=off"], False),
                                (["--no-evaluate", "--evaluate"], True), (["--no-augment", "--evaluate"], True)):
            said = train(*words, "--help").stdout
            self.assertRegex(said, rf"--\[no-\]evaluate\n .*\[{'on' if expected else 'off'}\]", words)
        for words in (["--no-evaluate=on"], ["--no-lr"], ["--no-colour"]):
            done = train(*words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    def test_help_all_tells_settings_and_presets(self):
        done = train("--help", "all")
        self.assertEqual((done.returncode, done.stdout), (0, train("--help=all").stdout))
        for word in ("--lr-schedule", "--momentum", "--data-dir", "resnet20", "--[no-]json"):
            self.assertIn(word, done.stdout)

    def test_bad_input_is_one_line_and_code_2_and_no_file(self):
        for flags in (["--batch", "1001"], ["--workers", "0"], ["--algo", "magic"], ["--select", "topk"],
                      ["--model", "vgg16", "--synthetic-width", "28"], ["--lr", "fast"],
                      ["--colour", "red"], ["word"], ["--lr-schedule", "step", "--lr-milestones", "2,1"],
                      ["--data", "mnist", "--data-dir", self.home.name], ["--out", "/dev/null/run"]):
            with self.subTest(flags=flags):
                done = train(*SMALL, "--out", self.out, *flags)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertTrue(done.stderr.startswith("syncopate: "), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertFalse(os.path.exists(self.out))

    def interrupt(self, number):
        command = [COMMAND, "train", *SMALL, "--epochs", "100000", "--log-every", "1", "--out", self.out]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            wait_for(os.path.join(self.out, "metrics.jsonl"))
            process.send_signal(number)
            process.communicate(timeout=60)
        return process.returncode

    def test_interrupted_it_ends_cleanly_with_whole_files(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            with self.subTest(signal=number):
                self.out = os.path.join(self.home.name, str(int(number)))
                self.assertEqual(self.interrupt(number), 128 + number)
                summary = self.read("summary.json")
                self.assertTrue(summary["stopped"])
                metrics = lines(os.path.join(self.out, "metrics.jsonl"))
                self.assertEqual(metrics[-1]["step"], summary["steps"])

    def test_killed_it_leaves_no_summary_and_whole_lines(self):
        self.assertEqual(self.interrupt(signal.SIGKILL), -signal.SIGKILL)
        self.assertEqual(sorted(os.listdir(self.out)), ["input.txt", "lock", "metrics.jsonl",
                                                        "settings.json"])
        self.assertGreater(len(lines(os.path.join(self.out, "metrics.jsonl"))), 0)

    def test_a_terminal_gets_a_bar_that_fits_and_goes_away(self):
        leader, follower = pty.openpty()
        command = [COMMAND, "train", *SMALL, "--epochs", "100000", "--out", self.out]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=follower) as process:
            os.close(follower)
            shown = b""
            while shown.count(b"\r\x1b[K") < 3:
                shown += os.read(leader, 4096)
            process.send_signal(signal.SIGINT)
            try:
                while part := os.read(leader, 4096):
                    shown += part
            except OSError:
                pass  # the other side is closed
        os.close(leader)
        bar = shown.split(b"\r\x1b[K")[2].decode()
        self.assertRegex(bar, r"^mlp on synthetic \[#*\.*\] +\d+%, .* left, step \d+/")
        self.assertLess(len(bar), 80)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown)

    def write_texts(self):
        for part, count in (("train", 400), ("valid", 60), ("test", 80)):
            with open(os.path.join(self.home.name, f"ptb.{part}.txt"), "w", encoding="utf-8") as file:
                file.write(" ".join(f"w{i * i % 37}" for i in range(count)) + "\n")

    def text(self, *flags):
        return ["--model", "lstm-small", "--data", "text", "--data-dir", self.home.name, "--threads", "1",
                "--batch", "4", "--time", "5", "--lr", "0.1", "--lr-schedule", "constant", "--out", self.out, *flags]

    def test_text_tells_the_validation_perplexity_while_it_learns(self):
        self.write_texts()
        command = [COMMAND, "train", *self.text("--epochs", "100000", "--eval-every", "2")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            said = ""
            for line in process.stderr:
                said += line
                if "perplexity" in said or said.count("\n") == 4:  # a slow machine tells of earlier steps first
                    break
            process.kill()
        self.assertRegex(said, r"step \d+/\d+, loss \d+\.\d+, validation perplexity \d+\.\d\d, ")

    def test_text_tells_the_validation_perplexity_at_the_end(self):
        self.write_texts()
        done = train(*self.text("--steps", "3"))
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = self.read("summary.json")
        self.assertIn(f"test perplexity {summary['test_perplexity']:.2f}, "
                      f"validation perplexity {summary['validation_perplexity']:.2f} after ", done.stdout)

    def test_text_tells_the_lowest_validation_perplexity_and_its_step(self):
        self.write_texts()
        done = train(*self.text("--steps", "5", "--eval-every", "1", "--lr", "8"))
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = self.read("summary.json")
        told = {line["step"]: line["validation_perplexity"] for line in lines(os.path.join(self.out, "metrics.jsonl"))
                if "validation_perplexity" in line}
        best = min(told, key=told.get)
        self.assertTrue(1 < best < 5, told)
        self.assertEqual(summary["best_step"], best)
        self.assertAlmostEqual(summary["best_validation_perplexity"] / told[best], 1, 5)
        self.assertAlmostEqual(summary["validation_perplexity"] / told[5], 1, 5)

    @unittest.skipUnless(os.path.isdir(FASHION), "dataset-fashion-mnist is not installed")
    def test_lenet_learns_fashion_mnist_in_a_few_hundred_steps(self):
        done = train("--model", "lenet", "--data", "fashion-mnist", "--data-dir", FASHION, "--steps", "300",
                     "--threads", "1", "--json", "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)
        self.assertGreater(summary["test_accuracy"], 0.8)
        self.assertEqual(summary["steps"], 300)


if __name__ == "__main__":
    COMMAND = sys.argv.pop(1)
    unittest.main()
