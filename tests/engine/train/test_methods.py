"""Every method trains: LeNet with four workers on a quarter of an epoch of real digits.

    test_methods.py COMMAND       the program to test; further arguments as unittest takes them

MNIST if it can be had here, Fashion-MNIST otherwise, which is harder. What is sent late is still missing after so few
steps: methods that send a thousandth have a lower bar.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

COMMAND = "syncopate"
FASHION = "/usr/share/datasets"
RUN = ["train", "--model", "lenet", "--workers", "4", "--batch", "16", "--steps", "250", "--density-warmup", "0.2",
       "--seed", "1", "--json"]
WHOLE = {
    "ssgd": ["--algo", "ssgd"],
    "asgd": ["--algo", "asgd", "--servers", "1"],
    "od-sgd": ["--algo", "od-sgd", "--warmup", "50"],
    "ssd-sgd": ["--algo", "ssd-sgd", "--warmup", "50"],
    "strom": ["--algo", "strom"],
}
A_THOUSANDTH = {
    "topk": ["--algo", "topk"],
    "gtopk": ["--algo", "gtopk"],
    "ssd-sgd+gtopk": ["--algo", "ssd-sgd", "--warmup", "50", "--select", "topk", "--density", "0.001",
                      "--exchange", "gtopk"],
}


def run(*flags):
    return subprocess.run([COMMAND, *flags], capture_output=True, text=True, timeout=400, check=False)


def images():
    """Flags for the images to learn, and the accuracies to reach on them."""
    if run("data", "get", "mnist").returncode == 0:
        return ["--data", "mnist"], 0.96, 0.95
    if not os.path.isdir(FASHION):
        raise unittest.SkipTest("neither MNIST nor dataset-fashion-mnist can be had")
    return ["--data", "fashion-mnist", "--data-dir", FASHION], 0.79, 0.77


class Methods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.home.cleanup)
        cls.data, cls.bar, cls.lower_bar = images()

    def reach(self, bar, methods):
        for name, flags in methods.items():
            with self.subTest(method=name):
                done = run(*RUN, *self.data, *flags, "--out", os.path.join(self.home.name, name))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertGreaterEqual(json.loads(done.stdout)["test_accuracy"], bar)

    def test_methods_that_send_everything_in_time_learn_well(self):
        self.reach(self.bar, WHOLE)

    def test_methods_that_send_a_thousandth_learn_nearly_as_well(self):
        self.reach(self.lower_bar, A_THOUSANDTH)


if __name__ == "__main__":
    COMMAND = sys.argv.pop(1)
    unittest.main()
