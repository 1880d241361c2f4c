#!/usr/bin/python3
"""Lightning: a callback that creates an Outer when training starts and closes it at the end.

    torchrun --nproc_per_node 4 examples/frameworks/with_lightning.py

The strategy is ddp, so that processes find each other; from then on, gradients stay with their workers. Not run by us:
Debian has no Lightning package. The tests run it if it is installed.
"""
import os

import lightning
import torch
from torch import nn

import syncopate.torch


class Local(lightning.Callback):
    """Local steps, with an exchange of what they have changed every few steps. Options are those of Outer."""

    def __init__(self, **options):
        self.options = options
        self.outer = None

    def on_train_start(self, trainer, pl_module):
        syncopate.torch.init()  # harmless if the strategy has done it
        self.outer = syncopate.torch.Outer(trainer.model, trainer.optimizers[0], **self.options)

    def on_train_end(self, trainer, pl_module):
        self.outer.exchange()  # for the last steps
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
