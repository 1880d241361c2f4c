"""AN4 as it is distributed: transcriptions, recordings, and the features that a network gets.

    DIR/etc/an4_train.fileids           one recording per line, without its ending: an4_clstk/fash/an251-fash-b
    DIR/etc/an4_train.transcription     <s> YES </s> (an251-fash-b)
    DIR/wav/an4_clstk/fash/*.raw        16 bits, 16 kHz, one channel, big-endian, no header; or *.wav

and the same with an4_test. A recording that cannot be used is named, counted and left out; a part without usable
recordings is refused.
"""
import collections
import math
import os
import re
import sys
import wave

import torch

RATE = 16000
WINDOW, HOP = 320, 160  # 20 ms every 10 ms
BINS = WINDOW // 2 + 1
NAMED = 10  # how many unusable recordings of a part are named; more are only counted
NYQUIST = RATE / 2

Utterance = collections.namedtuple("Utterance", "name text sound")


class Odd(Exception):
    """What is wrong with one recording."""


def lines_of(path):
    """(number, text) of the lines that are not empty."""
    try:
        with open(path, encoding="utf-8") as file:
            return [(i + 1, line.strip()) for i, line in enumerate(file) if line.strip()]
    except FileNotFoundError:
        raise SystemExit(f"{path}: not found; expected AN4's form, with etc/ and wav/ (--data-dir)") from None
    except UnicodeDecodeError:
        raise SystemExit(f"{path}: not UTF-8 text") from None


def read_transcription(path):
    """The words of each recording, by the last part of its name."""
    said = {}
    for number, line in lines_of(path):
        match = re.fullmatch(r"(?:<s>)?\s*(.*?)\s*(?:</s>)?\s*\(([^()\s]+)\)", line)
        if not match:
            raise SystemExit(f"{path}:{number}: {line[:60]!r}; expected words and then (NAME)")
        said[match[2]] = " ".join(match[1].upper().split())
    return said


def read_wav(path):
    try:
        with wave.open(path) as file:
            form = file.getnchannels(), 8 * file.getsampwidth(), file.getframerate()
            expected, data = file.getnframes(), file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        raise Odd(f"not a WAV file with plain samples ({error or 'it ends too early'})") from None
    if form != (1, 16, RATE):
        raise Odd(f"{form[0]} channels of {form[1]} bits at {form[2]} Hz; expected 1 of 16 at {RATE}")
    if len(data) < 2 * expected:
        raise Odd(f"cut short: {len(data) // 2} samples of {expected}")
    return torch.frombuffer(bytearray(data), dtype=torch.int16) if data else torch.empty(0)


def read_raw(path):
    with open(path, "rb") as file:
        data = file.read()
    if len(data) % 2:
        raise Odd(f"cut short: {len(data)} bytes; expected a multiple of 2")
    octets = torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0)
    pairs = octets.view(-1, 2).to(torch.int32)
    return (pairs[:, 0] << 8 | pairs[:, 1]).to(torch.int16)  # big-endian


def read_sound(path):
    """The samples of path.raw or path.wav, between -1 and 1."""
    for ending, read in ((".raw", read_raw), (".wav", read_wav)):
        if os.path.exists(path + ending):
            samples = read(path + ending)
            if len(samples) == 0:
                raise Odd("empty")
            if len(samples) < WINDOW:
                raise Odd(f"{len(samples)} samples; expected at least {WINDOW}")
            return samples.float() / 32768
    raise Odd("neither .raw nor .wav was found")


def shortest(text):
    """How many outputs CTC needs for a text: one per letter, and a blank between two equal letters."""
    return len(text) + sum(a == b for a, b in zip(text, text[1:]))


def read_utterance(directory, said, name, stack):
    key = name.split("/")[-1]
    if not said.get(key):
        raise Odd(f"no words for ({key}) in the transcription")
    sound = read_sound(os.path.join(directory, "wav", name))
    outputs = frames_of(len(sound)) // stack
    if outputs < shortest(said[key]):
        raise Odd(f"{len(sound) / RATE:.2f} s are too short for {len(said[key])} letters; expected "
                  f"{shortest(said[key]) * stack * HOP / RATE:.2f}")
    return Utterance(name, said[key], sound)


def read_part(directory, part, stack):
    """(the recordings of a part, a message for each that is left out)."""
    listed = os.path.join(directory, "etc", f"an4_{part}.fileids")
    names = [name for _, name in lines_of(listed)]
    said = read_transcription(os.path.join(directory, "etc", f"an4_{part}.transcription"))
    heard, odd = [], []
    for name in names:
        try:
            heard.append(read_utterance(directory, said, name, stack))
        except Odd as reason:
            odd.append(f"{os.path.join('wav', name)}: {reason}; left out")
    if not heard:
        raise SystemExit(odd[0].replace("left out", "nothing else is left") if odd
                         else f"{listed}: empty; expected a recording per line")
    return heard, odd


def warn(odd):
    for line in odd[:NAMED]:
        print(line, file=sys.stderr, flush=True)
    if len(odd) > NAMED:
        print(f"and {len(odd) - NAMED} more recordings that were left out", file=sys.stderr, flush=True)


def frames_of(samples):
    """The number of windows in a sound with this number of samples."""
    return 1 + (samples - WINDOW) // HOP


def mel_filters(bands):
    """[bins][bands]: triangles that are equally wide on the mel scale."""
    def mel(hertz):
        return 2595 * math.log10(1 + hertz / 700)

    edges = 700 * (10 ** (torch.linspace(mel(60), mel(NYQUIST), bands + 2) / 2595) - 1)
    hertz = torch.linspace(0, NYQUIST, BINS).view(-1, 1)
    rising = (hertz - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - hertz) / (edges[2:] - edges[1:-1])
    return torch.minimum(rising, falling).clamp(min=0)


class Features:
    """The network's input: the logarithm of a spectrogram, by bins or by mel bands, normalised per recording."""

    def __init__(self, kind, bands, stack):
        self.filters = mel_filters(bands) if kind == "mel" else None
        self.stack = stack
        self.size = stack * (bands if kind == "mel" else BINS)

    def __call__(self, sound):
        """[outputs][size]: `stack` windows side by side, so that the network has fewer steps."""
        power = torch.stft(sound, WINDOW, HOP, window=torch.hamming_window(WINDOW), center=False,
                           return_complex=True).abs().square().t()
        heard = torch.log((power if self.filters is None else power @ self.filters) + 1e-6)
        heard = (heard - heard.mean()) / (heard.std() + 1e-6)
        outputs = len(heard) // self.stack
        return heard[:outputs * self.stack].reshape(outputs, self.size)


class Letters:
    """Letters as numbers; 0 is CTC's blank."""

    def __init__(self, utterances):
        self.letters = sorted({letter for each in utterances for letter in each.text})
        self.number = {letter: i + 1 for i, letter in enumerate(self.letters)}

    def __len__(self):
        return len(self.letters) + 1

    def encode(self, text):
        """The text as numbers. Letters that do not occur in the training part cannot be learned, and are left out."""
        return torch.tensor([self.number[letter] for letter in text if letter in self.number])

    def decode(self, numbers):
        """The text of the most likely outputs: repetitions are one letter, blanks none."""
        merged = [b for a, b in zip([0, *numbers], numbers) if a != b]
        return "".join(self.letters[number - 1] for number in merged if number)


def distance(one, other):
    """The edit distance: how many insertions, deletions and replacements turn one list into the other."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one):
        before, row = row, [i + 1]
        for j, b in enumerate(other):
            row.append(min(before[j] + (a != b), before[j + 1] + 1, row[j] + 1))
    return row[-1]
