"""For programs that hold the engine against PyTorch: PyTorch, or an end with exit code 77 (skipped), and the loop over models."""
import pathlib
import sys
import tempfile

try:
    import numpy as np
    import torch
except ImportError:
    print(f"{pathlib.Path(sys.argv[0]).name}: PyTorch is not installed; skipped")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench"))
from pytorch_step import models  # noqa: E402

__all__ = ["check", "models", "np", "torch"]

# PyTorch's own threads spin while they wait for each other: beside other tests, two took seven times as long as one.
torch.set_num_threads(1)


def check(names, compare):
    """End the program: 1 if compare(name, directory) has complaints about any of them, which are printed."""
    failed = False
    for name in names:
        with tempfile.TemporaryDirectory() as directory:
            complaints = compare(name, pathlib.Path(directory))
        for complaint in complaints:
            print(f"{name}: {complaint}")
        failed |= bool(complaints)
    sys.exit(1 if failed else 0)
