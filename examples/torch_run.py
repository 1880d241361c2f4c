"""Code shared by the PyTorch examples: flags, choosing the method, the training loop.

Start any of them with any number of processes; on one machine, with Debian's PyTorch:

    python3 -m syncopate.torch.run --nproc_per_node 4 examples/torch_mnist.py --algo gtopk
    mpirun -n 4 /usr/bin/python3 examples/torch_mnist.py --algo ssd-sgd --delay 4

Everything about Syncopate is in Method: two lines for gradients, one optimizer for delayed weights.
"""
import argparse
import contextlib
import json
import math
import os
import time

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import OneCycleLR

import syncopate
import syncopate.torch

GRADIENT_METHODS = ("ssgd", "topk", "gtopk", "strom")


def positive(text):
    """A whole number, 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; expected a whole number, 1 or more")
    return int(text)


def read_flags(description, add_more=lambda parser: None, **defaults):
    """The flags of an example, with its own defaults; add_more(parser) adds flags that only this example has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algo", default="gtopk", choices=["ddp", *syncopate.recipes()],
                        help="ddp: PyTorch's own exchange, for comparison")
    parser.add_argument("--density", type=float, default=0.01, help="share of the entries sent")
    parser.add_argument("--delay", type=int, default=4, help="ssd-sgd: steps between two pulls")
    parser.add_argument("--epochs", type=float, default=defaults["epochs"])
    parser.add_argument("--steps", type=int, default=0, help="instead of epochs")
    parser.add_argument("--batch", type=positive, default=defaults["batch"], help="batch of each worker")
    parser.add_argument("--lr", type=float, default=defaults["lr"], help="peak learning rate")
    parser.add_argument("--momentum", type=float, default=defaults.get("momentum", 0.9))
    parser.add_argument("--weight-decay", type=float, default=defaults.get("weight_decay", 1e-4))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="cores of each worker")
    parser.add_argument("--data-dir", default=os.environ.get("SYNCOPATE_DATA", "data"))
    parser.add_argument("--out", help="directory for settings.json, metrics.jsonl and summary.json")
    parser.add_argument("--quiet", "--json", action="store_true", help="print only the summary, as JSON")
    add_more(parser)
    return parser.parse_args()


def find(directory, data, name):
    """The path of a file of a data set; if it is missing, exit and say how to get it."""
    for folder in (os.path.join(directory, data), directory):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    raise SystemExit(f"no {name} in {directory}; to download it: build/syncopate data get {data}")


def density_of(flags, warmup):
    """The density options of methods that send part of the gradient."""
    if flags.algo == "ssgd":
        return {}
    return {"density": flags.density, **({} if flags.algo == "strom" else {"density_warmup": warmup})}


class Method:
    """A model and how its gradients or weights are exchanged."""

    def __init__(self, model, flags, steps):
        self.flags = flags
        self.source = None
        warmup = steps // 6
        if flags.algo == "ddp" or flags.algo in GRADIENT_METHODS:
            self.model = DistributedDataParallel(model)
            if flags.algo != "ddp":
                self.source = syncopate.torch.attach(self.model, algo=flags.algo,
                                                     **density_of(flags, warmup))
            self.optimizer = torch.optim.SGD(self.model.parameters(), flags.lr, flags.momentum,
                                             weight_decay=flags.weight_decay)
        else:
            self.model = model
            self.optimizer = self.source = syncopate.torch.Optimizer(
                model, algo=flags.algo, lr=flags.lr, momentum=flags.momentum,
                weight_decay=flags.weight_decay, warmup=warmup, run_steps=steps,
                **({"delay": flags.delay} if flags.algo == "ssd-sgd" else {}))

    def evaluating(self):
        """A context in which the model has the weights to evaluate."""
        settle = getattr(self.optimizer, "settle", contextlib.nullcontext)
        return settle()


def count(scores, labels):
    """(examples of a step, the share classified correctly)."""
    return labels.numel(), (scores.detach().argmax(-1) == labels).float().mean().item()


def train(model, batches, steps_per_epoch, evaluate, flags, *, name, data, loss_of, clip=0.0,
          unit="images", count_of=count, **facts):
    """Train, evaluate, and print the summary on the first worker.

    batches   yields (inputs, labels) of this worker's share, endlessly
    evaluate  of the model: returns (test loss, test accuracy or nan[, more for the summary])
    loss_of   of (scores, labels)
    facts     further contents of the summary
    """
    rank = torch.distributed.get_rank()
    steps = flags.steps or max(1, round(flags.epochs * steps_per_epoch))
    method = Method(model, flags, steps)
    schedule = OneCycleLR(method.optimizer, flags.lr, steps + 1, cycle_momentum=False)
    metrics = None
    if flags.out and method.source:
        metrics = syncopate.torch.Metrics(flags.out, method.source, steps_per_epoch=steps_per_epoch,
                                          unit=unit, model=name, data=data, batch=flags.batch)
    began = time.perf_counter()
    for step, (inputs, labels) in zip(range(steps), batches):
        method.optimizer.zero_grad()
        scores = method.model(inputs)
        loss = loss_of(scores, labels)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        lr = schedule.get_last_lr()[0]
        method.optimizer.step()
        schedule.step()
        if metrics:
            examples, right = count_of(scores, labels)
            metrics.step(loss.item(), examples, lr, right)
        if rank == 0 and not flags.quiet and (step + 1) % 50 == 0:
            print(f"step {step + 1} of {steps}: loss {loss.item():.4f}", flush=True)
    seconds = time.perf_counter() - began
    with method.evaluating():
        test_loss, test_accuracy, *more = evaluate(model)
    summary = {"algo": flags.algo, "model": name, "workers": torch.distributed.get_world_size(),
               "steps": steps, "seconds": seconds, "ms_per_step": 1e3 * seconds / steps,
               "test_loss": test_loss, **facts, **dict(*more)}
    if not math.isnan(test_accuracy):
        summary["test_accuracy"] = test_accuracy
    if metrics:
        metrics.evaluated(test_loss, test_accuracy)
        metrics.finish()
    if method.source:
        summary["bytes_out_per_step"] = method.source.stats()["mean_bytes_out"]
        method.source.close()
    if rank == 0:
        print(json.dumps(summary), flush=True)
