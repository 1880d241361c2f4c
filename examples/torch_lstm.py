#!/usr/bin/python3
"""A word-level LSTM on the Brown corpus, or any text in the form of the Penn Treebank; see torch_run.py."""
import math

import torch
from torch import nn
from torch.nn import functional as F

import torch_run
import syncopate.torch

HIDDEN = 200
TIME = 35  # words of a column in each step
CLIP = 0.25


class Lstm(nn.Module):
    """Two layers; the hidden state is carried over from step to step."""

    def __init__(self, words):
        super().__init__()
        self.embedding = nn.Embedding(words, HIDDEN)
        self.lstm = nn.LSTM(HIDDEN, HIDDEN, 2)
        self.output = nn.Linear(HIDDEN, words)
        self.carried = None

    def forward(self, tokens):
        """Scores [time][column][word] of tokens [time][column]."""
        if self.carried and self.carried[0].shape[1] != tokens.shape[1]:
            self.carried = None
        hidden, state = self.lstm(self.embedding(tokens), self.carried)
        self.carried = tuple(part.detach() for part in state)
        return self.output(hidden)


def load(directory):
    """The three parts as word numbers, and the number of different words."""
    texts = {}
    for part in ("train", "valid", "test"):
        with open(torch_run.find(directory, "brown", f"ptb.{part}.txt"), encoding="utf-8") as file:
            texts[part] = file.read().replace("\n", " <eos> ").split()
    number = {word: i for i, word in enumerate(sorted(set(texts["train"])))}
    unknown = number.get("<unk>", 0)
    return {part: torch.tensor([number.get(word, unknown) for word in text])
            for part, text in texts.items()}, len(number)


def columns(tokens, count):
    """[length][count]: the text split into columns that are read in parallel."""
    length = len(tokens) // count
    return tokens[:length * count].view(count, length).t().contiguous()


def batches(text, batch, rank, workers):
    """This worker's columns, from beginning to end, endlessly."""
    mine = columns(text, batch * workers)[:, rank * batch:(rank + 1) * batch]
    while True:
        for first in range(0, len(mine) - TIME - 1, TIME):
            yield mine[first:first + TIME], mine[first + 1:first + TIME + 1]


def loss_of(scores, labels):
    return F.cross_entropy(scores.flatten(0, 1), labels.flatten())


@torch.no_grad()
def evaluate(model, text):
    """The mean loss per word; its exponential is the perplexity."""
    kept, model.carried = model.carried, None
    table = columns(text, 10)
    losses = [loss_of(model(table[first:first + TIME]), table[first + 1:first + TIME + 1]).item()
              for first in range(0, len(table) - TIME - 1, TIME)]
    model.carried = kept
    return sum(losses) / len(losses), math.nan


def main():
    flags = torch_run.read_flags(__doc__, epochs=3, batch=5, lr=5, momentum=0.0, weight_decay=0.0)
    rank, workers = syncopate.torch.init()
    torch.set_num_threads(flags.threads)
    torch.manual_seed(flags.seed)
    texts, words = load(flags.data_dir)
    model = Lstm(words)
    per_epoch = len(texts["train"]) // (flags.batch * workers) // TIME
    torch_run.train(model, batches(texts["train"], flags.batch, rank, workers), per_epoch,
                    lambda model: evaluate(model, texts["test"]), flags, name="lstm-small",
                    data="brown", loss_of=loss_of, clip=CLIP, unit="words")


if __name__ == "__main__":
    main()
