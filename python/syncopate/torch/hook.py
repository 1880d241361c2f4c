"""Gradients only: a communication hook for DistributedDataParallel.

DDP hands over its buckets one by one. Together they are one gradient, so that selection looks at the
whole model and residuals belong to parameters, however DDP cuts its buckets. With the last one the
library merges it, in one call, and writes the mean to where DDP reads it.

The gradient is read where it lies, in the buckets, if they are float32 and the method keeps a residual.
Copied, once, is what has 16 bits, what travels during the backward pass, and what a method sends whole
if it lies in several buckets.
"""
from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ..core import SUMMED, Reducer, cost_as_dict
from ..errors import NonFiniteError, OptionError, PeerError
from ..library import Cost, Piece, Place
from ..options import ReducerOptions, WorkerOptions
from . import launch, state
from .density import Density
from .model import floats_at, layout_of, trained_parameters

NONFINITE = ("raise", "nan")
_ATTACHED = "_syncopate_attached"


@dataclass
class _Run:
    """Entries that lie together both in the whole gradient and in a bucket."""

    flat: int
    bucket: int
    count: int


@dataclass
class _Bucket:
    """A bucket of the step under way, and where its entries belong."""

    buffer: torch.Tensor
    runs: list[_Run]
    future: torch.futures.Future
    is_copied: bool

    @property
    def is_plain(self) -> bool:
        """Whether the library can read and write it."""
        return self.buffer.dtype == torch.float32 and self.buffer.is_contiguous()


class _Route:
    """Where the library finds the gradient, and where its mean goes: the same in every step, until DDP
    cuts its buckets anew. A sparse mean is written to arrays that are zero before, and DDP reads these:
    clearing a bucket would take longer than all the rest.

    flat      the whole gradient, for those buckets that are copied to it; or None
    is_dense  the mean fills the buckets
    """

    def __init__(self, buckets: list[_Bucket], flat: torch.Tensor | None, is_dense: bool):
        self._key = self._key_of(buckets)
        self.means = [bucket.buffer if is_dense and bucket.is_plain
                      else torch.zeros(bucket.buffer.numel()) for bucket in buckets]
        runs = sorted(((run, bucket, mean) for bucket, mean in zip(buckets, self.means)
                       for run in bucket.runs), key=lambda each: each[0].flat)
        self.pieces = self._pieces([
            (flat.data_ptr() + 4 * run.flat if bucket.is_copied
             else bucket.buffer.data_ptr() + 4 * run.bucket, run.count) for run, bucket, _ in runs])
        self.places = (Place * len(runs))(*[(run.flat, run.count, mean.data_ptr() + 4 * run.bucket)
                                            for run, _, mean in runs])

    @staticmethod
    def _key_of(buckets: list[_Bucket]) -> list[tuple[int, list[_Run]]]:
        return [(bucket.buffer.data_ptr(), bucket.runs) for bucket in buckets]

    @staticmethod
    def _pieces(parts: list[tuple[int, int]]) -> Any:
        """(address, count) of each part, with neighbours joined."""
        joined: list[tuple[int, int]] = []
        for address, count in parts:
            if joined and joined[-1][0] + 4 * joined[-1][1] == address:
                address, count = joined[-1][0], joined.pop()[1] + count
            joined.append((address, count))
        return (Piece * len(joined))(*joined)

    def fits(self, buckets: list[_Bucket]) -> bool:
        """Whether it is these buckets' route."""
        return self._key == self._key_of(buckets)


