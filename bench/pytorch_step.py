#!/usr/bin/python3
"""Times one training step (forward, loss, backward, with gradients zeroed) of the ready models in PyTorch.

The counterpart of `syncopate bench step`: same models, same flags, one JSON line of the same fields for each
memory layout. Also the reference that the parity test holds the engine against (models()).
"""
import argparse
import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Module):
    image, classes = (1, 28, 28), 10

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 512)
        self.fc2 = nn.Linear(512, 512)
        self.fc3 = nn.Linear(512, 10)

    def forward(self, x):
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc3(F.relu(self.fc2(x)))


class LeNet(nn.Module):
    image, classes = (1, 28, 28), 10

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.fc1 = nn.Linear(800, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x), 2)
        x = F.max_pool2d(self.conv2(x), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions; where the shape changes, a 1x1 convolution on the shortcut."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.down = None
        if stride != 1 or inputs != outputs:
            self.down = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                      nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + (self.down(x) if self.down else x))


class CifarResNet(nn.Module):
    image, classes = (3, 32, 32), 10

    def __init__(self, depth):
        super().__init__()
        blocks = (depth - 2) // 6
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        inputs = 16
        for stage, outputs in enumerate((16, 32, 64), 1):
            layers = []
            for i in range(blocks):
                layers.append(BasicBlock(inputs, outputs, 2 if stage > 1 and i == 0 else 1))
                inputs = outputs
            setattr(self, f"layer{stage}", nn.Sequential(*layers))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Vgg16(nn.Module):
    image, classes = (3, 32, 32), 10

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential()
        inputs = 3
        for stage, (outputs, count) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)), 1):
            for i in range(1, count + 1):
                self.features.add_module(f"conv{stage}_{i}", nn.Conv2d(inputs, outputs, 3, 1, 1, bias=False))
                self.features.add_module(f"bn{stage}_{i}", nn.BatchNorm2d(outputs))
                self.features.add_module(f"relu{stage}_{i}", nn.ReLU(inplace=True))
                inputs = outputs
            self.features.add_module(f"pool{stage}", nn.MaxPool2d(2))
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


class AlexNet(nn.Module):
    image, classes = (3, 224, 224), 1000

    def __init__(self, dropout=nn.Dropout):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 11, 4, 2)
        self.conv2 = nn.Conv2d(64, 192, 5, 1, 2)
        self.conv3 = nn.Conv2d(192, 384, 3, 1, 1)
        self.conv4 = nn.Conv2d(384, 256, 3, 1, 1)
        self.conv5 = nn.Conv2d(256, 256, 3, 1, 1)
        self.fc1 = nn.Linear(9216, 4096)
        self.fc2 = nn.Linear(4096, 4096)
        self.fc3 = nn.Linear(4096, 1000)
        self.drop1 = dropout(0.5)
        self.drop2 = dropout(0.5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 3, 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 3, 2)
        x = F.relu(self.conv4(F.relu(self.conv3(x))))
        x = F.max_pool2d(F.relu(self.conv5(x)), 3, 2)
        x = F.relu(self.fc1(self.drop1(x.flatten(1))))
        return self.fc3(F.relu(self.fc2(self.drop2(x))))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.down = None
        if stride != 1 or inputs != 4 * width:
            self.down = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False),
                                      nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return F.relu(y + (self.down(x) if self.down else x))


