"""The store where processes meet, without libuv: distributions build PyTorch 2.x without it (Debian 13's
2.6), and PyTorch asks for it in places where USE_LIBUV=0 does not reach."""
from __future__ import annotations

import importlib
import os

import torch.distributed as dist

USERS = ("rendezvous", "elastic.rendezvous.static_tcp_rendezvous",
         "elastic.rendezvous.c10d_rendezvous_backend")  # modules of torch.distributed that make a store


class PlainStore(dist.TCPStore):
    """A store that does without libuv."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **{**options, "use_libuv": False})


def has_libuv() -> bool:
    """Whether a store can be made as PyTorch makes it."""
    try:
        dist.TCPStore("127.0.0.1", 0, 1, True, wait_for_workers=False)
    except RuntimeError as error:
        return "libuv" not in str(error)
    return True


def do_without_libuv() -> None:
    """From now on, in this process and those that it starts."""
    os.environ["USE_LIBUV"] = "0"
    dist.TCPStore = PlainStore
    for name in USERS:
        importlib.import_module(f"torch.distributed.{name}").TCPStore = PlainStore
