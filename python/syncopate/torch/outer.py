"""Local steps with an outer update: every worker trains independently, and every few steps what they have learned is
exchanged (DiLoCo; with part of the entries in few bits, SparseLoCo).

The optimizer can be any of PyTorch's. After `every` steps of it, the difference between the weights that all workers
began with and this worker's own is passed to the library, as a gradient would be; the mean of what all have sent is
applied to the common weights by SGD with Nesterov momentum, and all continue from there. What was not sent waits in
the residual. Autograd and the loss are not touched. The model needs no DistributedDataParallel; if it is wrapped in one,
that one no longer exchanges gradients.
"""
from __future__ import annotations

import math
import numbers
import operator
from ctypes import byref
from typing import Any, Mapping

import torch
import torch.distributed as dist

from ..core import SUMMED, Reducer
from ..errors import ClosedError, OptionError
from ..library import C
from ..options import ReducerOptions
from . import agree, launch, owners, state, watch, ways, wrapped
from . import policy as tensor_policy
from .calls import everyones, explained
from .common import Common
from .density import Density
from .flat import Flat
from .model import floats_at, layout_of, norm, trained_parameters
from .statistics import Statistics
from .stats import stats_of
from .steps import Steps

USUAL_MOMENTUM = 0.3  # in short runs, more is worse
UPDATES = {"every": 4, "outer_momentum": 0.0}  # with 2 bits, 1/57 of the bytes of DDP
BITS = {"q4": 7, "q2": 1}  # from this many steps on, such values take 1/50 of DDP's bytes; q2: from 4. q8 gains nothing
ALIKE = ("steps", "the number of zero_grad calls", "the learning rate()")
ADVICE = ("if a loop skips a step on some workers only, call outer.skip() there; pass a GradScaler to "
          "Outer(..., scaler=scaler)")


class Settled:
    """A context in which the model holds the common weights; afterwards it holds this worker's own again."""

    def __init__(self, outer: "Outer"):
        self._outer = outer

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_error: object) -> None:
        self._outer.resume()


def _whole(name: str, value: Any) -> int:
    try:
        found = operator.index(value)
    except TypeError:
        found = 0
    if found < 1 or isinstance(value, bool):
        raise OptionError(f"{name}: {value!r} is not valid; expected a whole number of steps, 1 or more")
    return found


