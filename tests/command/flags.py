"""Flags drawn at random from what the command's own --help lists, so that a new flag is tried by itself."""
import random
import re
import subprocess

ROW = re.compile(r"^  --(?:\[no-\])?([a-z0-9-]+)(?: N  \((\S+) to (\S+)\)| (TEXT)| (\S+))?$", re.MULTILINE)

# What is valid but would take all day or all memory is drawn from here; what is beyond a flag's range never is.
SMALL = {
    "workers": (1, 3), "servers": (0, 2), "batch": (1, 16), "accumulate": (1, 2), "steps": (0, 3), "epochs": (1, 1),
    "time": (1, 4), "threads": (1, 2), "select-threads": (1, 4), "synthetic-examples": (1, 96), "n": (1, 4000),
    "synthetic-classes": (2, 40), "synthetic-height": (1, 40), "synthetic-width": (1, 40), "vocabulary": (3, 50),
    "synthetic-channels": (1, 4), "repeats": (1, 3), "seconds": (0, 0.1), "params": (1, 100000), "port": (0, 0),
    "timeout-ms": (60000, 90000), "depth": (1, 16), "checkpoint-keep": (1, 3),
}
MODELS = ["mlp", "lenet"]  # of the models, those that a sanitized step of takes no minutes
ABSURD = ["", " ", "-1", "-0", "nan", "inf", "-inf", "1e309", "1e-320", "0x1p4", "99999999999999999999999", "1,5", "5 ",
          " 5", "5k", "17179869184G", "+3", "abc", "--", "%s%n", "ä", "\n", "1e3", "'; ls", "x" * 300]
TEXTS = ["", "a/b", "/proc/none", "/dev/null", "x" * 255, "x" * 256, "x" * 3000, "..", "81,122", "1,", "3,2,1", "4..8",
         "8..4", "0..0", "1..99999999999", "10ms", "-3us", "1gbit", "0mbit", "all", "gtopk,ssgd", "ssd-sgd+gtopk", "+",
         "\n", "%n%s"]


class Flag:
    def __init__(self, name, least, most, text, choices):
        self.name = name
        self.range = None if least is None else (float(least), float("inf") if most == "any" else float(most))
        self.takes_text = text is not None
        self.choices = choices.split("|") if choices else None

    def number(self, dice):
        least, most = SMALL.get(self.name, self.range)
        most = min(most, 1e6)
        value = dice.choice([least, most, dice.uniform(least, most), round(dice.uniform(least, min(most, 8)))])
        return repr(value) if dice.random() < 0.3 else str(int(value))

    def value(self, dice):
        """As it would be typed; None: the flag alone."""
        if dice.random() < 0.06:
            return dice.choice(ABSURD)
        if self.name == "model" and self.choices:
            return dice.choice(MODELS)
        if self.choices:
            return dice.choice(self.choices)
        if self.takes_text:
            return dice.choice(TEXTS)
        return self.number(dice) if self.range else dice.choice([None, "on", "off"])

    def typed(self, dice):
        value = self.value(dice)
        if value is None:
            return ["--" + self.name if dice.random() < 0.5 else "--no-" + self.name]
        return [f"--{self.name}={value}"] if dice.random() < 0.3 else ["--" + self.name, value]


def flags_of(command, *words):
    """What --help all of a subcommand lists."""
    text = subprocess.run([command, *words, "--help", "all"], capture_output=True, text=True, check=True).stdout
    assert "(null)" not in text, text
    return [Flag(*row) for row in ROW.findall(text.replace(" N  (", " N  (")) for row in [[p or None for p in row]]]


def draw(dice, flags, most, without=()):
    """Some flags with values, repeated and contradictory ones among them."""
    usable = [flag for flag in flags if flag.name not in without]
    return [word for _ in range(dice.randint(0, most)) for word in dice.choice(usable).typed(dice)]


def dice_of(seed, number):
    return random.Random(f"{seed}/{number}")
