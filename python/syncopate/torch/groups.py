"""param_groups in the library's form: one learning rate, settings of the optimizer that are the same for all
tensors, and for every tensor its multiples of learning rate and weight decay.

Schedulers may change any field between two steps. Changes are passed on before the next step if the method
allows it (syn_worker_tune); otherwise the step is refused with the reason.
"""
from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import torch

from ..core import Layout, Worker
from ..errors import OptionError, StateError
from ..options import WorkerOptions

LEAST_LR = 1e-12  # schedules may end at zero; the library needs a rate above zero


class Tuning(NamedTuple):
    """The settings of a step besides its learning rate."""

    settings: dict[str, Any]                # by the library's names
    rates: list[tuple[float, float]]        # of each tensor: multiples of learning rate and weight decay


def fields_of(options: dict[str, Any]) -> dict[str, Any]:
    """The fields of a parameter group besides its learning rate, by PyTorch's names."""
    if options["optimizer"] in ("adamw", "lamb"):
        return {"betas": (options["beta1"], options["beta2"]), "eps": options["eps"],
                "weight_decay": options["weight_decay"]}
    return {name: options[name] for name in ("momentum", "weight_decay", "nesterov")}


def of_model(names: dict[str, torch.nn.Parameter], groups: Sequence[dict[str, Any]] | None,
             fields: dict[str, Any]) -> list[dict[str, Any]]:
    """The groups to create an optimizer with; OptionError unless each trained parameter is in exactly one of them, and
    all fields are known."""
    if groups is None:
        return [{"params": list(names.values())}]
    made = [{**group, "params": _listed(group)} for group in groups]
    for group in made:
        unknown = set(group) - {"params", "lr", *fields}
        if unknown:
            raise OptionError(f'groups: no field "{min(unknown)}"; expected params, lr, {", ".join(fields)}')
    found = [id(each) for group in made for each in group["params"]]
    for name, parameter in names.items():
        if found.count(id(parameter)) != 1:
            raise OptionError(f'groups: parameter "{name}" is in {found.count(id(parameter))} of them; expected 1')
    known = set(map(id, names.values()))
    for group in made:  # parameters that need no gradient are left out
        group["params"] = [each for each in group["params"] if id(each) in known]
    return [group for group in made if group["params"]]


def _listed(group: dict[str, Any]) -> list[torch.nn.Parameter]:
    try:
        params = group["params"]
    except (KeyError, TypeError):
        raise OptionError(f"groups: {group!r} is not valid; expected a dictionary with params") from None
    return [params] if isinstance(params, torch.Tensor) else list(params)


def _common(groups: list[dict[str, Any]], name: str) -> Any:
    for group in groups[1:]:
        if group[name] != groups[0][name]:
            raise OptionError(f"{name} is {groups[0][name]} in one group and {group[name]} in another; lr and "
                              "weight_decay may differ between groups")
    return groups[0][name]


def rate_of(groups: list[dict[str, Any]]) -> float:
    """The largest learning rate, of which all others are multiples."""
    return max(LEAST_LR, *(float(group["lr"]) for group in groups))


def tuning_of(groups: list[dict[str, Any]], parameters: list[torch.nn.Parameter]) -> Tuning:
    """The settings and rates of these groups."""
    settings: dict[str, Any] = {}
    for name in groups[0]:
        if name == "betas":
            settings["beta1"], settings["beta2"] = _common(groups, name)
        elif name in ("eps", "momentum", "nesterov"):
            settings[name] = _common(groups, name)
    decay = settings["weight_decay"] = max(float(group["weight_decay"]) for group in groups)
    top = rate_of(groups)
    rates = {}
    for group in groups:
        rate = (float(group["lr"]) / top if len(groups) > 1 else 1.0,
                float(group["weight_decay"]) / decay if decay else 1.0)
        rates.update((id(each), rate) for each in group["params"])
    return Tuning(settings, [rates[id(each)] for each in parameters])


class Tuner:
    """Keeps the library's settings in line with the groups."""

    def __init__(self, groups: list[dict[str, Any]], parameters: list[torch.nn.Parameter], layout: Layout,
                 options: WorkerOptions):
        self._parameters, self._layout, self._options = parameters, layout, options
        self._now = tuning_of(groups, parameters)
        self._write(self._now)

    def _write(self, tuning: Tuning) -> None:
        self._options.set_all(tuning.settings)
        for number, rate in enumerate(tuning.rates):
            self._layout.rate(number, *rate)

    def check(self, worker: Worker) -> None:
        """OptionError if tensors have different rates and the method cannot use them everywhere."""
        if len(set(self._now.rates)) > 1:
            worker.tune(self._options, self._layout)

    def follow(self, groups: list[dict[str, Any]], worker: Worker) -> float:
        """Pass on what has changed since the last step; returns the learning rate of the next."""
        wanted = tuning_of(groups, self._parameters)
        if wanted != self._now:
            self._change(wanted, worker)
        return rate_of(groups)

    def _change(self, wanted: Tuning, worker: Worker) -> None:
        before = self._now
        try:
            self._write(wanted)
            worker.tune(self._options, self._layout)
        except OptionError as error:
            self._write(before)
            raise OptionError(f"{_difference(before, wanted)} after {worker.steps()} steps: {error}; OneCycleLR and "
                              "CyclicLR leave momentum alone with cycle_momentum=False") from None
        self._now = wanted


def _difference(before: Tuning, wanted: Tuning) -> str:
    for name, value in wanted.settings.items():
        if value != before.settings[name]:
            return f"{name} was changed from {before.settings[name]} to {value}"
    return "the learning rate or weight decay of one group was changed relative to the others"


def saved_in(saved: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of each group in a saved state. Version 0.1 saved one learning rate instead."""
    if isinstance(saved.get("groups"), list):
        return saved["groups"]
    if isinstance(saved.get("lr"), float):
        return [{"lr": saved["lr"]}]
    raise StateError("the state has neither parameter groups nor a learning rate")
