"""Notifications of an optimizer's steps, and of those that it skipped.

PyTorch 2.x has hooks for that; in 1.13 step() is wrapped. A GradScaler that finds infinity does not
call step() at all: a worker that must make as many steps as the others has to count that one, too.
"""
from __future__ import annotations

import functools
import types
from typing import Any, Callable

import torch


class _Wrapped:
    """Wraps a method of one object, with callbacks when it begins and when it has ended."""

    def __init__(self, owner: Any, name: str, after: Callable[[], None],
                 begins: Callable[[], None] = lambda: None):
        self._owner, self._name = owner, name
        self._before = owner.__dict__.get(name)
        self._after: Callable[[], None] | None = after
        original = getattr(owner, name)

        @functools.wraps(original)
        def told(_self: Any, *arguments: Any, **named: Any) -> Any:
            if self._after is not None:
                begins()
            result = original(*arguments, **named)
            if self._after is not None:
                self._after()
            return result
        self._told = types.MethodType(told, owner)  # schedulers need a method, because they wrap it themselves
        setattr(owner, name, self._told)

    def remove(self) -> None:
        """Stop the callbacks, and restore the method unless it has been wrapped again since."""
        self._after = None
        if self._owner.__dict__.get(self._name) is not self._told:
            return
        if self._before is None:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._before)


class Stretch:
    """Multiplies an optimizer's learning rates while it makes a step, and at no other time: schedulers and users
    see the rates that they have set."""

    def __init__(self, optimizer: torch.optim.Optimizer, factor: float):
        self._optimizer, self._factor = optimizer, factor
        self._own: list[Any] = []

    def begin(self) -> None:
        """A step begins."""
        self.end()  # in case the last step raised
        if self._factor != 1:
            self._own = [group["lr"] for group in self._optimizer.param_groups]
            for group in self._optimizer.param_groups:
                group["lr"] = group["lr"] * self._factor

    def end(self) -> None:
        """The step has ended."""
        for group, own in zip(self._optimizer.param_groups, self._own):
            group["lr"] = own
        self._own = []


class Steps:
    """Calls after_step() when the optimizer has made a step, and after_skip() when the scaler has skipped one.

    factor  by which learning rates are multiplied in a step

    zeroed  number of calls of zero_grad() so far: a loop that skips a step has still begun it
    """

    def __init__(self, optimizer: torch.optim.Optimizer, scaler: Any, after_step: Callable[[], None],
                 after_skip: Callable[[], None], factor: float = 1.0):
        self.zeroed = 0
        self._made = 0
        self._seen = 0
        self._after_step, self._after_skip = after_step, after_skip
        self._stretch = Stretch(optimizer, factor)
        if hasattr(optimizer, "register_step_post_hook"):
            self._hooks: list[Any] = [optimizer.register_step_pre_hook(lambda *_: self._stretch.begin()),
                                      optimizer.register_step_post_hook(lambda *_: self._made_one())]
        else:
            self._hooks = [_Wrapped(optimizer, "step", self._made_one, self._stretch.begin)]
        self._hooks.append(_Wrapped(optimizer, "zero_grad", self._zeroed_one))
        if scaler is not None:
            self._hooks.append(_Wrapped(scaler, "update", self._updated))

    def _made_one(self) -> None:
        self._stretch.end()
        self._made += 1
        self._after_step()

    def _zeroed_one(self) -> None:
        self.zeroed += 1

    def _updated(self) -> None:
        """The scaler has ended a step: it was made, or it was skipped."""
        if self._made == self._seen:
            self._after_skip()
        self._seen = self._made

    def remove(self) -> None:
        """Stop all notifications."""
        self._stretch.end()
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
