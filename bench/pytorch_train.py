#!/usr/bin/python3
"""Train in PyTorch with the settings of a run of `syncopate train`, to compare the two.

    pytorch_train.py RUN [--seed N] [--out DIR]

RUN is the directory of a run: its settings.json has the model, data, schedule and all other settings. Image models only.
Prints one JSON object with the fields of summary.json; with --out, writes metrics.jsonl and summary.json there.
"""
import argparse
import gzip
import json
import math
import os
import time

import numpy
import torch
from torch.nn import functional as F

from pytorch_step import MODELS

MEANS = {"mnist": ([0.1307], [0.3081]), "fashion-mnist": ([0.2860], [0.3530]),
         "cifar10": ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616])}


def find(directory, data, name):
    directory = directory or os.environ.get("SYNCOPATE_DATA", "data")
    for folder in (os.path.join(directory, data), directory):
        for ending in ("", ".gz"):
            path = os.path.join(folder, name + ending)
            if os.path.exists(path):
                with (gzip.open if ending else open)(path, "rb") as file:
                    return numpy.frombuffer(file.read(), dtype=numpy.uint8)
    raise SystemExit(f"pytorch_train.py: no {name} in {directory}")


def load(directory, data, part):
    """All images of a part, [n][channels][height][width] bytes, and their labels."""
    if data == "cifar10":
        names = [f"data_batch_{i}.bin" for i in range(1, 6)] if part == "train" else ["test_batch.bin"]
        rows = numpy.concatenate([find(directory, data, name) for name in names]).reshape(-1, 3073)
        return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]
    prefix = "train" if part == "train" else "t10k"
    images = find(directory, data, f"{prefix}-images-idx3-ubyte")[16:].reshape(-1, 1, 28, 28)
    return images, find(directory, data, f"{prefix}-labels-idx1-ubyte")[8:]


def prepared(data, images):
    mean, deviation = (torch.tensor(values).view(1, -1, 1, 1) for values in MEANS[data])
    return (torch.from_numpy(images.copy()).float() / 255 - mean) / deviation


def augmented(images, random):
    """Cropped at random after padding by 4, and half of them flipped."""
    padded = F.pad(images, (4, 4, 4, 4))
    places = random.integers(0, 9, (len(images), 2))
    crops = [image[:, y:y + 32, x:x + 32] for image, (y, x) in zip(padded, places)]
    flips = random.integers(0, 2, len(images))
    return torch.stack([crop.flip(2) if flip else crop for crop, flip in zip(crops, flips)])


def lr_at(settings, step, steps, epoch):
    """The learning rate of a step, epoch epochs into the run, as in `syncopate train`."""
    def cosine(begin, end, x):
        return end + (begin - end) * 0.5 * (1 + math.cos(math.pi * x))

    kind, share = settings["lr_schedule"], 1.0
    if kind == "step":
        marks = [float(mark) for mark in settings["lr_milestones"].split(",") if mark]
        passed = sum(epoch >= mark for mark in marks) if marks else (step >= steps / 2) + (step >= steps * 3 / 4)
        share = settings["lr_factor"] ** passed
    elif kind == "cosine":
        share = cosine(1, settings["lr_final"], step / steps)
    elif kind == "one-cycle":
        peak = settings["lr_peak"] * steps - 1
        if step < peak:
            share = cosine(settings["lr_first"], 1, step / peak)
        else:
            share = cosine(1, settings["lr_final"], (step - peak) / (steps - 1 - peak))
    return settings["lr"] * share


@torch.no_grad()
def evaluate(model, images, labels):
    model.eval()
    parts = [model(images[i:i + 500]) for i in range(0, len(images), 500)]
    model.train()
    scores = torch.cat(parts)
    return F.cross_entropy(scores, labels).item(), (scores.argmax(1) == labels).float().mean().item()


def train(settings, record):
    if settings["warmup_steps"] or settings["warmup_epochs"]:
        raise SystemExit("pytorch_train.py: warm-up is not supported here")
    torch.manual_seed(settings["seed"])
    torch.set_num_threads(settings["threads"])
    random = numpy.random.default_rng(settings["seed"])
    data, batch = settings["data"], settings["batch"]
    images, labels = load(settings["data_dir"], data, "train")
    test_images, test_labels = load(settings["data_dir"], data, "test")
    test_images, test_labels = prepared(data, test_images), torch.from_numpy(test_labels.astype(numpy.int64))
    labels = torch.from_numpy(labels.astype(numpy.int64))
    model = MODELS[settings["model"]]()
    optimizer = torch.optim.SGD(model.parameters(), settings["lr"], settings["momentum"],
                                weight_decay=settings["weight_decay"], nesterov=settings["nesterov"])
    per_epoch = -(-len(images) // batch)
    steps = settings["steps"] or settings["epochs"] * per_epoch
    began, busy, lately = time.perf_counter(), 0.0, []
    for step in range(steps):
        start = time.perf_counter()
        if step % per_epoch == 0:
            order = random.permutation(len(images))
        chosen = order[step % per_epoch * batch:][:batch]
        x, y = prepared(data, images[chosen]), labels[chosen]
        if data == "cifar10" and settings["augment"]:
            x = augmented(x, random)
        for group in optimizer.param_groups:
            group["lr"] = lr_at(settings, step, steps, step / per_epoch)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        if settings["clip"]:
            torch.nn.utils.clip_grad_norm_(model.parameters(), settings["clip"])
        optimizer.step()
        busy += time.perf_counter() - start
        lately.append(loss.item())
        now = {"step": step + 1, "epoch": (step + 1) / per_epoch, "seconds": time.perf_counter() - began}
        if (step + 1) % settings["log_every"] == 0 or step + 1 == steps:
            record({**now, "loss": sum(lately) / len(lately), "lr": optimizer.param_groups[0]["lr"]})
            last, lately = sum(lately) / len(lately), []
        if (step + 1) % (settings["eval_every"] or per_epoch) == 0 or step + 1 == steps:
            test_loss, test_accuracy = evaluate(model, test_images, test_labels)
            record({**now, "test_loss": test_loss, "test_accuracy": test_accuracy})
    return {"model": settings["model"], "data": data, "params": sum(p.numel() for p in model.parameters()),
            "workers": 1, "threads": settings["threads"], "batch": batch, "steps": steps,
            "epochs": steps / per_epoch, "seconds": time.perf_counter() - began,
            "ms_per_step": 1e3 * busy / steps, "images_per_s": batch * steps / busy, "train_loss": last,
            "test_loss": test_loss, "test_accuracy": test_accuracy, "engine": "pytorch"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="directory of a run of syncopate train")
    parser.add_argument("--seed", type=int, help="instead of the run's seed")
    parser.add_argument("--out", help="directory for metrics.jsonl and summary.json")
    flags = parser.parse_args()
    with open(os.path.join(flags.run, "settings.json"), encoding="utf-8") as file:
        settings = json.load(file)
    if flags.seed is not None:
        settings["seed"] = flags.seed
    lines = []
    summary = train(settings, lines.append)
    if flags.out:
        os.makedirs(flags.out, exist_ok=True)
        with open(os.path.join(flags.out, "metrics.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        with open(os.path.join(flags.out, "summary.json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(summary) + "\n")
    print(json.dumps(summary), flush=True)


if __name__ == "__main__":
    main()
