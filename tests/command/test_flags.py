"""Flag sets drawn at random: whatever is typed, the command ends by itself, tells bad input in one line, and never crashes.

    test_flags.py COMMAND COUNT [MPIRUN [FLAG...]]    with MPIRUN: on ranks whose flags may differ

Every set is drawn from SYNCOPATE_SEED (1) and its number, and told when it fails: COUNT can be raised for a longer hunt.
"""
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import flags

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import ranks  # noqa: E402

COMMAND = "syncopate"
COUNT = 200
LAUNCH = []
SEED = os.environ.get("SYNCOPATE_SEED", "1")
PATIENCE = 200  # seconds; for a machine that is busy with other things
TRAIN = ["--data", "synthetic", "--synthetic-examples", "96", "--model", "mlp", "--batch", "4", "--steps", "2",
         "--threads", "1"]
# What may go wrong in a run that was rightly begun, documented with exit code 1.
AFTERWARDS = re.compile(r"not finite|holds|loss (on the test part )?is|overflow|infinit|cannot (write|open|create|make)")
CRASH = re.compile(r"Sanitizer|runtime error:|Assertion|SIGSEGV|Segmentation|signal [0-9]+|core dumped|stack smashing")

SUBCOMMANDS = [  # words, always there, how often, never drawn
    (["train"], TRAIN, 10, ("out", "resume", "data", "data-dir")),
    (["train"], TRAIN, 2, ("out",)),
    (["advise"], [*TRAIN, "--workers", "2"], 1, ("out", "resume")),
    (["simulate"], ["--workers", "4", "--steps", "2"], 3, ("out",)),
    (["bench", "select"], ["--n", "2000", "--repeats", "1"], 1, ()),
    (["bench", "codec"], ["--n", "2000", "--repeats", "1"], 1, ()),
    (["bench", "exchange"], ["--n", "2000", "--repeats", "1", "--workers", "2"], 2, ()),
    (["bench", "step"], ["--model", "mlp", "--batch", "4", "--seconds", "0", "--threads", "1"], 1, ()),
    (["data", "list"], [], 1, ()),
    (["data", "check"], [], 1, ()),
    (["inspect"], ["."], 1, ()),
    (["report"], ["."], 1, ("follow", "output")),
    (["list"], [], 1, ()),
]
UNDER_MPI = [(["train"], TRAIN, 8, ("out", "resume", "data", "data-dir")), SUBCOMMANDS[2], SUBCOMMANDS[6]]


def run(words, home):
    """Exit code and what was said; None for one that had to be killed."""
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=home,
                               text=True, errors="replace")
    try:
        said, complained = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        said, complained = process.communicate()
        return None, said, complained
    return process.returncode, said, complained


def words_without_null(words):
    return [word.replace("\0", "") for word in words]


class Flags(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.flags = {tuple(words): flags.flags_of(COMMAND, *words) for words, _, _, _ in SUBCOMMANDS}
        self.assertGreater(len(self.flags[("train",)]), 60)

    def draw(self, number, table):
        """The subcommand, its arguments, and a drawing of further flags."""
        dice = flags.dice_of(SEED, number)
        words, always, _, never = dice.choices(table, [row[2] for row in table])[0]
        known = self.flags[tuple(words)]
        typed = [COMMAND, *words, *always, *flags.draw(dice, known, 5, never)]
        if words[0] == "train":
            typed += ["--out", os.path.join(self.home.name, f"run-{number}")]
        return dice, typed, lambda most: flags.draw(dice, known, most, never)

    def judge(self, typed, code, said, complained):
        """What was promised and not kept; "" if all was."""
        lines = [line for line in complained.splitlines() if line.startswith("syncopate: ")]
        if code is None:
            return "did not end"
        if CRASH.search(complained) or CRASH.search(said):
            return "crashed"
        if code not in (0, 1, 2):
            return f"exit code {code}"
        if code == 1 and not AFTERWARDS.search(complained):
            return "exit code 1 without a failure that comes later"
        if code == 2 and not lines:
            return "no line about what is wrong"
        if code == 2 and not LAUNCH and len(set(lines)) > 1:
            return "more than one line about what is wrong"
        return ""

    def try_one(self, number):
        if LAUNCH:
            dice, typed, more = self.draw(number, UNDER_MPI)
            typed = words_without_null(typed)
            count = dice.randint(1, 2)
            odd = [*typed, *words_without_null(more(2))] if dice.random() < 0.6 else typed
            typed = [*LAUNCH, "-n", str(count + 1), *ranks.one_and_the_others(count, typed, odd)]
        else:
            _, typed, _ = self.draw(number, SUBCOMMANDS)
            typed = words_without_null(typed)
        code, said, complained = run(typed, self.home.name)
        wrong = self.judge(typed, code, said, complained)
        if not wrong:
            return code, ""
        return code, f"set {number}: {wrong}, exit code {code}\n  {shlex.join(typed)}\n{complained[-2500:]}"

    def test_every_flag_set_ends_well_or_with_one_line(self):
        with concurrent.futures.ThreadPoolExecutor(1 if LAUNCH else 2) as pool:
            results = list(pool.map(self.try_one, range(COUNT)))
        codes = [code for code, _ in results]
        wrong = [text for _, text in results if text]
        print({code: codes.count(code) for code in sorted(set(codes), key=str)}, file=sys.stderr)
        self.assertFalse(wrong, f"{len(wrong)} of {COUNT}\n" + "\n".join(wrong))
        if COUNT >= 40:  # the sets are neither all refused nor all fine
            self.assertGreater(codes.count(0), COUNT / 10)
            self.assertGreater(codes.count(2), COUNT / 10)


if __name__ == "__main__":
    COMMAND, COUNT, LAUNCH = sys.argv[1], int(os.environ.get("SYNCOPATE_FLAG_SETS", sys.argv[2])), sys.argv[3:]
    unittest.main(argv=sys.argv[:1])
