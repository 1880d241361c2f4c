"""Damaged checkpoints: a run goes on from the one before, to the same weights, or is refused in words; it never crashes.

    test_damage.py COMMAND COUNT

Every damage is drawn from SYNCOPATE_SEED (1) and its number, and told when it fails.
"""
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

COMMAND = "syncopate"
COUNT = 100
SEED = os.environ.get("SYNCOPATE_SEED", "1")
PATIENCE = 200  # seconds; for a machine that is busy with other things
RUN = ["--model", "lenet", "--data", "synthetic", "--synthetic-examples", "96", "--batch", "2", "--workers", "2",
       "--threads", "1", "--algo", "gtopk", "--density", "0.01", "--evaluate", "off", "--json"]
CRASH = re.compile(r"Sanitizer|runtime error:|Assertion|Segmentation")
NEW, OLD = "step-4", "step-2"


def overwrite(path, content):
    """As a new file: the old one is shared with the other copies."""
    os.remove(path)
    with open(path, "wb") as file:
        file.write(content)


def read(path):
    with open(path, "rb") as file:
        return bytearray(file.read())


def flip_bits(dice, path):
    content = read(path)
    within = dice.choice([64, 1024, len(content)])
    for _ in range(dice.randint(1, 8)):
        content[dice.randrange(min(within, len(content)))] ^= 1 << dice.randrange(8)
    overwrite(path, content)


def cut(dice, path):
    content = read(path)
    overwrite(path, content[:dice.choice([1, 7, 8, 16, 100, len(content) // 2, len(content) - 1,
                                          dice.randrange(len(content))])])


def empty(_, path):
    overwrite(path, b"")


def grow(dice, path):
    overwrite(path, read(path) + dice.randbytes(dice.choice([1, 8, 4096])))


def scramble(dice, path):
    overwrite(path, dice.randbytes(dice.choice([1, 64, 5000])))


def blank_a_page(dice, path):
    content = read(path)
    at = dice.randrange(0, len(content), 4096)
    content[at:at + 4096] = bytes(len(content[at:at + 4096]))
    overwrite(path, content)


def claim_huge_sizes(dice, path):
    content = read(path)
    at = dice.randrange(0, 512, 8)
    content[at:at + 8] = dice.choice([b"\xff" * 8, b"\xff" * 7 + b"\x7f", b"\0" * 7 + b"\x10"])
    overwrite(path, content)


def another_version(dice, path):
    content = read(path)
    content[dice.randrange(16)] += 1 if content[0] < 255 else -1
    overwrite(path, content)


def take_away(_, path):
    os.remove(path)


def put_a_folder(_, path):
    os.remove(path)
    os.mkdir(path)


def link_to_itself(_, path):
    os.remove(path)
    os.symlink(os.path.basename(path), path)


def put_the_other_workers(_, path):
    other = path.replace("worker-0", "worker-x").replace("worker-1", "worker-0").replace("worker-x", "worker-1")
    content = read(other)
    overwrite(path, content)


def put_another_steps(_, path):
    content = read(path.replace(NEW, "step-x").replace(OLD, NEW).replace("step-x", OLD))
    overwrite(path, content)


DAMAGES = [flip_bits, flip_bits, flip_bits, cut, cut, empty, grow, scramble, blank_a_page, claim_huge_sizes,
           another_version, take_away, put_a_folder, link_to_itself, put_the_other_workers, put_another_steps]


def run(*words):
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          stdin=subprocess.DEVNULL, errors="replace")
    if done.returncode not in (0, 1, 2) or CRASH.search(done.stderr):
        raise AssertionError(f"crashed with {done.returncode}: {done.stderr[-3000:]}")
    return done


class Damage(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = home.name
        self.whole = os.path.join(self.home, "whole")
        done = run("train", *RUN, "--steps", "4", "--checkpoint-every", "2", "--out", self.whole)
        self.weights = json.loads(done.stdout)["weights_hash"]
        self.assertEqual(sorted(os.listdir(os.path.join(self.whole, "checkpoints"))), [OLD, NEW])

    def copy(self, number):
        """The run again; its large files are shared, its small ones its own."""
        out = os.path.join(self.home, f"copy-{number}")
        shutil.copytree(self.whole, out, copy_function=lambda a, b: os.link(a, b) if a.endswith(".syn") else
                        shutil.copy(a, b))
        return out

    def try_one(self, number):
        dice = random.Random(f"{SEED}/{number}")
        out = self.copy(number)
        both = dice.random() < 0.3
        told = []
        for step in (NEW, OLD) if both else (NEW,):
            damage, worker = dice.choice(DAMAGES), dice.randrange(2)
            damage(dice, os.path.join(out, "checkpoints", step, f"worker-{worker}.syn"))
            told.append(f"{damage.__name__} {step} worker {worker}")
        try:
            run("inspect", out)
            done = run("train", "--resume", out, "--json")
        except (AssertionError, subprocess.TimeoutExpired) as wrong:
            return f"{number}: {told}: {wrong}"
        finally:
            shutil.rmtree(out)
        if done.returncode == 0 and json.loads(done.stdout)["weights_hash"] == self.weights:
            return ""
        errors = [line for line in done.stderr.splitlines() if line.startswith("syncopate: ")]
        if both and done.returncode == 2 and errors:
            return ""
        return f"{number}: {told}: exit code {done.returncode}, {done.stdout[-300:]}{done.stderr[-1500:]}"

    def test_damaged_checkpoints_are_left_for_the_one_before_or_refused(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = [text for text in pool.map(self.try_one, range(COUNT)) if text]
        self.assertFalse(wrong, f"{len(wrong)} of {COUNT}\n" + "\n".join(wrong))


if __name__ == "__main__":
    COMMAND, COUNT = sys.argv[1], int(os.environ.get("SYNCOPATE_DAMAGES", sys.argv[2]))
    unittest.main(argv=sys.argv[:1])
