"""Runs as `syncopate train` leaves them, made up, so that every number is known; and the command."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

COMMAND = os.environ.get("SYNCOPATE_COMMAND", "syncopate")


def take_command():
    """The program to test is the first argument; the others are unittest's."""
    global COMMAND
    if len(sys.argv) > 1:
        COMMAND = os.path.abspath(sys.argv.pop(1))


def report(*words, **more):
    return subprocess.run([COMMAND, "report", *words], capture_output=True, text=True, timeout=60, check=False,
                          **more)


def line_of(step, **more):
    """A line of metrics.jsonl."""
    return {"step": step, "epoch": step / 100, "seconds": step * 0.05, "loss": 2.0 / step, "accuracy": 1 - 1 / step,
            "lr": 0.1, "gradient_norm": 1.5, "images_per_s": 1000.0 + step, "step_ms": 20.0, "data_wait_ms": 0.5,
            "compute_ms": 8.0, "update_ms": 11.5, "select_ms": 3.0, "encode_ms": 0.25, "exchange_ms": 9.0,
            "wait_ms": 7.0, "bytes_out": 1000.0, "bytes_in": 900.0, "entries": 50, "density": 0.01,
            "threshold": 0.002, "residual_norm": 0.1 * step, **more}


def tested(step, accuracy):
    return {"step": step, "epoch": step / 100, "seconds": step * 0.05 + 0.01, "test_loss": 1 - accuracy,
            "test_accuracy": accuracy}


def settings_of(**more):
    return {"model": "lenet", "data": "mnist", "algo": "gtopk", "workers": 4, "batch": 16, "seed": 1,
            "log_every": 10, "lr": 0.1, "density": 0.01, "out": "anywhere", **more}


def summary_of(**more):
    return {"algo": "gtopk", "model": "lenet", "data": "mnist", "params": 5000, "workers": 4, "threads": 1,
            "batch": 16, "steps": 40, "epochs": 0.4, "seconds": 2.0625, "ms_per_step": 19.8125,
            "images_per_s": 3230.5, "train_loss": 0.05, "test_loss": 0.0625, "test_accuracy": 0.98125,
            "bytes_out_per_step": 1000.0, "bytes_in_per_step": 900.0, "ratio_to_dense": 30.0,
            "weights_hash": "0123456789abcdef", "stopped": False, "out": "anywhere", **more}


METRICS = [line_of(10), line_of(20), tested(20, 0.9), line_of(30), line_of(40), tested(40, 0.98125)]


class MadeRuns(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = home.name
        self.page = os.path.join(self.home, "page.html")

    def path(self, name):
        return os.path.join(self.home, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def make_run(self, name, settings=None, metrics=None, summary=None, tail="", is_finished=True):
        """The folder of a run; tail is what stands after the last line of its metrics."""
        self.write(f"{name}/settings.json", json.dumps(settings or settings_of()) + "\n")
        lines = "".join(json.dumps(line) + "\n" for line in (METRICS if metrics is None else metrics))
        self.write(f"{name}/metrics.jsonl", lines + tail)
        if is_finished:
            self.write(f"{name}/summary.json", json.dumps(summary or summary_of()) + "\n")
        return self.path(name)

    def make_page(self, *words):
        done = report(*words, "-o", self.page)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.page, encoding="utf-8") as file:
            return file.read()

    def make_data(self, *words):
        """What a page holds."""
        text = self.make_page(*words)
        begin = text.index('id="data">') + len('id="data">')
        return json.loads(text[begin:text.index("</script>", begin)])


SIMULATION = {"kind": "simulation", "title": "LeNet at 100 Mbit/s", "x": {"label": "workers", "unit": ""},
              "charts": [{"label": "step time", "unit": "ms",
                          "series": [{"name": "ssgd", "points": [[4, 212.5], [8, 250.0], [16, 270.0], [32, 290.0]]},
                                     {"name": "gtopk", "points": [[4, 12.25], [8, 13.0], [16, 14.5], [32, 16.0]]}]},
                         {"label": "scaling efficiency", "unit": "",
                          "series": [{"name": "ssgd", "points": [[4, 0.25], [32, 0.125]]},
                                     {"name": "gtopk", "points": [[4, 0.9], [32, 0.75]]}]}]}
