#!/usr/bin/python3
"""Transformers' Trainer: a callback that creates an Outer when training begins and closes it at the end.

    torchrun --nproc_per_node 4 examples/frameworks/with_transformers.py

Not run by us: Debian has no Transformers package. The tests run it if it is installed.
"""
import tempfile

import torch
import transformers

import syncopate.torch


class Local(transformers.TrainerCallback):
    """Local steps, with an exchange of what they have changed every few steps. Options are those of Outer."""

    def __init__(self, **options):
        self.options = options
        self.outer = None

    def on_train_begin(self, args, state, control, model=None, optimizer=None, **more):
        syncopate.torch.init()  # harmless if the Trainer has done it
        self.outer = syncopate.torch.Outer(model, optimizer, **self.options)

    def on_train_end(self, args, state, control, **more):
        self.outer.exchange()  # for the last steps
        print(self.outer.stats()["exchanges"], "exchanges", flush=True)
        self.outer.close()


def main():
    torch.manual_seed(1)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=1,
                                                                 n_head=2))
    texts = [{"input_ids": row, "labels": row} for row in torch.randint(64, (320, 32))]
    with tempfile.TemporaryDirectory() as folder:
        settings = transformers.TrainingArguments(folder, max_steps=20, per_device_train_batch_size=4, use_cpu=True,
                                                  report_to=[], save_strategy="no")
        transformers.Trainer(model, settings, train_dataset=texts, callbacks=[Local(every=5)]).train()


if __name__ == "__main__":
    main()
