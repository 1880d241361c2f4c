#!/usr/bin/python3
"""Speech: bidirectional LSTMs and CTC on AN4's recordings, evaluated by the word error rate; see torch_run.py.

    python3 -m syncopate.torch.run --nproc_per_node 4 examples/torch_an4.py --data-dir an4 --algo gtopk
    examples/make_an4.py spoken && mpirun -n 2 /usr/bin/python3 examples/torch_an4.py --data-dir spoken

AN4 is read as its authors distribute it (torch_an4_data.py); make_an4.py writes a corpus of tones in the same form.
"""
import hashlib
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

import syncopate.torch
import torch_an4_data as an4
import torch_run

CLIP = 10.0  # of the gradient's norm


class Listener(nn.Module):
    """Features [time][batch][size] to the logarithm of each letter's probability. It uses layer norm, not batch norm, so
    that the result for a recording does not depend on others in its batch, nor on the number of workers."""

    def __init__(self, size, letters, width, layers):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width if i else size) for i in range(layers))
        self.lstms = nn.ModuleList(nn.LSTM(width if i else size, width, bidirectional=True) for i in range(layers))
        self.output = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, letters))

    def forward(self, heard):
        x, lengths = heard
        for norm, lstm in zip(self.norms, self.lstms):
            packed = pack_padded_sequence(norm(x), lengths, enforce_sorted=False)
            both, _ = pad_packed_sequence(lstm(packed)[0])
            x = both[..., :both.shape[-1] // 2] + both[..., both.shape[-1] // 2:]
        return self.output(x).log_softmax(-1), lengths


class Corpus:
    """A part of the data as batches of recordings of about the same length."""

    def __init__(self, utterances, features, letters):
        self.utterances = sorted(utterances, key=lambda each: (len(each.sound), each.name))
        self.heard = [features(each.sound) for each in self.utterances]
        self.letters = letters

    def batch(self, which):
        """((features, lengths), (letters, lengths)) of these utterances."""
        heard = [self.heard[i] for i in which]
        texts = [self.letters.encode(self.utterances[i].text) for i in which]
        return ((pad_sequence(heard), torch.tensor([len(each) for each in heard])),
                (torch.cat(texts), torch.tensor([len(each) for each in texts])))

    def batches(self, batch, rank, workers, seed):
        """This worker's part of every batch, endlessly: in the first epoch short ones first, later in random order."""
        count = len(self.utterances)
        group = batch * workers
        starts = torch.arange(0, count, group)
        generator = torch.Generator().manual_seed(seed)
        while True:
            for start in starts.tolist():
                first = start + rank * batch
                yield self.batch([i % count for i in range(first, first + batch)])
            starts = starts[torch.randperm(len(starts), generator=generator)]


def loss_of(scores, labels):
    """The mean over recordings."""
    (logarithms, lengths), (texts, text_lengths) = scores, labels
    return F.ctc_loss(logarithms, texts, lengths, text_lengths, reduction="sum") / len(lengths)


@torch.no_grad()
def evaluate(model, corpus, batch):
    """(mean loss, nan, error rates by word and letter) of the whole part, with greedy decoding."""
    model.eval()
    loss, words, word_errors, letters, letter_errors = 0.0, 0, 0, 0, 0
    for first in range(0, len(corpus.utterances), batch):
        which = range(first, min(first + batch, len(corpus.utterances)))
        heard, labels = corpus.batch(which)
        scores = model(heard)
        loss += loss_of(scores, labels).item() * len(which)
        for i, outputs, length in zip(which, scores[0].argmax(-1).t().tolist(), scores[1].tolist()):
            said, understood = corpus.utterances[i].text, corpus.letters.decode(outputs[:length])
            words, letters = words + len(said.split()), letters + len(said)
            word_errors += an4.distance(understood.split(), said.split())
            letter_errors += an4.distance(understood, said)
    model.train()
    return loss / len(corpus.utterances), float("nan"), {"word_error_rate": word_errors / words,
                                                         "letter_error_rate": letter_errors / letters}


def read(flags):
    """((training, test), messages about recordings that are left out, a digest that must be the same on all workers)."""
    train, odd = an4.read_part(flags.data_dir, "train", flags.stack)
    test, odd_test = an4.read_part(flags.data_dir, "test", flags.stack)
    digest = hashlib.sha256()
    for each in train + test:
        digest.update(f"{each.name}\n{each.text}\n".encode() + each.sound.numpy().tobytes())
    return (train, test), odd + odd_test, digest.hexdigest()


def read_together(flags, rank, workers):
    """The corpus, which must be the same on all workers. If something is wrong with it, one of them reports it."""
    try:
        parts, odd, digest = read(flags)
        answer = ("", digest)
    except SystemExit as reason:
        answer = (str(reason), "")
    answers = [None] * workers
    torch.distributed.all_gather_object(answers, answer)
    wrong = [(other, text) for other, (text, _) in enumerate(answers) if text]
    differs = [other for other in range(workers) if answers[other][1] != answers[0][1]]
    if wrong:
        refuse(wrong[0][1], rank == wrong[0][0])
    if differs:
        refuse(f"{flags.data_dir}: worker {differs[0]} has different recordings or words than worker 0", rank == 0)
    if rank == 0:
        an4.warn(odd)
    return parts, len(odd)


def refuse(text, aloud):
    if aloud:
        print(text, file=sys.stderr, flush=True)
    torch.distributed.barrier()  # so that no worker ends before the reason is printed
    sys.stdout.flush()
    os._exit(2)  # PyTorch 2.6 may abort in its own threads at exit, or wait for them for ever in destroy_process_group()


def add_flags(parser):
    parser.add_argument("--features", choices=("mel", "spectrogram"), default="mel")
    for name, value, meaning in (("bands", 40, "mel bands"), ("stack", 2, "windows of 10 ms per step of the network"),
                                 ("width", 800, "width of each direction"), ("layers", 5, "LSTM layers")):
        parser.add_argument(f"--{name}", type=torch_run.positive, default=value, help=meaning)


def main():
    flags = torch_run.read_flags(__doc__, add_flags, epochs=30, batch=4, lr=0.01, momentum=0.9, weight_decay=0.0)
    rank, workers = syncopate.torch.init()
    torch.set_num_threads(flags.threads)
    torch.manual_seed(flags.seed)
    (train, test), left_out = read_together(flags, rank, workers)
    letters, features = an4.Letters(train), an4.Features(flags.features, flags.bands, flags.stack)
    train, test = Corpus(train, features, letters), Corpus(test, features, letters)
    batches = train.batches(flags.batch, rank, workers, flags.seed)
    torch_run.train(Listener(features.size, len(letters), flags.width, flags.layers), batches,
                    -(-len(train.utterances) // (flags.batch * workers)),
                    lambda model: evaluate(model, test, flags.batch), flags, name="an4-lstm", data="an4",
                    loss_of=loss_of, clip=CLIP, unit="utterances",
                    count_of=lambda scores, labels: (len(labels[1]), float("nan")), left_out=left_out)


if __name__ == "__main__":
    main()
