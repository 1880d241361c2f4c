#!/usr/bin/python3
"""Every ready model's weights, as the engine saves them, loaded by python/syncopate/models.py: the same scores.

    twins.py DUMP_STEP [MODEL...]

Scores must agree to 1e-4 of the largest. Exits with 77 (skipped) where there is no PyTorch.
"""
import subprocess
import sys

from pytorch import check, models, np, torch

TOLERANCE = 1e-4
SIZES = {"mlp": (4, 28), "lenet": (4, 28), "vgg16": (4, 32), "alexnet": (2, 224), "resnet50": (2, 64),
         "resnet18": (2, 64), "lstm-small": (3, 7), "lstm": (2, 3), "gpt": (3, 50)}  # batch, height and width or time


def compare(name, dump_step, directory):
    batch, size = SIZES.get(name, (4, 32))
    torch.manual_seed(1)
    if name.startswith(("lstm", "gpt")):
        x = torch.randint(10000, (batch, size))
        x.numpy().astype(np.int32).tofile(directory / "tokens.i32")
    else:
        x = torch.randn(batch, 1 if name in ("mlp", "lenet") else 3, size, size)
        x.numpy().tofile(directory / "images.f32")
    subprocess.run([dump_step, "scores", name, directory, str(batch), str(size)], check=True)
    with torch.no_grad():
        theirs = models.load(directory / "weights.safetensors")(x).numpy().ravel()
    ours = np.fromfile(directory / "scores.f32", np.float32)
    if ours.shape != theirs.shape:
        return [f"{ours.size} scores; PyTorch has {theirs.size}"]
    error = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    print(f"{name}: scores within {error:.1e}", flush=True)
    return [] if error <= TOLERANCE else [f"more than {TOLERANCE:.1e}"]


def main():
    dump_step, names = sys.argv[1], sys.argv[2:]
    listed = subprocess.run([dump_step, "models"], check=True, capture_output=True, text=True).stdout
    check(names or listed.split(), lambda name, directory: compare(name, dump_step, directory))


if __name__ == "__main__":
    main()
