#!/usr/bin/python3
"""ResNet-20 on CIFAR-10, on as many workers as the launcher starts; see torch_run.py."""
import torch
from torch import nn
from torch.nn import functional as F

import torch_run
import syncopate.torch
from torch_mnist import batches

MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1, 1)
DEVIATION = torch.tensor([0.2470, 0.2435, 0.2616]).view(3, 1, 1)


class Block(nn.Module):
    """Two convolutions and a shortcut, which halves the image by leaving pixels out."""

    def __init__(self, inputs, width):
        super().__init__()
        self.stride, self.more = (1, 0) if inputs == width else (2, width - inputs)
        self.conv1 = nn.Conv2d(inputs, width, 3, self.stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        around = F.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, 0, self.more))
        return F.relu(y + around)


def make_model():
    """Three stages of three blocks: 269,722 parameters."""
    widths = [16] * 4 + [32] * 3 + [64] * 3
    blocks = [Block(inputs, width) for inputs, width in zip(widths, widths[1:])]
    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def load(directory, names):
    """Images [n][3][32][32] as bytes, and labels."""
    rows = []
    for name in names:
        with open(torch_run.find(directory, "cifar10", f"{name}.bin"), "rb") as file:
            rows.append(torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).view(-1, 3073))
    rows = torch.cat(rows)
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].long()


def prepared(images):
    return (images.float() / 255 - MEAN) / DEVIATION


def augmented(pairs):
    """Each image cropped at random after padding by 4, and half of them flipped."""
    for images, labels in pairs:
        padded = F.pad(prepared(images), (4, 4, 4, 4))
        places = torch.randint(0, 9, (len(images), 2)).tolist()
        crops = torch.stack([image[:, y:y + 32, x:x + 32] for image, (y, x) in zip(padded, places)])
        flips = torch.rand(len(images)) < 0.5
        crops[flips] = crops[flips].flip(3)
        yield crops, labels


@torch.no_grad()
def evaluate(model, images, labels):
    model.eval()
    scores = torch.cat([model(prepared(part)) for part in images.split(500)])
    model.train()
    return F.cross_entropy(scores, labels).item(), (scores.argmax(1) == labels).float().mean().item()


def main():
    flags = torch_run.read_flags(__doc__, epochs=20, batch=32, lr=0.1)
    rank, workers = syncopate.torch.init()
    torch.set_num_threads(flags.threads)
    torch.manual_seed(flags.seed)
    model = make_model()
    torch.manual_seed(1000 * flags.seed + rank)  # different crops on every worker
    test = load(flags.data_dir, ["test_batch"])
    images, labels = load(flags.data_dir, [f"data_batch_{i}" for i in range(1, 6)])
    shares = batches(images, labels, flags.batch, flags.seed, rank, workers)
    torch_run.train(model, augmented(shares), len(images) // workers // flags.batch,
                    lambda model: evaluate(model, *test), flags, name="resnet20", data="cifar10",
                    loss_of=F.cross_entropy)


if __name__ == "__main__":
    main()
