#!/usr/bin/python3
"""Train in PyTorch with DistributedDataParallel over gloo: one process of many, started by bench/compare.

    RANK=.. WORLD_SIZE=.. MASTER_ADDR=.. MASTER_PORT=.. pytorch_ddp.py --hook none|fp16|alone [options]

All images are prepared in memory before the first step, so that loading costs nothing. With the hook
"alone", processes compute at the same time but do not exchange: the ceiling. Unless a memory layout is given, the
faster one is chosen in a short trial without exchange. Process 0 prints one JSON object.
"""
import argparse
import json
import os
import time

import numpy
import torch
import torch.distributed
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn import functional as F

from pytorch_step import MODELS
from pytorch_train import augmented, evaluate, load, prepared


LAYOUTS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}
TRIAL_STEPS = 6


def bytes_sent():
    """Bytes sent by this host, packet headers included, since its links were created."""
    with open("/proc/net/dev", encoding="ascii") as file:
        rows = [line.split(":") for line in file if ":" in line]
    return sum(int(row[1].split()[8]) for row in rows if row[0].strip() != "lo")


def examples(data, part):
    images, labels = load(None, data, part)
    return prepared(data, images), torch.from_numpy(labels.astype(numpy.int64))


def share(count, rank, workers, seed):
    """This process's examples of an epoch, in order: every workers-th of a common shuffle."""
    return torch.from_numpy(numpy.random.default_rng(seed).permutation(count)[rank::workers])


def trial(flags, layout, images, labels):
    """Seconds of a step without exchange, the shortest of a few."""
    model = MODELS[flags.model]().to(memory_format=LAYOUTS[layout])
    few = images[:flags.batch].contiguous(memory_format=LAYOUTS[layout])
    times = []
    for _ in range(TRIAL_STEPS):
        began = time.perf_counter()
        F.cross_entropy(model(few), labels[:flags.batch]).backward()
        times.append(time.perf_counter() - began)
    return min(times)


def choose_layout(flags, images, labels):
    """The same on all processes: the layout with the smaller sum of their times."""
    if flags.layout != "auto":
        return flags.layout
    times = torch.tensor([trial(flags, layout, images, labels) for layout in LAYOUTS])
    torch.distributed.all_reduce(times)
    return list(LAYOUTS)[int(times.argmin())]


def wrapped(flags, layout):
    torch.manual_seed(flags.seed)
    model = MODELS[flags.model]().to(memory_format=LAYOUTS[layout])
    if flags.hook == "alone":
        return model
    model = torch.nn.parallel.DistributedDataParallel(model)
    if flags.hook == "fp16":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    return model


class Run:
    """Steps, their times, and evaluations, which the times do not include."""

    def __init__(self, flags, rank, workers):
        self.flags, self.rank, self.workers = flags, rank, workers
        self.images, self.labels = examples(flags.data, "train")
        self.layout = choose_layout(flags, self.images, self.labels)
        self.model = wrapped(flags, self.layout)
        self.descent = torch.optim.SGD(self.model.parameters(), flags.lr, flags.momentum,
                                       weight_decay=flags.weight_decay)
        self.order = None
        self.random = numpy.random.default_rng([flags.seed, rank])
        self.times, self.evaluations = [], []

    def batch(self, number):
        """Crops and flips, as our program makes them, only where accuracy is measured: their time does not count."""
        per_epoch = -(-len(self.images) // (self.flags.batch * self.workers))
        place = number % per_epoch
        if place == 0:
            self.order = share(len(self.images), self.rank, self.workers, self.flags.seed + number)
        chosen = self.order[place * self.flags.batch:][:self.flags.batch]
        images = self.images[chosen]
        if self.flags.data == "cifar10" and self.flags.eval_every:
            images = augmented(images, self.random)
        return images.contiguous(memory_format=LAYOUTS[self.layout]), self.labels[chosen]

    def step(self, images, labels):
        self.descent.zero_grad(set_to_none=True)
        F.cross_entropy(self.model(images), labels).backward()
        self.descent.step()

    def evaluate(self, number, images, labels):
        accuracy = torch.zeros(1)
        if self.rank == 0:
            inner = getattr(self.model, "module", self.model)
            accuracy[0] = evaluate(inner, images, labels)[1]
        torch.distributed.broadcast(accuracy, 0)
        self.evaluations.append({"step": number, "seconds": sum(self.times), "test_accuracy": accuracy.item()})
        return accuracy.item()

    def go(self):
        flags = self.flags
        test = examples(flags.data, "test") if flags.eval_every else None
        torch.distributed.barrier()
        sent, begin = bytes_sent(), time.perf_counter()
        for number in range(flags.steps):
            images, labels = self.batch(number)
            began = time.perf_counter()
            self.step(images, labels)
            self.times.append(time.perf_counter() - began)
            if flags.hook == "alone" and (number + 1) % 20 == 0:
                torch.distributed.barrier()  # no process runs ahead and leaves its core to the others
            if number + 1 == flags.lead_in:
                sent, begin = bytes_sent(), time.perf_counter()
            if test and (number + 1) % flags.eval_every == 0:
                if self.evaluate(number + 1, *test) >= flags.target:
                    break
        steady = len(self.times) - flags.lead_in
        wall = (time.perf_counter() - begin) / steady
        mean = sum(self.times) / len(self.times)
        return {"engine": "pytorch", "hook": flags.hook, "layout": self.layout, "steps": len(self.times),
                "ms_per_step": 1e3 * (mean if flags.eval_every else wall),
                "bytes_out_per_step": (bytes_sent() - sent) / steady, "evaluations": self.evaluations}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hook", choices=("none", "fp16", "alone"), default="none")
    parser.add_argument("--layout", choices=("auto", *LAYOUTS), default="auto")
    parser.add_argument("--model", default="lenet")
    parser.add_argument("--data", default="mnist")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--lead-in", type=int, default=20,
                        help="first steps, which ms_per_step leaves out unless there are evaluations")
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight-decay", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--eval-every", type=int, default=0, help="steps between evaluations; 0: none")
    parser.add_argument("--target", type=float, default=2, help="accuracy to stop at")
    flags = parser.parse_args()
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    rank, workers = torch.distributed.get_rank(), torch.distributed.get_world_size()
    result = Run(flags, rank, workers).go()
    torch.distributed.barrier()
    if rank == 0:
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
