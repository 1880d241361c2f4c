#!/usr/bin/python3
"""Time one training step (forward, loss, backward, with gradients zeroed) of the built-in models in PyTorch.

The counterpart of `syncopate bench step`: same models, same flags, one JSON line with the same fields for each
memory layout. The models are the package's own, with which the parity test compares the engine.
"""
import argparse
import ctypes
import importlib.util
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

import torch
from torch.nn import functional as F


_SPEC = importlib.util.spec_from_file_location(
    "syncopate_models", pathlib.Path(__file__).resolve().parent.parent / "python" / "syncopate" / "models.py")
models = importlib.util.module_from_spec(_SPEC)  # loaded by file name, because the package needs the C library
_SPEC.loader.exec_module(models)
MODELS = models.MODELS


def random_examples(model, batch, steps):
    if isinstance(model, models.LANGUAGE_MODELS):
        return tuple(torch.randint(model.classes, (batch, steps)) for _ in range(2))
    return torch.randn(batch, *model.image), torch.randint(model.classes, (batch,))


def resident_mb():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def time_step(name, batch, steps, classes, threads, layout, seconds):
    torch.manual_seed(1)
    before = resident_mb()
    model = MODELS[name](**({"classes": classes} if classes else {}))
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
    """Variables that OpenBLAS reads when it is loaded, because PyTorch does not pass its number of threads on. OpenBLAS
    treats a processor newer than itself as a Prescott of 2004, and multiplies five times slower; SkylakeX suits it well."""
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
    parser.add_argument("--classes", type=int, default=0, help="classes, or words; 0: as many as is usual for the model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5, help="measure for at least this long")
    parser.add_argument("--layout", choices=("contiguous", "channels_last"), action="append")
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    layouts = flags.layout or ["contiguous", "channels_last"]
    if flags.model.startswith("lstm") or flags.model in ("mlp", "gpt"):
        layouts = ["contiguous"]
    # One process per layout, because peak memory is measured per process.
    if os.environ.get("OPENBLAS_NUM_THREADS") != str(flags.threads) or len(layouts) > 1:
        environment = blas_environment(flags.threads)
        for layout in layouts:
            subprocess.run([sys.executable, *sys.argv, "--layout", layout], env=environment, check=True)
        return
    row = time_step(flags.model, flags.batch, flags.time, flags.classes, flags.threads, layouts[0], flags.seconds)
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
