"""torchrun, for installations where torchrun itself does not start:

    python -m syncopate.torch.run --nproc_per_node 4 script.py

It is torch.distributed.run, with all its flags. PyTorch 2.x without libuv cannot create the store that
torchrun's processes use for rendezvous, and 1.13 cannot read its own defaults under Python 3.11. Elsewhere this is the same
as torchrun. Scripts should begin with syncopate.torch.init(), which does the same for the workers.
"""
from __future__ import annotations

import importlib
import sys

import torch

from .store import do_without_libuv, has_libuv


def main(arguments: list[str]) -> None:
    """Like torchrun's main()."""
    if not has_libuv():
        do_without_libuv()
    if torch.__version__.startswith("1.") and sys.version_info >= (3, 11):
        arguments = ["-r", "1", "-t", "1", *arguments]
    importlib.import_module("torch.distributed.run").main(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
