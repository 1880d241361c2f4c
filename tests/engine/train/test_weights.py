"""Weights out and in: syncopate export, evaluate, train --init and --keep-best.

    test_weights.py COMMAND       the program to test; further arguments as unittest takes them
"""
import glob
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import pictures  # noqa: E402

COMMAND = "syncopate"
IMAGES = ["--data", "synthetic", "--synthetic-examples", "96", "--synthetic-channels", "1", "--synthetic-height", "16",
          "--synthetic-width", "16", "--batch", "8", "--threads", "1"]


def call(*words):
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=200, check=False)


def read(path):
    """The header of a safetensors file, what it says of itself, and the bytes of its values."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + length])
    return header, header.pop("__metadata__"), data[8 + length:]


def floats(path):
    """{name: values} of a file without names of PyTorch's."""
    header, _, values = read(path)
    return {name: [value for (value,) in struct.iter_unpack("<f", values[slice(*row["data_offsets"])])]
            for name, row in header.items()}


def distance(one, other):
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


def hash_of(data):
    """FNV-1a over 32-bit words, as summary.json has it."""
    result = 0xcbf29ce484222325
    for (word,) in struct.iter_unpack("<I", data):
        result = (result ^ word) * 0x100000001b3 & (1 << 64) - 1
    return f"{result:016x}"


