#!/usr/bin/python3
"""A CNN on MNIST, on as many workers as the launcher starts; see torch_run.py."""
import torch
from torch import nn
from torch.nn import functional as F

import torch_run
import syncopate.torch

CLASSES = 10


def make_model():
    """LeNet with 20 and 50 channels: 431,080 parameters."""
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, CLASSES))


def load(directory, part):
    """Images [n][1][28][28], with mean 0 and standard deviation 1, and labels."""
    def read(kind, head):
        path = torch_run.find(directory, "mnist", f"{part}-{kind}-ubyte")
        with open(path, "rb") as file:
            return torch.frombuffer(bytearray(file.read()[head:]), dtype=torch.uint8)
    images = read("images-idx3", 16).view(-1, 1, 28, 28).float()
    return (images / 255 - 0.1307) / 0.3081, read("labels-idx1", 8).long()


def batches(images, labels, batch, seed, rank, workers):
    """This worker's share of every epoch, in an order common to all workers."""
    epoch = 0
    while True:
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed + epoch))
        mine = order[rank::workers]
        for first in range(0, len(mine) - batch + 1, batch):
            chosen = mine[first:first + batch]
            yield images[chosen], labels[chosen]
        epoch += 1


@torch.no_grad()
def evaluate(model, images, labels):
    """Loss and accuracy on the test part."""
    scores = torch.cat([model(part) for part in images.split(500)])
    return F.cross_entropy(scores, labels).item(), (scores.argmax(1) == labels).float().mean().item()


def main():
    flags = torch_run.read_flags(__doc__, epochs=2, batch=16, lr=0.02)
    rank, workers = syncopate.torch.init()
    torch.set_num_threads(flags.threads)
    torch.manual_seed(flags.seed)  # the same weights on every worker
    model = make_model()
    test = load(flags.data_dir, "t10k")
    images, labels = load(flags.data_dir, "train")
    torch_run.train(model, batches(images, labels, flags.batch, flags.seed, rank, workers),
                    len(images) // workers // flags.batch, lambda model: evaluate(model, *test), flags,
                    name="lenet", data="mnist", loss_of=F.cross_entropy)


if __name__ == "__main__":
    main()
