"""Weights: an optimizer whose steps the library makes, for methods that delay the weights.

The model's float32 parameters and their gradients become views of two flat arrays, so that a step
hands over the gradient and gets the next weights without a copy. 16-bit parameters keep their own
memory; their weights are kept in float32 and rounded after each step.
"""
from __future__ import annotations

import numbers
from typing import Any, Callable, Mapping, Sequence

import torch

from ..core import SUMMED, Worker, cost_as_dict, serve
from ..errors import ClosedError, NonFiniteError, OptionError, StateError
from ..options import WorkerOptions
from . import groups as parameter_groups
from . import launch, owners, state, wrapped
from . import policy as tensor_policy
from .calls import everyones, explained
from .density import Density
from .model import floats_at, layout_of, trained_parameters
from .statistics import Statistics
from .stats import stats_of


class Settled:
    """A context in which the model holds the global weights; afterwards it holds this worker's own again."""

    def __init__(self, optimizer: "Optimizer"):
        self._optimizer = optimizer

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_error: object) -> None:
        self._optimizer.resume()


class Optimizer(torch.optim.Optimizer):
    """SGD, AdamW or LAMB over all workers, with any of Syncopate's methods. Collective: every process creates one, with
    the same model in the same state.

    model           a module, not wrapped in DistributedDataParallel
    algo            any method; only this class has od-sgd and ssd-sgd
    lr              learning rate; schedulers may change it in param_groups, and also any other field if no
                    step is under way meanwhile (not with od-sgd, ssd-sgd or servers)
    groups          as for PyTorch's optimizers, each with its own lr and weight_decay if needed:
                    [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]. Default: one group
    density         share of the entries that is sent, for methods that select
    density_warmup  topk: steps in which the density falls from a quarter to that value
    policy          how single tensors take part, by parameter, name or pattern of names: "dense" always sends all
                    of its entries, a number that share of them, "frozen" leaves it as it is.
                    {"*.bias": "dense", "head.weight": 0.05}
    servers         how many of the processes, the last ones, are parameter servers; asgd needs at
                    least one. On a server, the constructor returns when all workers have closed, and
                    is_server is true: nothing is left to do
    transport       "mpi", "torch" (torch.distributed), or "auto": mpi under mpirun
    timeout_ms      how long to wait for a silent worker before a step fails with an error that names it
    options         any other setting of worker, reducer and optimizer, by name: momentum,
                    weight_decay, nesterov, delay, warmup, optimizer_local, select, exchange ...

    After close() every call that needs the library raises ClosedError.
    """

    def __init__(self, model: torch.nn.Module, algo: str = "ssd-sgd", *, lr: float,
                 groups: Sequence[dict[str, Any]] | None = None,
                 density: float | None = None, density_warmup: int = 0,
                 policy: Mapping[Any, Any] | None = None, servers: int = 0,
                 transport: str = "auto", timeout_ms: int | None = None, **options: Any):
        wrapped.check_module(model)
        if not isinstance(lr, numbers.Real) or not lr > 0:
            raise OptionError(f"lr: {lr} is not valid; expected a number above 0")
        chosen = WorkerOptions(algo)
        chosen.set_all(options)
        self.density = Density(chosen, density, density_warmup)
        chosen.check(servers)
        self.options = {"algo": algo, "lr": lr, **chosen.as_dict()}
        names = trained_parameters(model)
        owners.check_free(names)
        self.layout = layout_of(names)
        tensor_policy.apply(policy, names, self.layout, may_freeze=True)
        self._statistics = Statistics(model)
        self._parameters = list(names.values())
        fields = parameter_groups.fields_of(self.options)
        self._has_groups = False
        super().__init__(parameter_groups.of_model(names, groups, fields), {"lr": lr, **fields})
        self._has_groups = True
        self._tuner = parameter_groups.Tuner(self.param_groups, self._parameters, self.layout, chosen)
        self._flatten()
        self.group = launch.join(transport, {} if timeout_ms is None else {"timeout_ms": timeout_ms})
        if servers:
            self.group.appoint(servers)
        self._worker: Worker | None = None
        self._own: tuple[torch.Tensor, list[torch.Tensor]] | None = None
        self.is_server = self.group.is_server
        if self.is_server:
            explained(self.group, serve, self.group, self.layout, chosen, self._weights.data_ptr())
            self.group.close()
            return
        self._worker = explained(self.group, Worker, self.group, self.layout, chosen, self._weights.data_ptr())
        self._tuner.check(self._worker)
        owners.claim(names, self)

    @property
    def worker(self) -> Worker:
        """The library's worker. ClosedError if it no longer exists."""
        if self._worker is None:
            raise ClosedError("this process was a parameter server, and all workers have closed")
        if self._worker.is_closed:
            raise ClosedError("this optimizer is closed and makes no further steps; create another one")
        return self._worker

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Refused: all groups must be given to the constructor."""
        if self._has_groups:
            raise OptionError("parameters cannot be added later; pass all of them to the constructor: "
                              "Optimizer(model, ..., groups=[...])")
        super().add_param_group(param_group)

    def _flatten(self) -> None:
        self._weights = torch.empty(self.layout.size)
        self._gradient = torch.zeros(self.layout.size)
        counts = self.layout.counts
        shapes = [parameter.shape for parameter in self._parameters]
        self._weight_views = [view.view(shape)
                              for view, shape in zip(self._weights.split(counts), shapes)]
        self._gradient_views = [view.view(shape)
                                for view, shape in zip(self._gradient.split(counts), shapes)]
        for parameter, view in zip(self._parameters, self._weight_views):
            view.copy_(parameter.data)
            if parameter.dtype == torch.float32:
                parameter.data = view

    @torch.no_grad()
    def zero_grad(self, set_to_none: bool = False) -> None:
        """Begin a new gradient. Its memory is kept, whatever set_to_none is."""
        self._gradient.zero_()
        for parameter, view in zip(self._parameters, self._gradient_views):
            if parameter.dtype == torch.float32:
                parameter.grad = view
            elif parameter.grad is not None:
                parameter.grad.zero_()

    def _collect(self) -> None:
        """Copy gradients that are elsewhere into the flat array."""
        for parameter, view in zip(self._parameters, self._gradient_views):
            if parameter.grad is None:
                view.zero_()
            elif parameter.grad.is_sparse:
                raise OptionError("a gradient is sparse; build its module with sparse=False")
            elif parameter.grad.data_ptr() != view.data_ptr():
                view.copy_(parameter.grad)

    def _spread(self) -> None:
        """Copy the weights to parameters that have their own memory."""
        for parameter, view in zip(self._parameters, self._weight_views):
            if parameter.data_ptr() != view.data_ptr():
                parameter.data.copy_(view)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Hand over the gradient, get the weights for the next one.

        NonFiniteError if any worker's gradient is not finite: on all workers in the same call, and training
        may continue with the next step. The step did not happen; with a delay, neither did those since the bad one,
        and the model holds the global weights. With servers the error is final.
        """
        worker = self.worker
        if self._own is not None:
            raise OptionError("the model holds the global weights; call resume() before the next "
                              "gradient is computed, or use: with optimizer.settle(): ...")
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._collect()
        lr = self._tuner.follow(self.param_groups, worker)
        try:
            explained(self.group, worker.step, self._gradient.data_ptr(), lr, self.density.at(self.steps),
                      self._weights.data_ptr())
        finally:
            self._spread()
        return loss

    @property
    def steps(self) -> int:
        """The number of steps made."""
        return self.worker.steps()

    # Evaluation.

    def _fetch(self) -> None:
        """Get the global weights, even if a step under way turns out not to be finite."""
        try:
            explained(self.group, self.worker.settle, self._weights.data_ptr())
        finally:
            self._spread()

    @torch.no_grad()
    def settle(self) -> Settled:
        """Wait for all that is under way and put the global weights into the model, with running
        statistics (of batch normalisation) averaged over the workers. Collective. NonFiniteError as in
        step(), for a step that was under way; settling again succeeds.

            with optimizer.settle():
                evaluate(model)          # afterwards training continues as if nothing had happened

            optimizer.settle()           # at the end, for the trained model
        """
        own = (self._weights.clone(), self._statistics.own())
        self._fetch()
        self._statistics.average(self._everyones)
        self._own = self._own or own
        return Settled(self)

    @torch.no_grad()
    def resume(self) -> None:
        """Put this worker's own weights back after settle()."""
        if self._own is None:
            return
        self._weights.copy_(self._own[0])
        self._statistics.put_back(self._own[1])
        self._own = None
        self._spread()

    def _everyones(self, mine: torch.Tensor) -> torch.Tensor:
        return everyones(self.group, self.worker, mine)

    # Insight and state.

    def stats(self) -> dict[str, float]:
        """What the exchange costs this worker: the last step's figures, and means over all steps. Times are
        in milliseconds, bytes are payload."""
        return stats_of(self, self.worker.last_cost())

    @property
    def totals(self) -> dict[str, float]:
        """What all steps cost this worker."""
        spent = cost_as_dict(self.worker.total_cost())
        return {name: spent[name] for name in SUMMED}

    def residual(self) -> torch.Tensor | None:
        """What this worker has not sent yet, in the layout's order; None if nothing is kept. With a
        delay, what is under way counts as sent. A view, valid until the next step or
        close()."""
        address = self.worker.residual()
        return floats_at(address, self.layout.size) if address else None

    def state_dict(self) -> dict[str, Any]:
        """This worker's state: weights, what it has not sent, momentum, snapshots. It settles, so all
        workers must call it. Each has its own."""
        self.resume()
        own = self._weights.clone()
        try:
            sections = explained(self.group, self.worker.save)
        except NonFiniteError:
            self._fetch()
            raise
        packed = state.pack("worker", self.group, self.layout, self.steps, sections)
        packed["weights"] = own
        packed["groups"] = [{name: value for name, value in group.items() if name != "params"}
                            for group in self.param_groups]
        return packed

    @torch.no_grad()
    def load_state_dict(self, saved: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Load this worker's own state, before the first step; or, given a list of all workers' states in
        the order of their ranks, regroup that of a run with another number of workers."""
        states = state.unpack("worker", saved, self.group, self.layout)
        first = saved[0] if isinstance(saved, list) else saved
        groups = parameter_groups.saved_in(first)
        if len(groups) != len(self.param_groups):
            raise StateError(f"the state is that of an optimizer with {len(groups)} parameter groups; "
                             f"expected {len(self.param_groups)}")
        if isinstance(saved, list):
            explained(self.group, self.worker.load_regrouped, states)
            self._fetch()
        else:
            explained(self.group, self.worker.load, states[0])
            self._weights.copy_(saved["weights"])
        self._own = None
        for group, fields in zip(self.param_groups, groups):
            group.update(fields)
        self._spread()

    def gather(self, values: list[int]) -> list[list[int]]:
        """Send these numbers to all workers, and receive theirs; all send the same count."""
        return self._everyones(torch.tensor(values)).tolist()

    def close(self) -> None:
        """Close. No further steps can be made; the model keeps its weights. Harmless when called twice."""
        owners.release(self)
        if self._worker is not None:
            self._worker.close()
        self.group.close()