class Attached:
    """What attach() returns: statistics, state, and the end.

    loss_scale  what the loss is multiplied by, such as scaler.get_scale(), to be set before backward().
                Residuals are kept without it, so that they stay right when a loss scaler changes it.
    """

    def __init__(self, ddp: DistributedDataParallel, algo: str, options: ReducerOptions,
                 density: Density, nonfinite: str, transport: str, group_options: dict[str, Any]):
        module = ddp.module
        names = trained_parameters(module, frozenset(getattr(ddp, "parameters_to_ignore", ())))
        values = options.as_dict()
        self._overlaps = values["bucket_bytes"] > 0
        if not self._overlaps:  # as a backward pass delivers them: a bucket is then one piece
            names = dict(reversed(list(names.items())))
        options.check()
        if dist.get_world_size(ddp.process_group) != dist.get_world_size():
            raise OptionError("the model's process group is not the whole world; groups of some "
                              "processes are not supported")
        self.options = {"algo": algo, **values}
        self.density = density
        self.layout = layout_of(names)
        self.group = launch.join(transport, group_options)
        self.reducer = Reducer(self.group, self.layout, options)
        self.steps = 0
        self.totals = dict.fromkeys(SUMMED, 0.0)
        self.hook_ms = 0.0
        self.loss_scale = 1.0
        self._number = {id(parameter): i for i, parameter in enumerate(names.values())}
        self._parameters = list(names.values())  # so that ids stay theirs
        self._nonfinite = nonfinite
        self._is_dense = values["select"] == "all"
        self._has_residual = self.reducer.residual() is not None
        self._flat: torch.Tensor | None = None
        self._cut: dict[int, tuple[tuple[int, ...], list[_Run]]] = {}
        self._under_way: list[_Bucket] = []
        self._route: _Route | None = None

    # The way of a step.

    def take(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """One bucket of this step's gradient. With the last one, all are merged."""
        began = time.perf_counter()
        if bucket.index() == 0:
            self._clear()
        taken = _Bucket(bucket.buffer(), self._runs_of(bucket), torch.futures.Future(), False)
        self._under_way.append(taken)
        if not self._can_be_read(taken):
            self._copy(taken)
        if self._overlaps:
            self._announce(bucket)
        waited = self._finish() if bucket.is_last() else 0.0
        self.hook_ms += 1e3 * (time.perf_counter() - began) - waited
        return self._under_way[-1].future

    def _clear(self) -> None:
        """A step begins."""
        self._under_way.clear()
        if self._route:
            self.reducer.clear(self._route.places)

    def _runs_of(self, bucket: dist.GradBucket) -> list[_Run]:
        """Where the bucket's entries belong; the same list as long as its parameters are the same."""
        parameters = bucket.parameters()
        key = tuple(map(id, parameters))
        known = self._cut.get(bucket.index())
        if known is None or known[0] != key:
            known = self._cut[bucket.index()] = (key, self._find_runs(parameters))
        return known[1]

    def _find_runs(self, parameters: list[torch.Tensor]) -> list[_Run]:
        runs: list[_Run] = []
        at = 0
        for parameter in parameters:
            flat, count = self.layout.offsets[self._number[id(parameter)]], parameter.numel()
            if runs and runs[-1].flat + runs[-1].count == flat:
                runs[-1].count += count
            else:
                runs.append(_Run(flat, at, count))
            at += count
        return runs

    def _can_be_read(self, taken: _Bucket) -> bool:
        """Whether the library can read the bucket where it lies."""
        is_whole = len(taken.runs) == 1 and taken.runs[0].count == self.layout.size
        return taken.is_plain and not self._overlaps and (self._has_residual or is_whole)

    def _copy(self, taken: _Bucket) -> None:
        if self._flat is None:
            self._flat = torch.empty(self.layout.size)
        for run in taken.runs:
            self._flat[run.flat:run.flat + run.count].copy_(
                taken.buffer[run.bucket:run.bucket + run.count])
        taken.is_copied = True

    def _announce(self, bucket: dist.GradBucket) -> None:
        """Let what has been copied travel."""
        if bucket.index() == 0:
            self.reducer.start(self._flat.data_ptr(), self.density.at(self.steps), 1 / self._scale())
        for parameter in bucket.parameters():
            self.reducer.ready(self._number[id(parameter)])

    def _finish(self) -> float:
        """Merge, and give the mean back to all buckets; returns the library's own time, in ms."""
        if not self._route or not self._route.fits(self._under_way):
            self._route = _Route(self._under_way, self._flat, self._is_dense)
        try:
            cost = self._merge(self._route)
        except NonFiniteError as error:
            self._poison(error)
            return 0.0
        except PeerError as error:
            raise self.group.explain(error) from None
        for taken, mean in zip(self._under_way, self._route.means):
            taken.future.set_result(mean if taken.is_plain else taken.buffer.copy_(mean))
        self.steps += 1
        for name in SUMMED:
            self.totals[name] += getattr(cost, name)
        return cost.select_ms + cost.encode_ms + cost.wait_ms

    def _scale(self) -> float:
        """By which gradients are too large for the residual."""
        return self.loss_scale if self._has_residual else 1.0

    def _merge(self, route: _Route) -> Cost:
        scale = self._scale()
        factor = scale / self.group.size
        if self._overlaps:
            return self.reducer.finish(factor, route.places).cost
        return self.reducer.step(route.pieces, self.density.at(self.steps), 1 / scale, factor,
                                 route.places).cost

    def _poison(self, error: NonFiniteError) -> None:
        """The step did not happen. Every worker's gradient becomes NaN, so that loss scalers skip it;
        and unless that is what was asked for, backward() raises once DDP has put its things away."""
        for taken in self._under_way:
            taken.buffer.fill_(float("nan"))
            taken.future.set_result(taken.buffer)
        if self._nonfinite == "raise":
            def complain(_future: torch.futures.Future) -> None:
                raise error
            self._under_way[-1].future = self._under_way[-1].future.then(complain)

    # What a user asks.

    def stats(self) -> dict[str, float]:
        """What the exchange costs this worker: the last step's figures, means over all steps, and how
        much waits in the residual. Times are in milliseconds, bytes are payload."""
        steps = max(self.steps, 1)
        last = cost_as_dict(self.reducer.merged.cost)
        found: dict[str, float] = {"steps": self.steps, "workers": self.group.size,
                                   "parameters": self.layout.size,
                                   "density": last["selected"] / self.layout.size}
        found.update(last)
        found.update({f"mean_{name}": value / steps for name, value in self.totals.items()})
        found["mean_hook_ms"] = self.hook_ms / steps
        residual = self.residual()
        found["residual_norm"] = 0.0 if residual is None else float(residual.double().norm())
        return found

    def residual(self) -> torch.Tensor | None:
        """What this worker has not sent yet, in the layout's order; None if nothing is kept. A view,
        valid until the next step."""
        address = self.reducer.residual()
        return floats_at(address, self.layout.size) if address else None

    def state_dict(self) -> dict[str, Any]:
        """This worker's state: what it has not sent, and how far it has come. Each worker has its own."""
        return state.pack("reducer", self.group, self.layout, self.steps,
                          {"reducer": bytes(self.reducer.save())})

    def load_state_dict(self, saved: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Take on this worker's own state; or, from a list of all workers' in the order of their ranks,
        regroup that of a run with another number of them."""
        states = state.unpack("reducer", saved, self.group, self.layout)
        if isinstance(saved, list):
            self.reducer.load_regrouped([each["reducer"] for each in states])
        else:
            self.reducer.load(states[0]["reducer"])
        self.steps = (saved[0] if isinstance(saved, list) else saved)["steps"]

    def close(self) -> None:
        """End. The model can take no further step in which gradients are exchanged."""
        self.reducer.close()
        self.group.close()


def _take(attached, bucket):  # DDP looks at the annotations, which must not be text
    return attached.take(bucket)


def attach(ddp: DistributedDataParallel, algo: str = "gtopk", *, density: float | None = None,
           density_warmup: int = 0, momentum: float | None = None, nonfinite: str = "raise",
           transport: str = "auto", timeout_ms: int | None = None, **options: Any) -> Attached:
    """Exchange the model's gradients by a method of Syncopate's. Collective: every process calls it.

    ddp             a DistributedDataParallel without a communication hook
    algo            ssgd, topk, gtopk or strom; methods with delays are syncopate.torch.Optimizer's
    density         share of the entries that is sent
    density_warmup  topk, gtopk: steps in which it falls from a quarter to that
    momentum        corrected momentum, kept in the residual, for an optimizer that has none;
                    by default momentum is the optimizer's own
    nonfinite       what backward() does about NaN or infinity in any worker's gradient. Either way
                    the residuals are as before. "raise": NonFiniteError's text in a RuntimeError.
                    "nan": gradients of NaN on every worker, which torch.cuda.amp.GradScaler skips
    transport       "mpi", "torch" (torch.distributed), or "auto": mpi under mpirun
    timeout_ms      how long to wait for a silent worker before the step fails and names it
    options         any other setting of the reducer, by name
    """
    if not isinstance(ddp, DistributedDataParallel):
        raise OptionError(f"attach() wants a DistributedDataParallel, not a {type(ddp).__name__}")
    if hasattr(ddp, _ATTACHED):
        raise OptionError("this model is attached already; a model takes one method")
    if nonfinite not in NONFINITE:
        raise OptionError(f'nonfinite: "{nonfinite}" is not valid; expected one of '
                          + ", ".join(NONFINITE))
    schedule = WorkerOptions(algo).as_dict()["schedule"]
    if schedule != "sync":
        raise OptionError(f"{algo} delays the weights, which a gradient hook cannot do; use "
                          f'syncopate.torch.Optimizer(model, algo="{algo}")')
    chosen = ReducerOptions(algo)
    if momentum is not None:
        options = {"residual": "corrected", "residual_momentum": momentum, **options}
    if density is not None:
        options["density"] = density
    chosen.set_all(options)
    group_options = {} if timeout_ms is None else {"timeout_ms": timeout_ms}
    attached = Attached(ddp, algo, chosen, Density(chosen, density_warmup), nonfinite, transport,
                        group_options)
    ddp.register_comm_hook(attached, _take)
    setattr(ddp, _ATTACHED, attached)
    return attached
