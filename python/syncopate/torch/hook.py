"""Gradients only: a communication hook for DistributedDataParallel.

DDP hands over its buckets one by one. Together they are one gradient, so that selection looks at the
whole model and residuals belong to parameters, whatever DDP's buckets are. With the last bucket the
library merges the gradient, in one call, and writes the mean to where DDP reads it.

The gradient is read directly from the buckets if they are float32 and the method keeps a residual.
It is copied once if it has 16 bits, if it travels during the backward pass, or if a method sends it whole
and it is in several buckets.
"""
from __future__ import annotations

import time
from typing import Any, Mapping

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ..core import SUMMED, Reducer
from ..errors import ClosedError, NonFiniteError, OptionError, PeerError
from ..library import Cost
from ..options import ReducerOptions, WorkerOptions
from . import launch, owners, state, watch, ways, wrapped
from . import policy as tensor_policy
from .calls import everyones
from .density import Density
from .flat import Stages, future_for
from .model import floats_at, layout_of, trained_parameters
from .outer import Outer, updates
from .route import Bucket, Route, Run
from .stats import stats_of

NONFINITE = ("raise", "nan")


def _raise_at_the_end(bucket: dist.GradBucket, error: Exception) -> torch.futures.Future:
    """Let backward() raise after DDP has finished with its buckets, so that the next one finds a consistent state."""
    future: torch.futures.Future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future.then(_complaint(error)) if bucket.is_last() else future


def _complaint(error: Exception) -> Any:
    def complain(_future: torch.futures.Future) -> None:
        raise error
    return complain


