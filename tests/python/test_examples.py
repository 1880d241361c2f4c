"""The examples run under both launchers; what does not depend on a launcher is tried without one, which is quicker."""
import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys

import pytest
import torch

from workers import free_port, launch, succeed

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Tiny data sets of noise in the real ones' forms."""
    folder = tmp_path_factory.mktemp("data")
    torch.manual_seed(0)
    for part, count in (("train", 64), ("t10k", 20)):
        images = torch.randint(0, 256, (16 + 784 * count,), dtype=torch.uint8)
        labels = torch.randint(0, 10, (8 + count,), dtype=torch.uint8)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(images.numpy().tobytes())
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(labels.numpy().tobytes())
    return str(folder)


def run(words, **environment):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def torchrun(*words):
    return run([sys.executable, "-m", "syncopate.torch.run", "--nproc_per_node", "2", "--master_port", str(free_port()),
                "--monitor_interval", "0.2", *words])


def forked(*words):
    return "".join(succeed(launch(words, 2)))


def summary_of(output):
    lines = [line[line.index("{"):] for line in output.splitlines() if '{"algo"' in line]
    assert len(lines) == 1, output
    return json.loads(lines[0])


def test_mnist_under_torchrun_with_gradients_only(data, tmp_path):
    output = torchrun(os.path.join(EXAMPLES, "torch_mnist.py"), "--algo", "gtopk", "--steps", "3", "--batch", "4",
                      "--data-dir", data, "--out", str(tmp_path / "run"))
    summary = summary_of(output)
    assert summary["workers"] == 2 and summary["steps"] == 3 and summary["bytes_out_per_step"] > 0
    assert (tmp_path / "run" / "summary.json").exists()


@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun")
def test_mnist_under_mpirun_with_delayed_weights(data):
    output = run(["mpirun", "-n", "2", sys.executable, os.path.join(EXAMPLES, "torch_mnist.py"),
                  "--algo", "ssd-sgd", "--steps", "6", "--batch", "4", "--data-dir", data])
    assert summary_of(output)["steps"] == 6


@pytest.mark.parametrize("start, flags", [
    (torchrun, ("--algo", "outer", "--every", "2")), (forked, ("--algo", "updates")),
    (forked, ("--algo", "ddp", "--accumulate", "2", "--level", "words")),
    (forked, ("--algo", "alone", "--accumulate", "2"))])
def test_a_gpt_trains_on_any_text(start, flags, tmp_path):
    text = tmp_path / "text"
    text.write_text("the cat sat on the mat .\n" * 40, encoding="utf-8")
    output = start(os.path.join(EXAMPLES, "torch_gpt.py"), "--steps", "5", "--batch", "2", "--text", str(text),
                   "--length", "16", "--width", "16", "--layers", "1", "--dtype", "float32", *flags)
    summary = summary_of(output)
    assert summary["steps"] == 5 and 0 < summary["valid_loss"] < 10
    assert (summary["bytes_out_per_step"] > 0) == ("alone" not in flags)


def test_a_gpt_begins_with_smaller_weights_where_layers_add_up(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    import torch_gpt
    torch.manual_seed(1)
    block = torch_gpt.Gpt(kinds=7, length=8, layers=8).blocks[0]
    for weight, usual in ((block.project.weight, 0.005), (block.think[2].weight, 0.005), (block.qkv.weight, 0.02)):
        assert abs(weight.std().item() / usual - 1) < 0.1


@pytest.mark.parametrize("name", ["accelerate", "lightning", "transformers", "ray"])
def test_a_framework_exchanges_every_fifth_of_twenty_steps(name):
    path = os.path.join(EXAMPLES, "frameworks", f"with_{name}.py")
    with open(path, encoding="utf-8") as file:
        compile(file.read(), path, "exec")
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    assert "4 exchanges" in run([sys.executable, path])


def test_every_method_is_told_a_density_that_it_takes(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    import torch_run
    from torch import nn
    import syncopate.torch
    syncopate.torch.init()
    for algo in torch_run.GRADIENT_METHODS:
        flags = argparse.Namespace(algo=algo, density=0.01)
        ddp = nn.parallel.DistributedDataParallel(nn.Linear(3, 2))
        syncopate.torch.attach(ddp, algo, **torch_run.density_of(flags, 10)).close()
