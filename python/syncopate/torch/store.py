"""The rendezvous store without libuv: distributions build PyTorch 2.x without it (Debian 13's
2.6), and PyTorch requires it in places where USE_LIBUV=0 has no effect."""
from __future__ import annotations

import importlib
import os

import torch.distributed as dist

USERS = ("rendezvous", "elastic.rendezvous.static_tcp_rendezvous",
         "elastic.rendezvous.c10d_rendezvous_backend")  # modules of torch.distributed that create a store


class PlainStore(dist.TCPStore):
    """A store that does not use libuv."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **{**options, "use_libuv": False})


def has_libuv() -> bool:
    """Whether a store can be created with PyTorch's defaults."""
    try:
        dist.TCPStore("127.0.0.1", 0, 1, True, wait_for_workers=False)
    except RuntimeError as error:
        return "libuv" not in str(error)
    return True


def do_without_libuv() -> None:
    """Do not use libuv from now on, in this process and those that it starts."""
    os.environ["USE_LIBUV"] = "0"
    dist.TCPStore = PlainStore
    for name in USERS:
        importlib.import_module(f"torch.distributed.{name}").TCPStore = PlainStore
