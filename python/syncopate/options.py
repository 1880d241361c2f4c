"""Options by name. The library's tables of settings define which options exist, which values they may have and
what can be combined; nothing of that is repeated here."""
from __future__ import annotations

import ctypes
import difflib
import json
from typing import Any, Mapping

from .errors import OptionError
from .library import C, Table, table


def recipes() -> dict[str, str]:
    """Every method and what it does."""
    found = {}
    while (name := C.syn_recipe_name(len(found))) is not None:
        found[name.decode()] = C.syn_recipe_help(len(found)).decode()
    return found


def _encoded(algo: Any) -> bytes:
    """The name of a method, in the form that the library expects."""
    if not isinstance(algo, str):
        raise OptionError(f"algo: {algo!r} is not valid; expected one of {', '.join(recipes())}")
    return algo.encode()


def _typed(value: Any) -> bytes:
    """A value as it would be typed on the command line."""
    if isinstance(value, bool):
        return b"on" if value else b"off"
    return str(value).encode()


class Options:
    """A struct of options and the tables that describe its parts."""

    def __init__(self, size: int, parts: Mapping[str, int]):
        self._bytes = ctypes.create_string_buffer(size)
        self.address = ctypes.addressof(self._bytes)
        self._parts: list[tuple[Table, int]] = [(table(name), self.address + offset)
                                                for name, offset in parts.items()]

    def names(self) -> list[str]:
        """The names of all options."""
        return sorted(tables.rows[i].name.decode() for tables, _ in self._parts
                      for i in range(tables.count))

    def set(self, name: str, value: Any) -> None:
        """Set one option; the OptionError names what was expected, or which options exist."""
        for tables, address in self._parts:
            if C.syn_settings_has(tables, name.encode()):
                C.syn_settings_set(tables, address, name.encode(), _typed(value))
                return
        near = difflib.get_close_matches(name, self.names(), 1)
        hint = f"; did you mean {near[0]}?" if near else "."
        raise OptionError(f'no option "{name}"{hint} Options are: {", ".join(self.names())}')

    def set_all(self, values: Mapping[str, Any]) -> None:
        """Set options in the order given."""
        for name, value in values.items():
            self.set(name, value)

    def as_dict(self) -> dict[str, Any]:
        """Every option's value."""
        values: dict[str, Any] = {}
        for tables, address in self._parts:
            length = C.syn_settings_json(tables, address, None, 0)
            text = ctypes.create_string_buffer(length + 1)
            C.syn_settings_json(tables, address, text, length + 1)
            values.update(json.loads(text.value))
        return values


class ReducerOptions(Options):
    """Options for opening a reducer: gradients only."""

    def __init__(self, algo: str = "ssgd"):
        super().__init__(C.syn_bridge_sizes().reducer_options, {"syn_reducer_settings": 0})
        C.syn_reducer_defaults(self.address)
        C.syn_recipe_apply(_encoded(algo), self.address)

    def check(self) -> None:
        """OptionError with the reason if these cannot be combined."""
        C.syn_reducer_check(self.address)


class WorkerOptions(Options):
    """Options for opening a worker: schedule, optimizers and reducer."""

    def __init__(self, algo: str = "ssgd"):
        sizes = C.syn_bridge_sizes()
        super().__init__(sizes.worker_options, {"syn_worker_settings": 0,
                                                "syn_reducer_settings": sizes.worker_reducer,
                                                "syn_optimizer_settings": sizes.worker_optimizer})
        self.optimizer_address = self.address + sizes.worker_optimizer
        C.syn_worker_defaults(self.address)
        C.syn_recipe_apply_worker(_encoded(algo), self.address)

    def check(self, servers: int = 0) -> None:
        """OptionError with the reason if these cannot be combined in a group with this number of servers."""
        C.syn_worker_check_servers(self.address, servers)


class GroupOptions(Options):
    """Options for opening a group."""

    def __init__(self) -> None:
        super().__init__(C.syn_bridge_sizes().group_options, {"syn_group_settings": 0})
        C.syn_settings_defaults(table("syn_group_settings"), self.address)
