#!/usr/bin/python3
"""Lightning: a callback that makes an Outer when training starts and closes it at the end.

    torchrun --nproc_per_node 4 examples/frameworks/with_lightning.py

The strategy is ddp, so that processes find each other; its gradients stay with their workers from then on. Not run:
Debian has no package of Lightning. The tests run it where it is installed.
"""
import os

import lightning
import torch
from torch import nn

import syncopate.torch


class Local(lightning.Callback):
    """Local steps, and what they have changed exchanged now and then. Options are Outer's."""

    def __init__(self, **options):
        self.options = options
        self.outer = None

    def on_train_start(self, trainer, pl_module):
        syncopate.torch.init()  # harmless if the strategy has done it
        self.outer = syncopate.torch.Outer(trainer.model, trainer.optimizers[0], **self.options)

    def on_train_end(self, trainer, pl_module):
        self.outer.exchange()  # the last steps, too
        print(self.outer.stats()["exchanges"], "exchanges", flush=True)
        self.outer.close()


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 2)

    def training_step(self, batch, _number):
        return nn.functional.cross_entropy(self.layer(batch), (batch.sum(1) > 0).long())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 1e-2)


def main():
    workers = int(os.environ.get("WORLD_SIZE", 1))
    data = torch.utils.data.DataLoader(torch.randn(640, 8), batch_size=16)
    trainer = lightning.Trainer(accelerator="cpu", devices=workers, strategy="ddp", max_steps=20, logger=False,
                                enable_checkpointing=False, callbacks=[Local(every=5)])
    trainer.fit(Model(), data)


if __name__ == "__main__":
    main()
