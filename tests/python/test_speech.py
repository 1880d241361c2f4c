"""Speech: torch_an4.py understands a corpus of tones in AN4's form, and says what is odd about a corpus."""
import importlib
import json
import os
import shutil
import struct
import subprocess
import sys
import wave

import pytest
import torch

from fork_server import Worker
from workers import finish, free_port, launch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples")
LISTENER = os.path.join(EXAMPLES, "torch_an4.py")
SMALL = ("--width", "32", "--layers", "2", "--stack", "4", "--batch", "4", "--json")
FEW = ("--train", "4", "--test", "2", "--words", "2", "--longest", "1")
LEARNS = (*SMALL, "--lr", "0.03", "--density", "0.02")


def make(folder, *flags):
    subprocess.run([sys.executable, os.path.join(EXAMPLES, "make_an4.py"), str(folder), *flags], check=True)
    return folder


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    return make(tmp_path_factory.mktemp("spoken"), "--train", "48", "--test", "12", "--words", "3", "--longest", "2")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return make(tmp_path_factory.mktemp("whole"), *FEW)


@pytest.fixture
def few(whole, tmp_path):
    """A corpus that a test may spoil: 4 and 2 utterances of one word."""
    return shutil.copytree(whole, tmp_path / "few")


@pytest.fixture
def an4(monkeypatch):
    """torch_an4_data.py"""
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module("torch_an4_data")


def listen(launcher, folder, *flags):
    """How it ended; of workers that are forked, what they printed in either stream is in both."""
    words = [LISTENER, "--data-dir", str(folder), *flags]
    if launcher == "forked":
        codes, outputs = finish(launch(words, 2))
        return subprocess.CompletedProcess(words, codes[0] or codes[1], "".join(outputs), "".join(outputs))
    start = {"torchrun": [sys.executable, "-m", "syncopate.torch.run", "--nproc_per_node", "2", "--master_port",
                          str(free_port()), "--monitor_interval", "0.2"],
             "mpirun": ["mpirun", "-n", "2", sys.executable], "alone": [sys.executable]}[launcher]
    if launcher == "mpirun" and not shutil.which("mpirun"):
        pytest.skip("no mpirun")
    return subprocess.run([*start, *words], capture_output=True, text=True, timeout=240, check=False)


def summary_of(done):
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line[line.index("{"):] for line in done.stdout.splitlines() if '{"algo"' in line]
    assert len(lines) == 1, done.stdout
    return json.loads(lines[0])


def one_step(folder, *flags, launcher="forked"):
    return listen(launcher, folder, "--algo", "ssgd", "--steps", "1", *SMALL, "--batch", "1", *flags)


def a_sound(folder, part="train"):
    """The path of a recording, without its ending."""
    name = (folder / "etc" / f"an4_{part}.fileids").read_text(encoding="utf-8").split()[0]
    return os.path.join(str(folder), "wav", name)


@pytest.mark.parametrize("launcher, algo", [("torchrun", "ssgd"), ("forked", "gtopk"), ("mpirun", "ssgd"),
                                            ("mpirun", "gtopk")])
def test_words_are_understood_after_some_steps(launcher, algo, spoken):
    summary = summary_of(listen(launcher, spoken, "--algo", algo, "--steps", "60", *LEARNS))
    assert summary["workers"] == 2 and summary["word_error_rate"] < 0.4, summary
    assert summary["letter_error_rate"] < 0.2 and summary["left_out"] == 0


def test_without_training_nothing_is_understood(spoken):
    summary = summary_of(one_step(spoken, "--lr", "0"))
    assert summary["word_error_rate"] >= 0.9


def test_five_layers_of_spectrograms_leave_the_files_of_a_run(few, tmp_path):
    summary = summary_of(listen("forked", few, "--algo", "ssd-sgd", "--steps", "3", "--width", "16", "--batch", "1",
                                "--features", "spectrogram", "--out", str(tmp_path / "run")))
    assert summary["steps"] == 3
    with open(tmp_path / "run" / "summary.json", encoding="utf-8") as file:
        assert json.load(file)["model"] == "an4-lstm"


def test_wav_and_raw_files_sound_the_same(an4, few, tmp_path):
    same = make(tmp_path / "wav", *FEW, "--wav")
    for one, other in zip(an4.read_part(str(few), "train", 4)[0], an4.read_part(str(same), "train", 4)[0]):
        assert one.text == other.text and torch.equal(one.sound, other.sound) and one.sound.std() > 0.05


def test_a_recording_sounds_the_same_beside_a_longer_one(an4, spoken):
    import torch_an4
    torch.manual_seed(1)
    utterances, _ = an4.read_part(str(spoken), "test", 4)
    features, letters = an4.Features("mel", 40, 4), an4.Letters(utterances)
    corpus = torch_an4.Corpus(utterances, features, letters)
    model = torch_an4.Listener(features.size, len(letters), 16, 2)
    (alone, _), (beside, _) = model(corpus.batch([0])[0]), model(corpus.batch([0, 11])[0])
    assert len(beside) > len(alone)
    torch.testing.assert_close(beside[:len(alone), 0], alone[:, 0], rtol=1e-5, atol=1e-5)