class ResNet50(nn.Module):
    image, classes = (3, 224, 224), 1000

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for stage, (width, count) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), 1):
            layers = []
            for i in range(count):
                layers.append(Bottleneck(inputs, width, 2 if stage > 1 and i == 0 else 1))
                inputs = 4 * width
            setattr(self, f"layer{stage}", nn.Sequential(*layers))
        self.fc = nn.Linear(2048, 1000)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Lstm(nn.Module):
    """Embedding, two LSTM layers, inner product; the hidden state is carried from batch to batch."""
    classes = 10000

    def __init__(self, hidden, rate, dropout=nn.Dropout):
        super().__init__()
        self.embedding = nn.Embedding(self.classes, hidden)
        self.lstm0 = nn.LSTM(hidden, hidden, batch_first=True)
        self.lstm1 = nn.LSTM(hidden, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, self.classes)
        self.drop0, self.drop1, self.drop2 = (dropout(rate) if rate else nn.Identity() for _ in range(3))
        self.carry = [None, None]

    def forward(self, tokens):
        x = self.drop0(self.embedding(tokens))
        x, state0 = self.lstm0(x, self.carry[0])
        x, state1 = self.lstm1(self.drop1(x), self.carry[1])
        self.carry = [tuple(t.detach() for t in state) for state in (state0, state1)]
        return self.fc(self.drop2(x)).flatten(0, 1)


MODELS = {
    "mlp": Mlp, "lenet": LeNet, "vgg16": Vgg16, "alexnet": AlexNet, "resnet50": ResNet50,
    "resnet20": lambda: CifarResNet(20), "resnet56": lambda: CifarResNet(56),
    "resnet110": lambda: CifarResNet(110),
    "lstm-small": lambda: Lstm(200, 0.0), "lstm": lambda: Lstm(1500, 0.65),
}


def random_examples(model, batch, steps):
    if isinstance(model, Lstm):
        return tuple(torch.randint(model.classes, (batch, steps)) for _ in range(2))
    return torch.randn(batch, *model.image), torch.randint(model.classes, (batch,))


def resident_mb():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def time_step(name, batch, steps, threads, layout, seconds):
    torch.manual_seed(1)
    before = resident_mb()
    model = MODELS[name]()
    x, labels = random_examples(model, batch, steps)
    if layout == "channels_last":
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    times = []
    began = time.perf_counter()
    while len(times) < 4 or time.perf_counter() - began < seconds:
        start = time.perf_counter()
        model.zero_grad(set_to_none=True)
        F.cross_entropy(model(x), labels.flatten()).backward()
        times.append(1e3 * (time.perf_counter() - start))
    ms = statistics.median(times[1:])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    return {"model": name, "params": sum(p.numel() for p in model.parameters()), "batch": batch,
            "threads": threads, "ms": round(ms, 3), "images_per_s": round(1e3 * batch / ms, 1),
            "peak_mb": round(peak, 1), "engine": "pytorch", "layout": layout}


def blas_environment(threads):
    """What OpenBLAS, which PyTorch does not tell its number of threads, reads when it is loaded. A processor
    younger than itself it takes for a Prescott of 2004, and multiplies five times slower; as a SkylakeX it is served well."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads)}
    try:
        name = ctypes.CDLL("libblas.so.3").openblas_get_corename
    except (OSError, AttributeError):
        return environment  # another BLAS
    name.restype = ctypes.c_char_p
    with open("/proc/cpuinfo", encoding="ascii") as file:
        if name() == b"Prescott" and " avx512f " in file.read():
            environment.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
    return environment


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=MODELS, default="lenet")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--time", type=int, default=35, help="tokens of an example, for language models")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5, help="measure for at least so long")
    parser.add_argument("--layout", choices=("contiguous", "channels_last"), action="append")
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    layouts = flags.layout or ["contiguous", "channels_last"]
    if flags.model.startswith("lstm") or flags.model == "mlp":
        layouts = ["contiguous"]
    # A process each: the peak of memory is a process's.
    if os.environ.get("OPENBLAS_NUM_THREADS") != str(flags.threads) or len(layouts) > 1:
        environment = blas_environment(flags.threads)
        for layout in layouts:
            subprocess.run([sys.executable, *sys.argv, "--layout", layout], env=environment, check=True)
        return
    row = time_step(flags.model, flags.batch, flags.time, flags.threads, layouts[0], flags.seconds)
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