class Attached:
    """What attach() returns: statistics, state, and close().

    loss_scale  the factor of the loss, to be set before backward() if no scaler was passed to
                attach(). Residuals are kept without it, so that they stay right when it changes.

    After close() everything here raises ClosedError, except close() and detach().
    """

    def __init__(self, ddp: DistributedDataParallel, algo: str, options: ReducerOptions,
                 density: Density, nonfinite: str, scaler: Any, transport: str,
                 group_options: dict[str, Any], policy: Mapping[Any, Any] | None = None):
        module = ddp.module
        names = trained_parameters(module, frozenset(getattr(ddp, "parameters_to_ignore", ())),
                                   may_be_away=True)
        values = options.as_dict()
        self._overlaps = values["bucket_bytes"] > 0
        if not self._overlaps:  # in the order of a backward pass: a bucket is then one piece
            names = dict(reversed(list(names.items())))
        options.check()
        ways.check_whole(ddp)
        owners.check_free(names)
        self.options = {"algo": algo, **values}
        self.density = density
        self.layout = layout_of(names)
        tensor_policy.apply(policy, names, self.layout)
        self.group = launch.join(transport, group_options)
        self.reducer = Reducer(self.group, self.layout, options)
        self.steps = 0
        self.totals = dict.fromkeys(SUMMED, 0.0)
        self.hook_ms = 0.0
        self._scaler = scaler
        self._loss_scale: float | None = None  # not set
        self._number = {id(parameter): i for i, parameter in enumerate(names.values())}
        self._parameters = list(names.values())  # kept alive, so that their ids stay valid
        self._nonfinite = nonfinite
        self._is_dense = values["select"] == "all"
        self._has_residual = self.reducer.residual() is not None
        self._flat: torch.Tensor | None = None
        self._stages = Stages()
        self._cut: dict[int, tuple[tuple[int, ...], list[Run]]] = {}
        self._under_way: list[Bucket] = []
        self._route: Route | None = None
        self._way: ways.Way | None = None
        self._refusal: Exception | None = None
        self._has_looked = False
        self._last_step = "none"
        self._witness = watch.Witness()
        self._has_momentum = values["residual"] in ("corrected", "masked") and values["residual_momentum"] > 0
        owners.claim(names, self)

    def lead(self, way: ways.Way) -> None:
        """From now on the buckets come to this object."""
        self._way = way
        way.attached = self

    @property
    def loss_scale(self) -> float:
        """The factor by which the loss is multiplied."""
        if self._scaler is not None:
            return float(self._scaler.get_scale())
        return 1.0 if self._loss_scale is None else self._loss_scale

    @loss_scale.setter
    def loss_scale(self, scale: float) -> None:
        if self._scaler is not None:
            raise OptionError("loss_scale cannot be set, because a scaler was passed to attach()")
        self._loss_scale = float(scale)

    # The way of a step.

    def take(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """One bucket of this step's gradient. With the last one, all are merged."""
        began = time.perf_counter()
        if self.reducer.is_closed:
            return _raise_at_the_end(bucket, self._closed())
        if bucket.index() == 0:
            self._refusal = self._look_around()
        if self._refusal:
            return _raise_at_the_end(bucket, self._refusal)
        if bucket.index() == 0:
            self._clear()
        home = bucket.buffer()
        taken = Bucket(home, self._stages.near(bucket.index(), home), self._runs_of(bucket), future_for(home))
        self._under_way.append(taken)
        if not self._can_be_read(taken):
            self._copy(taken)
        if self._overlaps:
            self._announce(bucket)
        waited = self._finish() if bucket.is_last() else 0.0
        self.hook_ms += 1e3 * (time.perf_counter() - began) - waited
        return self._under_way[-1].future

    def _look_around(self) -> Exception | None:
        """What is wrong with the training loop that computed this gradient. It matters only with residuals."""
        if not self._has_residual:
            return None
        self._witness.ask()
        if self._has_looked:
            return None
        try:
            if self._scaler is None and self._loss_scale is None:
                watch.check_scalers()
        except OptionError as error:
            return error
        watch.warn_of_optimizers(self._parameters, self._has_momentum)
        self._has_looked = True
        return None

    def _clear(self) -> None:
        """A step begins."""
        self._under_way.clear()
        if self._route:
            self.reducer.clear(self._route.places)

    def _runs_of(self, bucket: dist.GradBucket) -> list[Run]:
        """Where the bucket's entries belong in the whole gradient; the same list while its parameters are the same."""
        parameters = bucket.parameters()
        key = tuple(map(id, parameters))
        known = self._cut.get(bucket.index())
        if known is None or known[0] != key:
            known = self._cut[bucket.index()] = (key, self._find_runs(parameters))
        return known[1]

    def _find_runs(self, parameters: list[torch.Tensor]) -> list[Run]:
        runs: list[Run] = []
        at = 0
        for parameter in parameters:
            flat, count = self.layout.offsets[self._number[id(parameter)]], parameter.numel()
            if runs and runs[-1].flat + runs[-1].count == flat:
                runs[-1].count += count
            else:
                runs.append(Run(flat, at, count))
            at += count
        return runs

    def _can_be_read(self, taken: Bucket) -> bool:
        """Whether the library can read the bucket in place."""
        is_whole = len(taken.runs) == 1 and taken.runs[0].count == self.layout.size
        return taken.is_plain and not self._overlaps and (self._has_residual or is_whole)

    def _copy(self, taken: Bucket) -> None:
        if self._flat is None:
            self._flat = torch.empty(self.layout.size)
        for run in taken.runs:
            self._flat[run.flat:run.flat + run.count].copy_(
                taken.buffer[run.bucket:run.bucket + run.count])
        taken.is_copied = True

    def _announce(self, bucket: dist.GradBucket) -> None:
        """Begin to send what has been copied."""
        if bucket.index() == 0:
            self.reducer.start(self._flat.data_ptr(), self.density.at(self.steps), 1 / self._scale())
        for parameter in bucket.parameters():
            self.reducer.ready(self._number[id(parameter)])

    def _finish(self) -> float:
        """Merge, and return the mean to all buckets; returns the library's own time, in ms."""
        if not self._route or not self._route.fits(self._under_way):
            self._route = Route(self._under_way, self._flat, self._is_dense)
        try:
            cost = self._merge(self._route)
        except NonFiniteError as error:
            self._last_step = "failed"
            self._witness.forget()
            self._mark_nonfinite(error)
            return 0.0
        except PeerError as error:
            raise self.group.explain(error) from None
        for taken, mean in zip(self._under_way, self._route.means):
            taken.deliver(mean)
        self._last_step = "made"
        if self._has_residual:
            self._witness.remember(self.reducer.merged, self.layout, self._parameters)
        self.steps += 1
        for name in SUMMED:
            self.totals[name] += getattr(cost, name)
        return cost.select_ms + cost.encode_ms + cost.wait_ms

    def _scale(self) -> float:
        """The factor by which gradients are larger than the residual."""
        return self.loss_scale if self._has_residual else 1.0

    def _merge(self, route: Route) -> Cost:
        scale = self._scale()
        factor = scale / self.group.workers
        if self._overlaps:
            return self.reducer.finish(factor, route.places).cost
        return self.reducer.step(route.pieces, self.density.at(self.steps), 1 / scale, factor,
                                 route.places).cost

    def _mark_nonfinite(self, error: NonFiniteError) -> None:
        """The step did not happen. Every worker's gradient becomes NaN, so that loss scalers skip it;
        and unless nonfinite is "nan", backward() raises after DDP has finished with its buckets."""
        for taken in self._under_way:
            taken.future.set_result(taken.home.fill_(float("nan")))
        if self._nonfinite == "raise":
            self._under_way[-1].future = self._under_way[-1].future.then(_complaint(error))

    # What a user asks.

    @staticmethod
    def _closed() -> ClosedError:
        return ClosedError("this model's exchange is closed and takes no further steps; call detach() to "
                           "continue with DDP's own all-reduce, or attach() to use another method")

    def _check_open(self) -> None:
        if self.reducer.is_closed:
            raise self._closed()

    def drop(self) -> None:
        """Take back the step of the last backward(), instead of calling optimizer.step(): this worker's
        residual is what it was before. All workers must drop the same steps.
        Harmless after a gradient that was not finite, which has changed nothing anyway."""
        self._check_open()
        if self._last_step == "none":
            raise OptionError("there is no step to drop: no gradient was exchanged since the last drop")
        if self._last_step == "made":
            self.reducer.drop()
        self._last_step = "none"
        self._witness.forget()

    def stats(self) -> dict[str, float]:
        """What the exchange costs this worker: the last step's figures, means over all steps, and the
        norm of the residual. Times are in milliseconds, bytes are payload."""
        self._check_open()
        return stats_of(self, self.reducer.merged.cost, mean_hook_ms=self.hook_ms / max(self.steps, 1))

    def residual(self) -> torch.Tensor | None:
        """What this worker has not sent yet, in the layout's order; None if nothing is kept. A view,
        valid until the next step or close()."""
        self._check_open()
        address = self.reducer.residual()
        return floats_at(address, self.layout.size) if address else None

    def state_dict(self) -> dict[str, Any]:
        """This worker's state: what it has not sent, and its number of steps. Each worker has its own."""
        self._check_open()
        return state.pack("reducer", self.group, self.layout, self.steps,
                          {"reducer": bytes(self.reducer.save())})

    def load_state_dict(self, saved: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Load this worker's own state; or, given a list of all workers' states in the order of their ranks,
        regroup that of a run with another number of workers."""
        self._check_open()
        states = state.unpack("reducer", saved, self.group, self.layout)
        if isinstance(saved, list):
            self.reducer.load_regrouped([each["reducer"] for each in states])
        else:
            self.reducer.load(states[0]["reducer"])
        self.steps = (saved[0] if isinstance(saved, list) else saved)["steps"]
        self._last_step = "none"
        self._witness.forget()

    def gather(self, values: list[int]) -> list[list[int]]:
        """Send these numbers to all workers, and receive theirs; all send the same count."""
        self._check_open()
        return everyones(self.group, self.reducer, torch.tensor(values)).tolist()

    def close(self) -> None:
        """Close the exchange. A backward() that would exchange gradients raises ClosedError's text from now on. The
        residual is discarded. Harmless when called twice."""
        owners.release(self)
        self.reducer.close()
        self.group.close()

    def detach(self) -> None:
        """Close, and restore DDP's dense all-reduce: training continues as if nothing had been attached.
        Every worker must call it after the same step. Harmless when called twice."""
        self.close()
        if self._way is not None and self._way.attached is self:
            self._way.attached = None


def attach(ddp: DistributedDataParallel, algo: str = "auto", *,
           optimizer: torch.optim.Optimizer | None = None, density: float | None = None,
           density_warmup: int = 0, momentum: float | None = None, nonfinite: str = "raise",
           scaler: Any = None, policy: Mapping[Any, Any] | None = None, transport: str = "auto",
           timeout_ms: int | None = None, **options: Any) -> Attached | Outer:
    """Exchange the model's gradients with a method of Syncopate. Collective: every process calls it.

    ddp             a DistributedDataParallel without a communication hook
    algo            ssgd, topk, gtopk or strom; for methods with delays use syncopate.torch.Optimizer.
                    The default is gtopk. But if the given optimizer does not work well with sparse gradients, such as
                    AdamW, the changes made by its steps are exchanged after every few steps instead of gradients:
                    attach() then returns an Outer, with every=4, which sends everything in 2 bits unless told otherwise
    optimizer       the optimizer that trains the model
    density         share of the entries that is sent, above 0; for methods that select
    density_warmup  topk, gtopk: steps in which the density falls from a quarter to that value
    momentum        corrected momentum, kept in the residual, for an optimizer that has none;
                    by default only the optimizer applies momentum
    nonfinite       what backward() does about NaN or infinity in any worker's gradient. In both cases
                    the residuals stay as before. "raise": NonFiniteError's text in a RuntimeError.
                    "nan": gradients of NaN on every worker, which torch.cuda.amp.GradScaler skips
    scaler          the torch.amp.GradScaler that multiplies the loss, if there is one: residuals are
                    kept without its scale
    policy          how single tensors take part, by parameter, name or pattern of names: "dense" always sends all
                    of its entries, a number that share of them.
                    {"*.bias": "dense", "head.weight": 0.05}
    transport       "mpi", "torch" (torch.distributed), or "auto": mpi under mpirun
    timeout_ms      how long to wait for a silent worker before the step fails with an error that names it
    options         any other setting of the reducer, by name
    """
    wrapped.check_ddp(ddp)
    if algo == "auto" and optimizer is not None and not watch.suits_sparse(optimizer):
        return updates(ddp, optimizer, density, {
            "density_warmup": density_warmup, "scaler": scaler, "policy": policy, "transport": transport, "timeout_ms": timeout_ms,
            **({} if momentum is None else {"residual_momentum": momentum}), **options})
    algo = "gtopk" if algo == "auto" else algo
    known = ways.of(ddp)
    if known is not None and known.attached is not None and not known.attached.reducer.is_closed:
        raise OptionError("this model is attached already; a model can have only one method: close() or "
                          "detach() the first one")
    if nonfinite not in NONFINITE:
        raise OptionError(f'nonfinite: "{nonfinite}" is not valid; expected one of '
                          + ", ".join(NONFINITE))
    if scaler is not None and not callable(getattr(scaler, "get_scale", None)):
        raise OptionError(f"scaler: {scaler!r} is not valid; expected a torch.amp.GradScaler")
    if WorkerOptions(algo).as_dict()["schedule"] != "sync":
        raise OptionError(f"{algo} delays the weights, which a gradient hook cannot do; use "
                          f'syncopate.torch.Optimizer(model, algo="{algo}")')
    chosen = ReducerOptions(algo)
    if momentum is not None:
        options = {"residual": "corrected", "residual_momentum": momentum, **options}
    chosen.set_all(options)
    group_options = {} if timeout_ms is None else {"timeout_ms": timeout_ms}
    schedule = Density(chosen, density, density_warmup)
    way = ways.make(ddp)  # leads to DDP's own all-reduce until this succeeds
    attached = Attached(ddp, algo, chosen, schedule, nonfinite, scaler, transport, group_options, policy)
    attached.lead(way)
    return attached
