"""Models of one's own: --model-file, and examples/own_model.c with its own graph and data under mpirun.

    test_own.py COMMAND OWN_MODEL [MPIRUN]       further arguments as unittest takes them
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

COMMAND, OWN_MODEL, MPIRUN = "syncopate", "own_model", ""
IMAGES = ["--data", "synthetic", "--synthetic-examples", "96", "--synthetic-height", "16", "--synthetic-width", "16",
          "--batch", "8", "--threads", "1", "--steps", "3"]
NET = """{"layers": [
    {"layer": "convolution", "name": "conv1", "outputs": 8, "kernel": 3, "padding": 1, "bias": false},
    {"layer": "batch_norm", "name": "bn1", "relu": true},
    {"layer": "convolution", "name": "conv2", "outputs": 8, "kernel": 3, "padding": 1, "bias": false},
    {"layer": "batch_norm", "name": "bn2"},
    {"layer": "add", "from": ["bn1", "bn2"], "relu": true},
    {"layer": "max_pooling", "kernel": 2},
    {"layer": "inner_product", "name": "fc", "outputs": "classes"}
]}
"""

TRANSFORMER = """{"layers": [
    {"layer": "embedding", "name": "tokens", "outputs": 16, "deviation": 0.02},
    {"layer": "positions", "name": "places", "length": 12, "deviation": 0.02},
    {"layer": "layer_norm", "name": "norm1"},
    {"layer": "inner_product", "name": "qkv", "outputs": 48},
    {"layer": "attention", "heads": 2},
    {"layer": "inner_product", "name": "project", "outputs": 16},
    {"layer": "add", "name": "seen", "from": ["places", "project"]},
    {"layer": "inner_product", "name": "wide", "outputs": 32, "deviation": 0.02},
    {"layer": "gelu"},
    {"layer": "inner_product", "name": "narrow", "outputs": 16},
    {"layer": "tied_product", "embedding": "tokens"}
]}
"""

BARS = """{"layers": [
    {"layer": "convolution", "name": "edges", "outputs": 16, "kernel": 3, "padding": 1, "bias": false},
    {"layer": "batch_norm", "name": "norm", "relu": true},
    {"layer": "max_pooling", "kernel": 2},
    {"layer": "inner_product", "name": "classes", "outputs": "classes"}]}
