"""The files of a run, as `syncopate train` writes them, so that `syncopate report` can draw it too:
settings.json at the beginning, lines of metrics.jsonl during the run, summary.json at the end."""
from __future__ import annotations

import json
import math
import os
import time
from typing import Any, Callable

from ..errors import OptionError
from .hook import Attached
from .model import norm
from .optimizer import Optimizer
from .outer import Outer

NAMES = ("summary.json", "metrics.jsonl", "settings.json")


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN and no infinity: they become null."""
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in values.items()}


def _teller(also: Any) -> Callable[[dict[str, Any], int], None] | None:
    """A function that passes a line to a writer: to TensorBoard's value by value, to W&B's all at once."""
    if also is None:
        return None
    if callable(getattr(also, "add_scalar", None)):
        return lambda values, step: [also.add_scalar(name, value, step) for name, value in values.items()]
    if callable(getattr(also, "log", None)):
        return lambda values, step: also.log(values, step=step)
    raise OptionError(f"also: a {type(also).__name__} is not valid; expected a writer with add_scalar(name, value, "
                      "step), like TensorBoard's, or log(values, step=step), like a W&B run")


class Metrics:
    """Writes the files of one run. Create it on every worker; the first one writes.

    directory        created if it does not exist; must not contain a run already
    source           what attach() returned, an Optimizer or an Outer: where the costs come from
    steps_per_epoch  for this worker's share of the data
    log_every        steps between two lines
    unit             what examples are: "images" or "words"
    also             a TensorBoard writer (SummaryWriter) or a W&B run, which gets every line's finite
                     numbers as well, on the first worker; the caller closes it
    settings         further contents of settings.json and summary.json: model, data, batch, lr ...
    """

    def __init__(self, directory: str, source: Attached | Optimizer | Outer, *, steps_per_epoch: int,
                 log_every: int = 20, unit: str = "images", also: Any = None, **settings: Any):
        self._source = source
        self._tell = _teller(also)
        self._steps_per_epoch = steps_per_epoch
        self._log_every = log_every
        self._speed = f"{unit}_per_s"
        self._is_text = unit == "words"
        self._settings = {**source.options, "workers": source.group.workers, "engine": "pytorch",
                          **settings}
        self._directory = directory
        self._began = self._last = time.perf_counter()
        self._sums: dict[str, float] = {}
        self._total_busy = 0.0
        self._total_examples = 0
        self._before = dict(source.totals)
        self._evaluated: dict[str, Any] = {}
        self._loss = math.nan
        self._file = self._open() if source.group.rank == 0 else None

    def _open(self):
        os.makedirs(self._directory, exist_ok=True)
        for name in NAMES:
            if os.path.exists(os.path.join(self._directory, name)):
                raise OptionError(f'directory "{self._directory}" contains a run already ({name}); '
                                  "choose another")
        self._write("settings.json", self._settings)
        return open(os.path.join(self._directory, "metrics.jsonl"), "w", encoding="utf-8")

    def _write(self, name: str, values: dict[str, Any]) -> None:
        path = os.path.join(self._directory, name)
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(json.dumps(_finite(values)) + "\n")
        os.replace(path + ".part", path)

    def _line(self, values: dict[str, Any]) -> None:
        if not self._file:
            return
        step = self._source.steps
        place = {"step": step, "epoch": step / self._steps_per_epoch,
                 "seconds": time.perf_counter() - self._began}
        self._file.write(json.dumps(_finite({**place, **values})) + "\n")
        self._file.flush()
        if self._tell:
            self._tell({name: value for name, value in values.items()
                        if isinstance(value, (int, float)) and math.isfinite(value)}, step)

    def step(self, loss: float, examples: int, lr: float, accuracy: float = math.nan) -> None:
        """Record a training step of this worker that has ended. Its time counts from the last call."""
        now = time.perf_counter()
        for name, value in (("steps", 1), ("loss", loss), ("accuracy", accuracy),
                            ("examples", examples), ("seconds", now - self._last)):
            self._sums[name] = self._sums.get(name, 0.0) + value
        self._total_busy += now - self._last
        self._total_examples += examples
        self._last = now
        if self._sums["steps"] >= self._log_every:
            self._log(lr)

    def _log(self, lr: float) -> None:
        sums, self._sums = self._sums, {}
        steps, workers = sums["steps"], self._source.group.workers
        totals = dict(self._source.totals)
        spent = {name: (totals[name] - self._before[name]) / steps for name in totals}
        self._before = totals
        self._loss = sums["loss"] / steps
        values = {"loss": self._loss, "accuracy": sums["accuracy"] / steps, "lr": lr,
                  self._speed: sums["examples"] * workers / sums["seconds"],
                  "step_ms": 1e3 * sums["seconds"] / steps}
        for name in ("select_ms", "encode_ms", "exchange_ms", "wait_ms", "bytes_out", "bytes_in"):
            values[name] = spent[name]
        values["entries"] = spent["selected"]
        values["density"] = spent["selected"] / self._source.layout.size
        residual = self._source.residual()
        if residual is not None:
            values["threshold"] = self._source.stats()["threshold"]
            values["residual_norm"] = norm(residual)
        self._line(values)

    def evaluated(self, test_loss: float, test_accuracy: float = math.nan) -> None:
        """Record an evaluation. The time since the last step does not count as training time."""
        self._evaluated = {"test_loss": test_loss, **(
            {"test_perplexity": math.exp(test_loss)} if self._is_text
            else {"test_accuracy": test_accuracy})}
        self._line(self._evaluated)
        self._last = time.perf_counter()

    def finish(self) -> dict[str, Any]:
        """End the run; returns the summary, which the first worker writes."""
        source = self._source
        steps, workers = max(source.steps, 1), source.group.workers
        bytes_out = source.totals["bytes_out"] / steps
        dense = 2 * (workers - 1) / workers * 4 * source.layout.size  # bytes of a ring
        summary = {**{name: self._settings.get(name) for name in ("algo", "model", "data")},
                   "params": source.layout.size, "workers": workers,
                   "batch": self._settings.get("batch"), "steps": source.steps,
                   "epochs": source.steps / self._steps_per_epoch,
                   "seconds": time.perf_counter() - self._began,
                   "ms_per_step": 1e3 * self._total_busy / steps,
                   self._speed: self._total_examples * workers / max(self._total_busy, 1e-9),
                   "train_loss": self._loss, **self._evaluated,
                   "bytes_out_per_step": bytes_out,
                   "bytes_in_per_step": source.totals["bytes_in"] / steps,
                   "ratio_to_dense": dense / bytes_out if bytes_out else math.nan,
                   "engine": "pytorch", "stopped": False, "out": self._directory}
        if self._file:
            self._file.close()
            self._file = None
            self._write("summary.json", summary)
        return summary