def test_workers_together_hear_every_recording_once_an_epoch(an4, spoken):
    import torch_an4
    corpus = torch_an4.Corpus(an4.read_part(str(spoken), "train", 4)[0], lambda sound: sound, None)
    corpus.batch = list
    for epoch in range(2):
        heard = []
        for rank in range(3):
            batches = corpus.batches(4, rank, 3, 1)
            mine = [next(batches) for _ in range(8)]
            heard += [i for batch in mine[4 * epoch:4 * epoch + 4] for i in batch]
        assert sorted(heard) == list(range(48))


def test_errors_are_counted_and_repetitions_merged(an4):
    assert an4.distance("KITTEN", "SITTING") == 3 and an4.distance([], ["A", "B"]) == 2
    letters = an4.Letters([an4.Utterance("x", "AB", None)])
    assert letters.decode([0, 1, 1, 0, 1, 2, 2, 0]) == "AAB" and letters.encode("BAC").tolist() == [2, 1]


def cut(path):
    os.truncate(path + ".raw", os.path.getsize(path + ".raw") - 1)


def empty(path):
    os.truncate(path + ".raw", 0)


def brief(path):
    os.truncate(path + ".raw", 2000)


def remove(path):
    os.remove(path + ".raw")


def odd_rate(path):
    remove(path)
    with wave.open(path + ".wav", "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(20000))


def cut_wav(path):
    odd_rate(path)
    with open(path + ".wav", "r+b") as file:
        file.seek(24)
        file.write(struct.pack("<I", 16000))
        file.truncate(15000)


def text_as_wav(path):
    remove(path)
    with open(path + ".wav", "w", encoding="utf-8") as file:
        file.write("no sound")


@pytest.mark.parametrize("spoil, words", [
    (cut, "cut short"), (empty, "empty"), (brief, "too short for"), (remove, "neither .raw nor .wav"),
    (odd_rate, "at 8000 Hz; expected 1 of 16 at 16000"), (cut_wav, "cut short: "),
    (text_as_wav, "not a WAV file")])
def test_an_odd_recording_is_named_and_left_out(spoil, words, an4, few):
    path = a_sound(few)
    spoil(path)
    heard, odd = an4.read_part(str(few), "train", 4)
    assert len(heard) == 3 and len(odd) == 1 and words in odd[0] and os.path.basename(path) in odd[0], odd


def test_words_that_are_missing_leave_a_recording_out(few):
    path = few / "etc" / "an4_train.transcription"
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(True)[1:]), encoding="utf-8")
    done = one_step(few, launcher="alone")
    lines = [line for line in done.stderr.splitlines() if "left out" in line]
    assert summary_of(done)["left_out"] == 1 and len(lines) == 1 and "no words for (an0-fone-b)" in lines[0]


def drop_words(folder):
    os.remove(folder / "etc" / "an4_train.transcription")


def spoil_words(folder):
    (folder / "etc" / "an4_train.transcription").write_text("YES an0\n", encoding="utf-8")


def drop_sounds(folder):
    shutil.rmtree(folder / "wav" / "an4_clstk")


def list_nothing(folder):
    (folder / "etc" / "an4_train.fileids").write_text("\n", encoding="utf-8")


@pytest.mark.parametrize("spoil, words", [
    (drop_words, "an4_train.transcription: not found"), (spoil_words, "an4_train.transcription:1: 'YES an0'"),
    (drop_sounds, "nothing else is left"), (list_nothing, "an4_train.fileids: empty")])
def test_a_part_that_cannot_be_used_is_refused(spoil, words, an4, few):
    spoil(few)
    with pytest.raises(SystemExit, match=words):
        an4.read_part(str(few), "train", 4)


def test_one_worker_says_in_one_line_why_a_corpus_is_refused(few):
    drop_words(few)
    done = listen("mpirun", few, *SMALL)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("an4_train.transcription: not found") == 1 and "Traceback" not in done.stderr


def test_workers_with_different_recordings_are_refused(few, tmp_path):
    other = shutil.copytree(few, tmp_path / "other")
    sound = a_sound(other) + ".raw"
    os.truncate(sound, os.path.getsize(sound) - 2)
    place = dict(os.environ, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    started = [Worker([LISTENER, "--data-dir", str(folder), *SMALL], {**place, "RANK": str(rank)})
               for rank, folder in enumerate((few, other))]
    codes, outputs = finish(started)
    assert codes == [2, 2] and "worker 1 has different recordings or words than worker 0" in outputs[0], outputs


def test_a_size_of_nothing_is_refused(few):
    done = one_step(few, "--layers", "0")
    assert done.returncode == 2 and "'0'; expected a whole number, 1 or more" in done.stderr