"""


def call(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)


class Own(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)

    def path(self, name):
        return os.path.join(self.home.name, name)

    def train(self, text, *flags):
        with open(self.path("net.json"), "w", encoding="utf-8") as file:
            file.write(text)
        return call(COMMAND, "train", *IMAGES, "--model-file", self.path("net.json"), "--out", self.path("run"), *flags)

    def test_a_model_file_trains_resumes_evaluates_and_exports(self):
        done = self.train(NET, "--workers", "2", "--algo", "topk", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)
        self.assertEqual((summary["model"], summary["params"]), ("own", 8 * 9 + 8 * 8 * 9 + 4 * 8 + 10 * 8 * 64 + 10))
        found = json.loads(call(COMMAND, "evaluate", self.path("run"), "--json").stdout)
        self.assertEqual(found["loss"], summary["test_loss"])
        self.assertEqual(call(COMMAND, "export", self.path("run"), "-o", self.path("w.npz")).returncode, 0)
        self.assertEqual(call(COMMAND, "train", "--resume", self.path("run"), "--steps", "5").returncode, 0)

    def test_advice_is_for_the_network_of_a_model_file(self):
        with open(self.path("net.json"), "w", encoding="utf-8") as file:
            file.write(NET)
        done = call(COMMAND, "advise", *IMAGES, "--workers", "2", "--model-file", self.path("net.json"), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["params"], 8 * 9 + 8 * 8 * 9 + 4 * 8 + 10 * 8 * 64 + 10)

    def train_on_text(self, text, *flags):
        for part in ("train", "valid", "test"):
            with open(self.path(f"ptb.{part}.txt"), "w", encoding="utf-8") as file:
                file.write("the cat sat on the mat\nthe dog ran\n" * 20)
        with open(self.path("net.json"), "w", encoding="utf-8") as file:
            file.write(text)
        return call(COMMAND, "train", "--data", "text", "--data-dir", self.home.name, "--batch", "4", "--time", "12",
                    "--threads", "1", "--steps", "3", "--model-file", self.path("net.json"), "--out", self.path("run"),
                    *flags)

    def test_a_model_file_can_describe_a_transformer(self):
        done = self.train_on_text(TRANSFORMER, "--optimizer", "adamw", "--lr", "0.01", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        words = 2 + 7
        self.assertEqual(json.loads(done.stdout)["params"],
                         16 * words + 12 * 16 + 2 * 16 + 48 * 17 + 16 * 17 + 32 * 17 + 16 * 33)
        for change, said in ((('"heads": 2', '"heads": 4'), "net.json:6: attention5: 48 inputs for 4 heads"),
                             (('"embedding": "tokens"', '"embedding": "seen"'), "net.json:12: node 7 is not an embedding"),
                             (('"embedding": "tokens"', '"embedding": "none"'), 'net.json:12: no layer above is called "none"'),
                             (('"deviation": 0.02', '"deviation": 0'), 'net.json:2: not a possible "deviation"'),
                             (('"length": 12', '"length": 11'), "time is 12, but the model knows only 11 positions")):
            done = self.train_on_text(TRANSFORMER.replace(*change, 1), "--overwrite")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(said, done.stderr)

    def test_a_mistake_is_told_with_its_line_and_nothing_is_written(self):
        for change, said in ((('"kernel": 2', '"kernal": 2'), 'net.json:7: unknown key "kernal"'),
                             (('"max_pooling"', '"max_poling"'), 'net.json:7: no layer "max_poling"'),
                             (('"bn2"]', '"bn3"]'), 'net.json:6: no layer above is called "bn3"'),
                             (('"classes"', "3"), "net.json:8: the last layer has 3 outputs"),
                             (('"outputs": 8, "kernel": 3', '"outputs": -8, "kernel": 3'), "net.json:2: not a possible"),
                             (('"kernel": 2', '"kernel": 200'), "net.json:7: "),
                             (('"kernel": 2}', '"kernel": 2'), "net.json:8: "),
                             (('"name": "bn2"', '"name": "bn1"'), "net.json:5: there are two layers called bn1"),
                             (('{"layers"', '{"other": 1, "layers"'), "nothing else")):
            done = self.train(NET.replace(*change, 1))
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(said, done.stderr)
            self.assertFalse(os.path.exists(self.path("run")))
        done = self.train(NET, "--model", "lenet")
        self.assertIn("contradicts", done.stderr)

    def test_a_run_keeps_its_model_file(self):
        self.assertEqual(self.train(NET).returncode, 0)
        os.remove(self.path("net.json"))
        for words in (("evaluate", self.path("run")), ("train", "--resume", self.path("run"), "--steps", "5")):
            done = call(COMMAND, *words)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_resumed_run_refuses_another_model(self):
        self.assertEqual(self.train(NET).returncode, 0)
        with open(self.path("net.json"), "w", encoding="utf-8") as file:
            file.write(NET.replace("conv2", "conv3"))
        done = call(COMMAND, "train", "--resume", self.path("run"), "--steps", "5", "--model-file", self.path("net.json"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("conv2.weight", done.stderr)

    def test_the_example_trains_its_own_graph_and_data_by_any_method_and_goes_on(self):
        ranks = [MPIRUN, "-n", "2"] if MPIRUN else []
        flags = ["--algo", "gtopk", "--density", "0.05", "--threads", "1", "--checkpoint-every", "8", "--out",
                 self.path("run")]
        done = call(*ranks, OWN_MODEL, *flags, "--steps", "8", *([] if MPIRUN else ["--workers", "2"]))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("bars by gtopk, 2 workers", done.stdout)
        done = call(*ranks, OWN_MODEL, "--resume", self.path("run"), "--steps", "12")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("after 12 steps", done.stdout)
        self.assertEqual(call(COMMAND, "report", self.path("run"), "-o", self.path("page.html")).returncode, 0)
        done = call(COMMAND, "export", self.path("run"), "-o", self.path("w.safetensors"))
        self.assertIn("own on bars by gtopk, 7 tensors, step 12 of 12", done.stdout)
        self.assertEqual(call(OWN_MODEL, "--algo", "magic").returncode, 1)
        self.assertEqual(call(OWN_MODEL, "epochs").returncode, 1)


    def test_a_run_of_a_c_program_is_used_with_a_file_that_describes_its_network(self):
        self.assertEqual(call(OWN_MODEL, "--epochs", "1", "--out", self.path("run")).returncode, 0)
        self.assertEqual(call(COMMAND, "export", self.path("run"), "-o", self.path("w.safetensors")).returncode, 0)
        with open(self.path("net.json"), "w", encoding="utf-8") as file:
            file.write(BARS)
        with open(self.path("image"), "wb") as file:
            file.write(bytes(16 * 16))
        described = ("--model-file", self.path("net.json"))
        done = call(COMMAND, "predict", self.path("run"), self.path("image"), *described)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"image: (upright|level|falling|rising) [0-9.]+ %")
        like_bars = ("--data", "synthetic", "--synthetic-examples", "96", "--synthetic-classes", "4",
                     "--synthetic-height", "16", "--synthetic-width", "16", "--synthetic-channels", "1", "--json")
        found = [json.loads(call(COMMAND, "evaluate", self.path(name), *described, *like_bars).stdout)["loss"]
                 for name in ("run", "w.safetensors")]
        self.assertEqual(found[0], found[1])
        for words, said in ((("predict", "run", "image"), "nothing describes it; expected a model file (--model-file)"),
                            (("evaluate", "run", *described), 'was trained on "bars", data of another program'),
                            (("evaluate", "w.safetensors", *described), 'was trained on "bars", data of another program')):
            done = call(COMMAND, *(self.path(word) if word in ("run", "image", "w.safetensors") else word for word in words))
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
            self.assertIn(said, done.stderr)

    def hash_of(self, run):
        with open(self.path(f"{run}/summary.json"), encoding="utf-8") as file:
            return json.load(file)["weights_hash"]

    def kill_in_the_middle(self, words, run):
        """Kill all ranks, without a word, when a checkpoint beyond the first is there."""
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        folder = self.path(f"{run}/checkpoints")
        ends = time.monotonic() + 100
        while process.poll() is None and time.monotonic() < ends:
            if os.path.isdir(folder) and any(name in os.listdir(folder) for name in ("step-16", "step-24")):
                break
            time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.assertFalse(os.path.exists(self.path(f"{run}/summary.json")), "it ended before it was killed")

    def test_own_data_that_are_made_when_needed_come_out_the_same_after_a_kill(self):
        flags = ["--algo", "gtopk", "--density", "0.05", "--threads", "1", "--checkpoint-every", "8", "--batch", "8",
                 "--steps", "200", "--loader-threads", "2"]
        whole = call(OWN_MODEL, *flags, "--workers", "2", "--out", self.path("whole"))
        self.assertEqual(whole.returncode, 0, whole.stderr)
        self.assertIn("test accuracy", whole.stdout)
        for run, ranks in (("threads", []), ("ranks", [MPIRUN, "-n", "2"] if MPIRUN else [])):
            many = [] if ranks else ["--workers", "2"]
            self.kill_in_the_middle([*ranks, OWN_MODEL, *flags, *many, "--out", self.path(run)], run)
            done = call(*ranks, OWN_MODEL, "--resume", self.path(run))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.hash_of(run), self.hash_of("whole"), run)


if __name__ == "__main__":
    COMMAND, OWN_MODEL, MPIRUN = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
