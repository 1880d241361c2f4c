#!/usr/bin/python3
"""Write a small corpus in AN4's form in which every letter is a tone, to try torch_an4.py without recordings.

    examples/make_an4.py DIR --train 64 --test 16
"""
import argparse
import math
import os
import random
import struct
import wave

RATE = 16000
WORDS = ("ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE", "ZERO", "YES", "NO")
LOUD = 6000


def tone(letter, seconds):
    """A letter: its own tone and the octave above, which swell and fade."""
    hertz = 300 * 2 ** ((ord(letter) - ord("A")) / 8)
    count = int(seconds * RATE)
    return [LOUD * math.sin(math.pi * i / count) *
            (math.sin(2 * math.pi * hertz * i / RATE) + 0.5 * math.sin(4 * math.pi * hertz * i / RATE))
            for i in range(count)]


def speak(words, source):
    """The samples of an utterance, at varying speed, with some noise."""
    samples = [0.0] * int(0.08 * RATE)
    for word in words:
        for letter in word:
            samples += tone(letter, source.uniform(0.07, 0.1)) + [0.0] * int(0.02 * RATE)
        samples += [0.0] * int(0.12 * RATE)
    return [max(-32768, min(32767, round(each + source.gauss(0, 40)))) for each in samples]


def write_sound(path, samples, is_wav):
    if is_wav:
        with wave.open(path + ".wav", "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", "not compressed"))
            file.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    else:
        with open(path + ".raw", "wb") as file:
            file.write(struct.pack(f">{len(samples)}h", *samples))


def write_part(flags, part, count, source):
    speakers = ("fone", "mtwo")
    names, said = [], []
    for i in range(count):
        speaker = speakers[i % len(speakers)]
        name = f"an{i}-{speaker}-b"
        words = source.choices(WORDS[:flags.words], k=source.randint(1, flags.longest))
        folder = os.path.join("an4_clstk" if part == "train" else "an4test_clstk", speaker)
        os.makedirs(os.path.join(flags.directory, "wav", folder), exist_ok=True)
        write_sound(os.path.join(flags.directory, "wav", folder, name), speak(words, source), flags.wav)
        names.append(f"{folder}/{name}\n")
        said.append(f"<s> {' '.join(words)} </s> ({name})\n")
    os.makedirs(os.path.join(flags.directory, "etc"), exist_ok=True)
    for ending, lines in (("fileids", names), ("transcription", said)):
        with open(os.path.join(flags.directory, "etc", f"an4_{part}.{ending}"), "w", encoding="utf-8") as file:
            file.writelines(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--train", type=int, default=64, help="number of training utterances")
    parser.add_argument("--test", type=int, default=16, help="number of test utterances")
    parser.add_argument("--words", type=int, default=len(WORDS), help="number of different words")
    parser.add_argument("--longest", type=int, default=3, help="maximum number of words in an utterance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wav", action="store_true", help="write WAV files instead of raw ones")
    flags = parser.parse_args()
    source = random.Random(flags.seed)
    for part, count in (("train", flags.train), ("test", flags.test)):
        write_part(flags, part, count, source)


if __name__ == "__main__":
    main()