class Weights(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)

    def path(self, name):
        return os.path.join(self.home.name, name)

    def train(self, name, *flags):
        done = call("train", *IMAGES, "--model", "resnet20", "--steps", "3", *flags, "--out", self.path(name), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def export(self, name, *flags, file="weights.safetensors"):
        done = call("export", self.path(name), "-o", self.path(file), *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path(file)

    def refuses(self, words, *parts):
        done = call(*words)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_the_export_has_the_weights_of_the_summary_wherever_they_are_kept(self):
        for name, flags in (("gtopk", ["--algo", "gtopk", "--workers", "3"]),
                            ("shards", ["--store", "shards", "--workers", "3"]),
                            ("ssd", ["--algo", "ssd-sgd", "--workers", "2", "--servers", "2"]),
                            ("asgd", ["--algo", "asgd", "--workers", "2"])):
            summary = self.train(name, *flags)
            header, about, values = self.read_sorted(self.export(name))
            self.assertEqual(hash_of(values[:4 * summary["params"]]), summary["weights_hash"], name)
            self.assertEqual((about["model"], about["image"], about["classes"]), ("resnet20", "1x16x16", "10"))
            self.assertEqual(header["conv1.weight"]["shape"], [16, 1, 3, 3])

    def read_sorted(self, path):
        header, about, values = read(path)
        last = max(row["data_offsets"][1] for row in header.values())
        self.assertEqual(last, len(values))
        for name, row in header.items():
            self.assertEqual(4 * math.prod(row["shape"]), row["data_offsets"][1] - row["data_offsets"][0], name)
        return header, about, values

    def test_pytorch_names_are_those_of_torchvision(self):
        self.train("run", "--workers", "2")
        header, _, _ = read(self.export("run", "--names", "pytorch"))
        self.assertIn("layer2.0.downsample.0.weight", header)
        self.assertIn("layer2.0.downsample.1.running_var", header)
        self.assertFalse([name for name in header if ".down." in name])

    def test_npz_has_the_same_arrays(self):
        self.train("run")
        header, _, values = read(self.export("run"))
        with zipfile.ZipFile(self.export("run", file="weights.npz")) as archive:
            self.assertIsNone(archive.testzip())
            self.assertEqual(sorted(archive.namelist()), sorted(f"{name}.npy" for name in header))
            for name, row in header.items():
                data = archive.read(f"{name}.npy")
                length = struct.unpack_from("<H", data, 8)[0]
                self.assertEqual((10 + length) % 64, 0)
                self.assertIn(str(tuple(row["shape"])).replace(" ", "").rstrip(")").rstrip(","),
                              data[10:10 + length].decode().replace(" ", ""))
                self.assertEqual(data[10 + length:], values[slice(*row["data_offsets"])], name)

    def test_a_run_that_has_not_ended_says_from_which_step_it_is(self):
        self.train("run", "--checkpoint-every", "2")
        shutil.rmtree(self.path("run/checkpoints/step-3"))
        done = call("export", self.path("run"), "-o", self.path("weights.safetensors"))
        self.assertIn("step 2 of 3: the run has not finished", done.stdout)
        shutil.rmtree(self.path("run/checkpoints"))
        self.refuses(["export", self.path("run"), "-o", self.path("w.safetensors")], "no checkpoint")
        self.assertFalse(os.path.exists(self.path("w.safetensors")))

    def test_what_cannot_be_exported_is_refused_in_a_line(self):
        self.refuses(["export", self.path("nothing"), "-o", "w.npz"], "nothing does not exist; expected the directory of a run")
        self.train("run", "--workers", "2")
        self.refuses(["export", self.path("run")], "-o")
        self.refuses(["export", self.path("run"), "-o", "w.pt"], "w.pt", ".safetensors or .npz")
        self.refuses(["export", self.path("run"), "-o", "w.npz", "--best"], "--keep-best")
        os.remove(self.path("run/checkpoints/step-3/worker-1.syn"))
        self.refuses(["export", self.path("run"), "-o", "w.npz"], "worker-1.syn")
        done = call("export", self.path("run"), "-o", self.path("none/w.npz"))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))

    def evaluate(self, *words):
        done = call("evaluate", *words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_evaluate_comes_to_the_digits_of_the_run(self):
        for name, flags in (("images", ["--workers", "3"]), ("best", ["--keep-best", "--eval-every", "1"])):
            self.train(name, *flags)
            with open(self.path(f"{name}/metrics.jsonl"), encoding="utf-8") as file:
                scores = [line for line in map(json.loads, file) if "test_loss" in line]
            found = self.evaluate(self.path(name))
            self.assertEqual((found["loss"], found["accuracy"]), (scores[-1]["test_loss"], scores[-1]["test_accuracy"]))
            self.assertEqual(sum(map(sum, found["confusion"])), found["labels"])
            self.assertAlmostEqual(sum(found["confusion"][i][i] for i in range(10)), found["labels"] * found["accuracy"], 5)
            self.assertGreaterEqual(found["top5"], found["accuracy"])
        best = min(scores, key=lambda line: line["test_loss"])
        found = self.evaluate(self.path("best"), "--best")
        self.assertEqual((found["step"], found["loss"]), (best["step"], best["test_loss"]))

    def test_a_file_of_weights_evaluates_as_its_run_does(self):
        self.train("run")
        ours = self.evaluate(self.path("run"))
        for flags in ([], ["--names", "pytorch"]):
            file = self.export("run", *flags)
            theirs = self.evaluate(file, *IMAGES[:-4], "--batch", "8")
            self.assertEqual((ours["loss"], ours["confusion"]), (theirs["loss"], theirs["confusion"]))

    def test_training_starts_from_a_file_or_a_run(self):
        first = self.train("run", "--workers", "2", "--model", "mlp")
        for init in (self.path("run"), self.export("run"), self.export("run", "--names", "pytorch"),
                     self.export("run", file="weights.npz")):
            tuned = self.train("tuned", "--model", "mlp", "--steps", "1", "--lr", "1e-12", "--lr-schedule", "constant", "--overwrite",
                               "--weight-decay", "0", "--init", init)
            self.assertAlmostEqual(tuned["test_loss"], first["test_loss"], 6)

    def test_weights_of_another_model_are_refused_and_a_head_can_start_afresh(self):
        self.train("run")
        file = self.export("run")
        words = ["train", *IMAGES, "--steps", "1", "--out", self.path("other")]
        self.refuses([*words, "--model", "mlp", "--init", file], file, "fc1.weight")
        seven = [*words, "--model", "resnet20", "--synthetic-classes", "7", "--init", file]
        self.refuses(seven, file, "fc.weight is 10x64", "7x64", "--init-head lets what does not fit start afresh")
        said = call(*words, "--model", "mlp", "--init", file).stderr
        self.assertNotIn("--init-head", said)  # most of it is another model's
        done = call(*seven, "--init-head")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("fc.weight (7x64) starts afresh", done.stderr)
        self.refuses([*words, "--model", "mlp", "--init", file, "--init-head", "--overwrite"], "another model")
        self.refuses(["evaluate", file, "--model", "lenet", *IMAGES[:-4]], file)
        self.refuses(["evaluate", self.path("nothing")], "nothing")

    def test_a_head_of_other_classes_has_nothing_of_the_old_one(self):
        """At a rate that moves nothing: the head is that of a run without --init, the rest that of the file."""
        still = ["--steps", "1", "--lr", "1e-12", "--lr-schedule", "constant", "--weight-decay", "0",
                 "--synthetic-classes", "7", "--seed", "5"]
        self.train("run")
        self.train("afresh", *still)
        self.train("tuned", *still, "--init", self.export("run"), "--init-head")
        old, afresh, tuned = (floats(self.export(name)) for name in ("run", "afresh", "tuned"))
        for name, expected, other in (("fc.weight", afresh, old), ("conv1.weight", old, afresh)):
            count = len(tuned[name])
            self.assertLess(distance(tuned[name], expected[name]), 1e-6, name)
            self.assertGreater(distance(tuned[name], other[name][:count]), 1e-3, name)

    def test_top_5_counts_the_labels_among_the_five_highest_scores(self):
        """Without weights the scores are the head's bias; of equal ones the earlier class comes first."""
        self.train("run", "--model", "mlp")
        file = self.export("run")
        header, _, values = read(file)
        with open(file, "rb") as opened:
            head = opened.read()[:-len(values)]
        bias = max(name for name in header if name.endswith(".bias"))
        for scores in ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [5, 4, 4, 4, 4, 9, 4, 4, 0, 0], [0] * 10):
            changed = bytearray(len(values))
            changed[slice(*header[bias]["data_offsets"])] = struct.pack("<10f", *scores)
            with open(file, "wb") as opened:
                opened.write(head + changed)
            found = self.evaluate(file, *IMAGES[:-4], "--batch", "8")
            labels = [sum(row) for row in found["confusion"]]
            order = sorted(range(10), key=lambda label: (-scores[label], label))
            self.assertAlmostEqual(found["top5"], sum(labels[i] for i in order[:5]) / sum(labels), 6, scores)
            self.assertAlmostEqual(found["accuracy"], labels[order[0]] / sum(labels), 6, scores)
            self.assertLess(found["top5"], 1, scores)

    def test_a_run_predicts_without_its_data(self):
        for i in range(12):
            pictures.write_png(self.path(f"pictures/train/{'night' if i % 2 else 'day'}/{i}.png"), 100 * (i % 2) + i)
        one = pictures.write_png(self.path("one.png"), 5)
        done = call("train", "--model", "mlp", "--data", "folder", "--data-dir", self.path("pictures"), "--image-size",
                    "16", "--normalise", "computed", "--batch", "4", "--steps", "3", "--out", self.path("run"))
        if "this build is without libpng" in done.stderr:
            self.skipTest("no libpng")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(call("export", self.path("run"), "-o", self.path("w.safetensors")).returncode, 0)
        said = call("predict", self.path("run"), one)
        fresh = call("predict", self.path("w.safetensors"), one, "--data-dir", self.path("pictures"), "--image-size", "16",
                     "--normalise", "computed")
        self.assertEqual(said.stdout, fresh.stdout, fresh.stderr)  # what was kept is what the data say
        os.rename(self.path("pictures"), self.path("gone"))
        self.assertEqual(call("predict", self.path("run"), one).stdout, said.stdout)
        self.assertIn("night", said.stdout)
        self.refuses(["evaluate", self.path("run")], "pictures", "is missing")
        with open(self.path("run/input.txt"), "a", encoding="utf-8") as file:
            file.truncate(40)
        self.refuses(["predict", self.path("run"), one], "input.txt: not a description of data written by syncopate train")

    def test_a_run_that_goes_on_is_used_as_far_as_it_is(self):
        words = ["train", *IMAGES, "--model", "mlp", "--checkpoint-every", "50", "--steps", "1000000", "--out", self.path("run")]
        with open(self.path("image"), "wb") as file:
            file.write(bytes(256))
        self.refuses(["evaluate", self.path("run")], "run")
        process = subprocess.Popen([COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            while not glob.glob(self.path("run/checkpoints/step-*/worker-0.syn")) and process.poll() is None:
                time.sleep(0.01)
            for _ in range(8):
                for command in (["export", self.path("run"), "-o", self.path("w.npz")], ["evaluate", self.path("run")],
                                ["predict", self.path("run"), self.path("image")], ["inspect", self.path("run")]):
                    done = call(*command)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            self.assertIsNone(process.poll())
        finally:
            process.kill()
            process.communicate()

    def test_predict_tells_the_likeliest_classes_of_an_image(self):
        self.train("run")
        for name, count in (("image", 256), ("short", 255)):
            with open(self.path(name), "wb") as file:
                file.write(bytes(range(count)) if count < 256 else bytes(range(256)))
        done = call("predict", self.path("run"), self.path("image"))
        self.assertEqual(done.returncode, 0, done.stderr)
        shares = [float(part.split()[-2]) for part in done.stdout.split(",")]
        self.assertEqual((len(shares), shares), (5, sorted(shares, reverse=True)))
        self.refuses(["predict", self.path("run"), self.path("short")], "short: ", "1x16x16")
        pictures.write_png(self.path("grey.png"), 0)
        done = call("predict", self.path("run"), self.path("grey.png"), self.path("image"))
        self.assertEqual((done.returncode, done.stdout.count("%")), (0, 10), done.stderr)
        self.refuses(["predict", self.path("run"), self.path("none")], "none")
        self.refuses(["predict", self.path("run")], "images")

    def write_texts(self):
        os.mkdir(self.path("text"))
        for part in ("train", "valid", "test"):
            with open(self.path(f"text/ptb.{part}.txt"), "w", encoding="utf-8") as file:
                file.write("the cat sat on the mat\nthe dog ran\n" * 41)  # no divisor of the workers' columns

    def learn_by_heart(self, *flags):
        """What a GPT says after "the cat sat on the": right only if it knows more than the last word."""
        self.write_texts()
        done = call("train", "--model", "gpt", "--data", "text", "--data-dir", self.home.name, "--batch", "4", "--lr",
                    "3e-3", "--workers", "2", "--threads", "1", "--no-evaluate", "--out", self.path("run"), *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("prompt"), "w", encoding="utf-8") as file:
            file.write("the cat sat on the")
        said = call("predict", self.path("run"), self.path("prompt"), "--words", "90", "--temperature", "0.05")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertLess(json.loads(call("evaluate", self.path("run"), "--json").stdout)["perplexity"], 1.5)
        return [line.strip() for line in said.stdout.splitlines()]

    def check_lines(self, lines):
        self.assertEqual(lines[0], "mat", lines)
        self.assertGreaterEqual(len(lines), 4, lines)
        for line, wanted in zip(lines[1:-1], ["the dog ran", "the cat sat on the mat"] * 10):
            self.assertEqual(line, wanted, lines)

    def test_a_transformer_says_a_text_that_is_longer_than_what_it_reads(self):
        self.check_lines(self.learn_by_heart("--time", "12", "--steps", "150"))

    def test_a_transformer_reads_and_says_letters(self):
        self.check_lines(self.learn_by_heart("--letters", "--time", "32", "--steps", "200"))

    def test_predict_goes_on_with_a_text_as_the_seed_says(self):
        self.write_texts()
        done = call("train", "--model", "lstm-small", "--data", "text", "--data-dir", self.home.name, "--batch", "4",
                    "--steps", "30", "--lr", "5", "--threads", "1", "--out", self.path("run"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("prompt"), "w", encoding="utf-8") as file:
            file.write("the dog")
        words = ["predict", self.path("run"), self.path("prompt"), "--words", "12"]
        said = call(*words)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertLessEqual(set(said.stdout.split()), set("the cat sat on mat dog ran".split()))
        self.assertEqual(said.stdout, call(*words).stdout)
        self.assertNotEqual(said.stdout, call(*words, "--seed", "2").stdout)
        found = self.evaluate(self.path("run"))
        shutil.rmtree(self.path("text"))
        self.assertEqual(said.stdout, call(*words).stdout)  # the vocabulary is kept with the run
        with open(self.path("run/metrics.jsonl"), encoding="utf-8") as file:
            last = [line for line in map(json.loads, file) if "test_loss" in line][-1]
        self.assertEqual(found["loss"], last["test_loss"])

    def rewrite(self, file, name, change):
        """A copy of a file whose header and values were changed by change(header, values)."""
        header, about, values = read(file)
        values = change(header, values)
        text = json.dumps({"__metadata__": about, **header}).encode()
        path = self.path(name)
        with open(path, "wb") as opened:
            opened.write(struct.pack("<Q", len(text)) + text + values)
        return path

    def test_tensors_of_16_bits_are_read(self):
        self.train("run", "--model", "mlp")
        file = self.export("run")
        whole = floats(file)

        def narrow(form):
            def change(header, _):
                data = b""
                for name, row in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
                    begin = len(data)
                    data += b"".join(form(value) for value in whole[name])
                    row.update(dtype=form.__name__, data_offsets=[begin, len(data)])
                return data
            return change

        def F16(value):
            return struct.pack("<e", value)

        def BF16(value):
            return struct.pack("<f", value)[2:]
        expected = self.evaluate(file, *IMAGES[:-4], "--batch", "8")["loss"]
        for form, close in ((F16, 1e-3), (BF16, 1e-2)):
            found = self.evaluate(self.rewrite(file, "narrow.safetensors", narrow(form)), *IMAGES[:-4], "--batch", "8")
            self.assertNotEqual(found["loss"], expected)
            self.assertLess(abs(found["loss"] - expected), close * expected, form.__name__)
        tiny = struct.pack("<e", 6e-8)  # the smallest half, and one that is not a number
        path = self.rewrite(file, "odd.safetensors", lambda header, values: narrow(F16)(header, values)[:-2] + b"\0\x7e")
        self.refuses(["evaluate", path, *IMAGES[:-4]], "holds")
        path = self.rewrite(file, "tiny.safetensors", lambda header, values: narrow(F16)(header, values)[:-2] + tiny)
        self.evaluate(path, *IMAGES[:-4], "--batch", "8")

    def test_tensors_that_overlap_or_leave_a_gap_or_are_of_other_types_are_refused(self):
        self.train("run", "--model", "mlp")
        file = self.export("run")

        def overlap(header, values):
            rows = sorted(header.values(), key=lambda row: row["data_offsets"])
            length = rows[1]["data_offsets"][1] - rows[1]["data_offsets"][0]
            rows[1]["data_offsets"] = [8, 8 + length]
            return values

        def gap(header, values):
            last = max(header.values(), key=lambda row: row["data_offsets"])
            last["data_offsets"] = [end + 4 for end in last["data_offsets"]]
            return values + bytes(4)

        def double(header, values):
            next(iter(header.values()))["dtype"] = "F64"
            return values
        for change, said in ((overlap, "begins at byte 8, within"), (gap, "belongs to no tensor"),
                             (double, "is of type F64; expected F32, F16 or BF16")):
            path = self.rewrite(file, f"{change.__name__}.safetensors", change)
            self.refuses(["evaluate", path, *IMAGES[:-4]], path, said)

    def test_damaged_weights_are_refused(self):
        self.train("run")
        with open(self.export("run"), "rb") as file:
            good = file.read()
        for name, bytes_ in (("short", good[:-4]), ("empty", b""), ("head", good[:100]),
                             ("nan", good[:-4] + struct.pack("<f", math.nan))):
            path = self.path(f"{name}.safetensors")
            with open(path, "wb") as file:
                file.write(bytes_)
            self.refuses(["evaluate", path], path)


if __name__ == "__main__":
    COMMAND = sys.argv.pop(1)
    unittest.main()
