"""How examples/torch_gpt.py exchanges what it learns: all of its code for Syncopate.

    alone     no exchange at all: what computing costs; every worker trains a model of its own
    ddp       PyTorch's own all-reduce of gradients, for comparison
    outer     local steps of AdamW, then one exchange of what they changed (syncopate.torch.Outer)
    updates   the same with syncopate.torch.attach() and its default settings
    others    a method of syncopate.torch.attach() for gradients
"""
import contextlib

import torch
from torch.nn.parallel import DistributedDataParallel

import syncopate.torch
import torch_run


def add_flags(parser):
    """The flags that choose a method."""
    parser.add_argument("--algo", default="outer", choices=["alone", "ddp", "outer", "updates", *torch_run.GRADIENT_METHODS])
    parser.add_argument("--every", type=int, default=30, help="outer: steps between two exchanges")
    parser.add_argument("--outer-lr", type=float, help="outer: learning rate of the step that applies the mean")
    parser.add_argument("--outer-momentum", type=float, help="outer: momentum of that step")
    parser.add_argument("--values", help="outer: value form, such as q2, q4, q8, f32")
    parser.add_argument("--density", type=float, help="share of the entries sent")
    parser.add_argument("--delayed", action="store_true", help="outer: exchange during the next steps")


class Method:
    """A model, its optimizer, and how they are exchanged.

    groups  the parameter groups for AdamW
    """

    def __init__(self, model, groups, flags):
        self.source = None
        self.is_plain = flags.algo in ("alone", "outer")
        self.model = model if self.is_plain else DistributedDataParallel(model)
        self.optimizer = torch.optim.AdamW(groups, flags.lr)
        density = {} if flags.density is None else {"density": flags.density}
        if flags.algo == "outer":
            asked = {name: getattr(flags, name) for name in ("outer_lr", "outer_momentum", "values")}
            self.source = syncopate.torch.Outer(model, self.optimizer, every=flags.every, delayed=flags.delayed,
                                                **density, **{name: value for name, value in asked.items() if value is not None})
        elif flags.algo == "updates":
            self.source = syncopate.torch.attach(self.model, optimizer=self.optimizer, **density)
        elif flags.algo not in ("alone", "ddp"):
            self.source = syncopate.torch.attach(self.model, flags.algo, **density)
        self.parameters = sum(each.numel() for each in model.parameters())

    def passing(self, is_last):
        """The context of a backward pass: gradients that only add up are not exchanged."""
        return self.model.no_sync() if not is_last and not self.is_plain else contextlib.nullcontext()

    def evaluating(self):
        """A context in which the model has the weights to evaluate."""
        if not isinstance(self.source, syncopate.torch.Outer):
            return contextlib.nullcontext()
        self.source.exchange()  # what the last steps have learned
        return self.source.settle()

    def metrics(self, flags):
        """The files of the run, if requested."""
        if not flags.out or not self.source:
            return None
        return syncopate.torch.Metrics(flags.out, self.source, steps_per_epoch=flags.steps, unit="words",
                                       model="gpt", data=flags.text or "brown", batch=flags.batch)

    def cost(self, steps):
        """Bytes that this worker sends per step; DDP's are those of a ring."""
        if self.source:
            return {"bytes_out_per_step": self.source.totals["bytes_out"] / steps}
        if self.is_plain:
            return {"bytes_out_per_step": 0}
        workers = torch.distributed.get_world_size()
        return {"bytes_out_per_step": 8 * self.parameters * (workers - 1) / workers}

    def close(self):
        """Close the exchange."""
        if self.source:
            self.source.close()