def _real(name: str, value: Any, least: float, most: float, expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not least <= value <= most:
        raise OptionError(f"{name}: {value!r} is not valid; expected {expected}")
    return float(value)


def _usual_values(every: int, density: float) -> str:
    """As many bits as fit into a fiftieth of DDP's bytes, at most 8."""
    return next(name for name, least in BITS.items() if every >= least) if density == 1 else "q2"


def _reducer_options(density: float, values: str, forget: float, more: dict[str, Any]) -> ReducerOptions:
    """How what was learned is sent: everything on a ring, or the largest entries through their owners. What
    is lost by rounding, or not sent, waits in the residual."""
    options = ReducerOptions("ssgd" if density == 1 else "topk")
    chosen: dict[str, Any] = {"values": values, "residual": "none" if values == "f32" and density == 1 else "feedback"}
    if density < 1:
        chosen["exchange"] = "split"
    if forget:
        chosen["forget"] = forget
    options.set_all({**chosen, **more})
    return options


def _usual_factor(optimizer: torch.optim.Optimizer) -> float:
    """Adam and similar optimizers divide a step by the size of past gradients. A worker's own gradients are noisier than
    the mean of all, by up to the square root of the number of workers, and its steps are that much shorter than DDP's."""
    return 1.0 if isinstance(optimizer, torch.optim.SGD) else math.sqrt(dist.get_world_size())


class Outer:
    """Exchanges what `every` steps of the optimizer have changed. Collective: every process creates one. As with
    DistributedDataParallel, all begin with the first worker's weights.

    model           a module, or a DistributedDataParallel, whose gradients then stay with their workers
    optimizer       any PyTorch optimizer for its parameters
    every           steps of the optimizer between two exchanges
    density         share of the entries that is sent; 1 sends everything
    density_warmup  steps in which the density falls from a quarter to that value; an exchange uses the density of its
                    first step
    values          value form: q2, q4, q8, f16 or f32. Default: q2 if only a part is sent; otherwise
                    what fits into 1/50 of DDP's bytes: q4 from every=7 on, else q2
    lr_factor       the optimizer's learning rates are multiplied by this in its steps, so that rates that suit DDP
                    suit here too. Default: 1 for torch.optim.SGD, otherwise the square root of the number of workers
    forget          share of the residual that is forgotten with each exchange
    outer_lr, outer_momentum
                    of the step that applies the mean of what was sent. Default: 1, and 0 for torch.optim.SGD, else 0.3
    delayed         exchange during the next steps: what was learned arrives one exchange late
    scaler          the torch.amp.GradScaler that multiplies the loss, if there is one: steps that it skips count
    policy          how single tensors take part, by parameter, name or pattern of names: "dense" always sends all
                    of its entries, a number that share of them.
                    {"*.bias": "dense", "head.weight": 0.05}
    transport       "mpi", "torch" (torch.distributed), or "auto": mpi under mpirun
    timeout_ms      how long to wait for a silent worker before an exchange fails with an error that names it
    options         any other setting of the reducer, by name
    """

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, every: int = 30, *,
                 density: float = 1, density_warmup: int = 0, values: str | None = None, forget: float = 0.0,
                 lr_factor: float | None = None, outer_lr: float = 1.0, outer_momentum: float | None = None,
                 delayed: bool = False, scaler: Any = None, policy: Mapping[Any, Any] | None = None,
                 transport: str = "auto", timeout_ms: int | None = None, **options: Any):
        self._model, ddp = wrapped.module_and_ddp(model)
        if ddp is not None:
            ways.check_whole(ddp)
        self._optimizer = wrapped.plain_optimizer(optimizer)
        self.every = _whole("every", every)
        density = _real("density", density, 1e-9, 1, "a number above 0, at most 1")
        forget = _real("forget", forget, 0, 1, "a number from 0 to 1")
        self.outer_lr = _real("outer_lr", outer_lr, 1e-12, 1e6, "a number above 0")
        if outer_momentum is None:
            outer_momentum = 0.0 if isinstance(self._optimizer, torch.optim.SGD) else USUAL_MOMENTUM
        self.outer_momentum = _real("outer_momentum", outer_momentum, 0, 0.9999, "a number from 0, below 1")
        self.lr_factor = _usual_factor(self._optimizer) if lr_factor is None else _real(
            "lr_factor", lr_factor, 1e-12, 1e6, "a number above 0")
        values = _usual_values(self.every, density) if values is None else values
        chosen = _reducer_options(density, values, forget, options)
        self.density = Density(chosen, density if density < 1 else None, density_warmup)
        chosen.check()
        names = trained_parameters(self._model, may_be_away=True)
        self._check_optimizer(names)
        owners.check_free(names)
        self._has_scaler = scaler is not None
        self._names, self._parameters = list(names), list(names.values())
        self._flat = Flat(self._parameters)
        self.layout = layout_of(names)
        tensor_policy.apply(policy, names, self.layout)
        self.delayed = bool(delayed)
        self.options = {"algo": "outer", "every": self.every, "lr_factor": self.lr_factor,
                        "outer_lr": self.outer_lr, "outer_momentum": self.outer_momentum,
                        "delayed": self.delayed, **chosen.as_dict()}
        self._channel = dist.new_group(backend="gloo")  # for the beginning; the default group may use NCCL
        self.group = launch.join(transport, {} if timeout_ms is None else {"timeout_ms": timeout_ms})
        self._check_settings()
        self.reducer = Reducer(self.group, self.layout, chosen)
        self._begin_together()
        self.steps = 0            # of the optimizer, including skipped ones
        self.exchanges = 0
        self._skipped = 0
        self._since = 0           # steps since the last exchange
        self.totals = dict.fromkeys(SUMMED, 0.0)
        self._own: tuple[torch.Tensor, list[torch.Tensor]] | None = None
        self._statistics = Statistics(self._model)
        self._told = Steps(self._optimizer, scaler, self._after_step, self._after_skip, self.lr_factor)
        owners.claim(names, self)
        self._way = ways.make(ddp) if ddp is not None else None
        if self._way is not None:
            self._way.is_closed = True

    # The beginning.

    def _check_optimizer(self, names: dict[str, torch.nn.Parameter]) -> None:
        known = set(map(id, self._model.parameters()))
        for group in self._optimizer.param_groups:
            if any(id(each) not in known for each in group["params"]):
                raise OptionError("the optimizer trains a parameter that is not in the model and would not be "
                                  "exchanged; pass Outer the module that contains all of them")
        trained = self._trained_now()
        if not any(id(each) in trained for each in names.values()):
            raise OptionError("the optimizer has none of the model's parameters")
        self._trained = trained

    def _trained_now(self) -> set[int]:
        return {id(each) for group in self._optimizer.param_groups for each in group["params"]}

    def _check_settings(self) -> None:
        mine = torch.tensor([self.every, agree.bits(self.lr_factor), agree.bits(self.outer_lr),
                             agree.bits(self.outer_momentum), int(self.delayed)])
        gathered = [torch.empty_like(mine) for _ in range(dist.get_world_size(self._channel))]
        dist.all_gather(gathered, mine, group=self._channel)
        everyone = [each.tolist() for each in gathered]
        try:
            agree.check_alike(everyone, ("every", "lr_factor()", "outer_lr()", "outer_momentum()", "delayed"),
                              "all workers must create the same Outer")
        except OptionError:
            self.group.close()
            raise

    def _begin_together(self) -> None:
        weights = torch.empty(self.layout.size)
        self._flat.read(weights)
        dist.broadcast(weights, 0, group=self._channel)
        self._flat.write(weights)
        self._common = Common(weights, self.outer_lr, self.outer_momentum, self.delayed)
        self._is_under_way = False

    # The way of a step.

    def _after_step(self) -> None:
        self._check_open()
        if self._own is not None:
            raise OptionError("the model holds the common weights; call resume() before the next step, or use: "
                              "with outer.settle(): ...")
        self.steps += 1
        self._since += 1
        if self._since >= self.every:
            self.exchange()

    def _after_skip(self) -> None:
        self._skipped += 1
        self._after_step()

    def skip(self) -> None:
        """To be called instead of optimizer.step() if this worker skips a step: the step counts, so that all workers
        exchange after the same number of batches."""
        self._after_skip()

    @torch.no_grad()
    def exchange(self) -> None:
        """Exchange now what was learned since the last time. Collective: every worker must call it after the same
        step. It happens automatically after `every` steps; call it at the end of training, for the last ones. Without
        a step since the last exchange it does nothing."""
        self._check_open()
        if self._since == 0:
            return
        self._look_around()
        self._flat.read(self._common.now)
        self._land()
        self._common.learn()
        first = self.steps - self._since  # of the steps whose work is sent
        explained(self.group, self.reducer.begin, self._common.learned.data_ptr(), self.density.at(first))
        self._is_under_way = True
        self._since = 0
        if not self.delayed:
            self._land()
        self._flat.write(self._common.now)

    def _land(self) -> None:
        """Wait for what is under way, if anything, and apply it to the weights."""
        if not self._is_under_way:
            return
        self._is_under_way = False
        merged = explained(self.group, self.reducer.wait)
        mean = self._common.mean.zero_()
        C.syn_merged_to_dense(byref(merged), mean.data_ptr(), self.layout.size)
        mean /= self.group.workers
        self._common.land()
        self.exchanges += 1
        for name in SUMMED:
            self.totals[name] += getattr(merged.cost, name)

    def _look_around(self) -> None:
        """OptionError, on all workers in the same call, if one of them is at another step or its model has changed."""
        trouble = self._find_trouble()
        rate = float(self._optimizer.param_groups[0]["lr"])
        everyone = self.gather([int(trouble is not None), self.steps, self._told.zeroed, agree.bits(rate)])
        agree.check_untroubled(everyone, trouble)
        agree.check_alike([each[1:] for each in everyone], ALIKE, ADVICE)

    def _find_trouble(self) -> OptionError | None:
        try:
            if not self._has_scaler and self.exchanges == 0:  # before its first step a scaler has no scale
                watch.check_scalers(watch.IN_STEPS)
        except OptionError as error:
            return error
        found = {name: each for name, each in self._model.named_parameters() if each.requires_grad}
        for name, parameter in zip(self._names, self._parameters):
            if found.get(name) is not parameter:
                return OptionError(f'parameter "{name}" was frozen, removed or replaced since Outer was created; '
                                   "close() it and create another one")
        if len(found) != len(self._names):
            new = next(name for name in found if name not in self._names)
            return OptionError(f'parameter "{new}" was added or unfrozen since Outer was created; close() it and '
                               "create another one")
        if self._trained_now() != self._trained:
            return OptionError("the optimizer has other parameters than when Outer was created; close() it and create "
                               "another one")
        return None

    # Evaluation.

    @torch.no_grad()
    def settle(self) -> Settled:
        """Wait for what is under way and put the common weights into the model: those after the last exchange,
        the same on every worker, with running statistics (of batch normalisation) averaged over the workers.
        Collective.

            with outer.settle():
                evaluate(model)          # afterwards training continues as if nothing had happened

            outer.exchange()             # at the end, for the last steps
            outer.settle()
        """
        self._check_open()
        self._flat.read(self._common.now)
        self._land()
        own = self._common.now.clone(), self._statistics.own()
        self._statistics.average(self._everyones)
        self._own = self._own or own
        self._flat.write(self._common.weights)
        return Settled(self)

    def resume(self) -> None:
        """Put this worker's own weights back after settle()."""
        if self._own is not None:
            self._flat.write(self._own[0])
            self._statistics.put_back(self._own[1])
        self._own = None

    # Insight and state.

    def _check_open(self) -> None:
        if self.reducer.is_closed:
            raise ClosedError("this Outer is closed and exchanges nothing; create another one")

    def stats(self) -> dict[str, float]:
        """What exchanges cost this worker: the last one's figures, and means over all steps of the optimizer.
        Times are in milliseconds, bytes are payload."""
        self._check_open()
        learned = norm(self._common.learned) if self.exchanges else 0.0
        return stats_of(self, self.reducer.merged.cost, skipped=self._skipped, exchanges=self.exchanges, learned_norm=learned)

    def residual(self) -> torch.Tensor | None:
        """What this worker has not sent yet, in the layout's order; None if nothing is kept. A view, valid until
        the next exchange or close()."""
        self._check_open()
        address = self.reducer.residual()
        return floats_at(address, self.layout.size) if address else None

    @torch.no_grad()
    def state_dict(self) -> dict[str, Any]:
        """This worker's state: the common weights, its own, what it has not sent, its numbers of steps. Each
        worker has its own, and its optimizer has one too. Collective if delayed: what is under way arrives first."""
        self._check_open()
        self.resume()
        self._flat.read(self._common.now)
        self._land()
        self._flat.write(self._common.now)
        packed = state.pack("outer", self.group, self.layout, self.steps, {"reducer": bytes(self.reducer.save())})
        return {**packed, "common": self._common.weights.clone(), "own": self._common.now.clone(),
                "velocity": None if self._common.velocity is None else self._common.velocity.clone(),
                "since": self._since, "exchanges": self.exchanges, "skipped": self._skipped}

    @torch.no_grad()
    def load_state_dict(self, saved: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Load this worker's own state, with its weights; or, given a list of all workers' states in the order of
        their ranks, that of a run with another number of workers: all then begin at the common weights."""
        self._check_open()
        states = state.unpack("outer", saved, self.group, self.layout)
        first = saved[0] if isinstance(saved, list) else saved
        self._land()
        if isinstance(saved, list):
            self.reducer.load_regrouped([each["reducer"] for each in states])
        else:
            self.reducer.load(states[0]["reducer"])
        self._common.begin_at(first["common"], first["velocity"])
        self._own = None
        self._flat.write(first["common" if isinstance(saved, list) else "own"])
        self.steps, self.exchanges, self._skipped = first["steps"], first["exchanges"], first["skipped"]
        self._since = 0 if isinstance(saved, list) else first["since"]

    def gather(self, values: list[int]) -> list[list[int]]:
        """Send these numbers to all workers, and receive theirs; all send the same count."""
        return self._everyones(torch.tensor(values)).tolist()

    def _everyones(self, mine: torch.Tensor) -> torch.Tensor:
        return everyones(self.group, self.reducer, mine)

    def close(self) -> None:
        """Close: the optimizer is left alone from now on, and the residual is discarded. The model keeps
        its weights; a DistributedDataParallel exchanges gradients again. Harmless when called twice."""
        owners.release(self)
        self._told.remove()
        if self._way is not None:
            self._way.is_closed = False
        self.reducer.close()
        self.group.close()


def updates(ddp: torch.nn.Module, optimizer: torch.optim.Optimizer, density: float | None,
            options: dict[str, Any]) -> Outer:
    """What attach() does for AdamW and similar optimizers: every worker's optimizer makes steps with its own gradients,
    and what they have changed is exchanged every few steps."""
    return Outer(ddp, optimizer, **{**UPDATES, **({} if density is None else {"density": density}), **options})
