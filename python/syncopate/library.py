"""The C library, loaded once, with the types of its functions.

It uses ctypes rather than a compiled extension: nothing here depends on the version of Python or PyTorch, and
every call that may block releases the interpreter's lock. Of structs that the library fills by name
(options), only the size is known here, so that a new setting needs no change in Python.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_double, c_float, c_int, c_size_t,
                    c_uint64, c_void_p)

from . import errors

NAME = "libsyncopate-python.so"


class Sizes(Structure):
    """struct syn_bridge_sizes."""

    _fields_ = [(name, c_size_t) for name in ("group_options", "reducer_options", "worker_options",
                                              "worker_reducer", "worker_optimizer", "merged")]


class Setting(Structure):
    """struct syn_setting."""

    _fields_ = [("name", c_char_p), ("kind", c_int), ("may_differ", c_bool), ("offset", c_size_t),
                ("initial", c_char_p), ("minimum", c_double), ("maximum", c_double), ("choices", c_void_p),
                ("help", c_char_p)]


class Table(Structure):
    """struct syn_settings_table."""

    _fields_ = [("title", c_char_p), ("rows", POINTER(Setting)), ("count", c_size_t)]


class Step(Structure):
    """struct syn_step."""

    _fields_ = [("density", c_double), ("scale", c_float), ("values", c_char_p)]


class Ticket(Structure):
    """struct syn_ticket."""

    _fields_ = [("number", c_uint64)]


class Cost(Structure):
    """struct syn_cost."""

    _fields_ = [("bytes_out", c_uint64), ("bytes_in", c_uint64), ("selected", c_uint64),
                ("taken_back", c_uint64), ("select_ms", c_double), ("encode_ms", c_double),
                ("exchange_ms", c_double), ("wait_ms", c_double), ("threshold", c_double),
                ("answers", c_uint64), ("staleness", c_double), ("staleness_most", c_uint64),
                ("forgotten", c_double), ("forgotten_mass", c_double)]


class Merged(Structure):
    """struct syn_merged."""

    _fields_ = [("dense", c_void_p), ("index", c_void_p), ("value", c_void_p), ("count", c_size_t),
                ("cost", Cost)]


class Rates(Structure):
    """struct syn_rates."""

    _fields_ = [("lr", c_double), ("density", c_double), ("values", c_char_p)]


class TensorRates(Structure):
    """struct syn_tensor_rates."""

    _fields_ = [("lr", c_double), ("weight_decay", c_double)]


class TensorPolicy(Structure):
    """struct syn_tensor_policy."""

    _fields_ = [("is_dense", c_bool), ("is_frozen", c_bool), ("density", c_double)]


class Section(Structure):
    """struct syn_section."""

    _fields_ = [("name", c_char_p), ("bytes", c_void_p), ("count", c_size_t)]


class Piece(Structure):
    """struct syn_piece."""

    _fields_ = [("floats", c_void_p), ("count", c_size_t)]


class Place(Structure):
    """struct syn_bridge_place."""

    _fields_ = [("first", c_size_t), ("count", c_size_t), ("into", c_void_p)]


POST = CFUNCTYPE(c_int, c_size_t, c_void_p, c_void_p, c_size_t)  # syn_bridge_post

# Functions that return a status, by name, with the types of their arguments.
STATUS_CALLS = {
    "syn_layout_new": [POINTER(c_void_p)],
    "syn_layout_add": [c_void_p, c_char_p, c_size_t],
    "syn_layout_rate": [c_void_p, c_size_t, TensorRates],
    "syn_layout_set_policy": [c_void_p, c_size_t, TensorPolicy],
    "syn_group_open_mpi": [c_void_p, c_void_p, POINTER(c_void_p)],
    "syn_group_open_threads": [c_size_t, c_void_p, POINTER(c_void_p)],
    "syn_bridge_join": [c_void_p, c_size_t, c_void_p, POINTER(c_void_p)],
    "syn_bridge_step": [c_void_p, POINTER(Piece), c_size_t, POINTER(Step), c_float, POINTER(Place),
                        c_size_t, POINTER(Merged)],
    "syn_group_appoint": [c_void_p, c_size_t],
    "syn_recipe_apply": [c_char_p, c_void_p],
    "syn_recipe_apply_worker": [c_char_p, c_void_p],
    "syn_settings_set": [POINTER(Table), c_void_p, c_char_p, c_char_p],
    "syn_reducer_check": [c_void_p],
    "syn_reducer_open": [c_void_p, c_void_p, c_void_p, POINTER(c_void_p)],
    "syn_reducer_begin": [c_void_p, c_void_p, POINTER(Step), POINTER(Ticket)],
    "syn_reducer_start": [c_void_p, c_void_p, POINTER(Step), POINTER(Ticket)],
    "syn_reducer_ready": [c_void_p, c_size_t],
    "syn_reducer_wait": [c_void_p, Ticket, POINTER(Merged)],
    "syn_reducer_drop": [c_void_p],
    "syn_reducer_gather": [c_void_p, c_void_p, c_size_t, c_void_p],
    "syn_reducer_save": [c_void_p, c_void_p],
    "syn_reducer_load": [c_void_p, c_char_p, c_size_t],
    "syn_reducer_load_regrouped": [c_void_p, POINTER(c_char_p), POINTER(c_size_t), c_size_t],
    "syn_worker_check_servers": [c_void_p, c_size_t],
    "syn_worker_serve": [c_void_p, c_void_p, c_void_p, c_void_p],
    "syn_worker_open": [c_void_p, c_void_p, c_void_p, c_void_p, POINTER(c_void_p)],
    "syn_worker_step": [c_void_p, c_void_p, POINTER(Rates), c_void_p],
    "syn_worker_tune": [c_void_p, c_void_p, c_void_p],
    "syn_worker_settle": [c_void_p, c_void_p],
    "syn_worker_gather": [c_void_p, c_void_p, c_size_t, c_void_p],
    "syn_worker_save": [c_void_p, c_void_p],
    "syn_worker_load": [c_void_p, c_void_p],
    "syn_worker_load_regrouped": [c_void_p, POINTER(c_void_p), c_size_t],
    "syn_archive_new": [POINTER(c_void_p)],
    "syn_archive_add": [c_void_p, c_char_p, c_char_p, c_size_t],
}

# Others: (result, arguments).
PLAIN_CALLS = {
    "syn_bridge_sizes": (Sizes, []),
    "syn_bridge_new": (c_void_p, [c_size_t, POST]),
    "syn_bridge_offer": (None, [c_void_p, c_size_t, c_void_p, c_void_p, c_size_t]),
    "syn_bridge_rest": (None, [c_void_p, c_size_t]),
    "syn_bridge_fail": (None, [c_void_p, c_size_t]),
    "syn_bridge_part": (None, [c_void_p, c_size_t]),
    "syn_bridge_free": (None, [c_void_p]),
    "syn_bridge_spread": (None, [POINTER(Merged), c_float, POINTER(Place), c_size_t]),
    "syn_bridge_clear": (None, [POINTER(Merged), POINTER(Place), c_size_t]),
    "syn_version": (c_char_p, []),
    "syn_error_text": (c_char_p, []),
    "syn_group_under_mpi": (c_bool, []),
    "syn_group_rank": (c_size_t, [c_void_p]),
    "syn_group_size": (c_size_t, [c_void_p]),
    "syn_group_workers": (c_size_t, [c_void_p]),
    "syn_group_transport": (c_char_p, [c_void_p]),
    "syn_group_leave": (None, [c_void_p, c_int, c_char_p]),
    "syn_group_close": (None, [c_void_p]),
    "syn_layout_free": (None, [c_void_p]),
    "syn_recipe_name": (c_char_p, [c_size_t]),
    "syn_recipe_help": (c_char_p, [c_size_t]),
    "syn_settings_defaults": (None, [POINTER(Table), c_void_p]),
    "syn_settings_has": (c_bool, [POINTER(Table), c_char_p]),
    "syn_settings_json": (c_size_t, [POINTER(Table), c_void_p, c_char_p, c_size_t]),
    "syn_settings_help": (c_size_t, [POINTER(Table), c_char_p, c_size_t]),
    "syn_reducer_defaults": (None, [c_void_p]),
    "syn_reducer_residual": (c_void_p, [c_void_p]),
    "syn_reducer_state_bytes": (c_size_t, [c_void_p]),
    "syn_reducer_close": (None, [c_void_p]),
    "syn_merged_to_dense": (None, [POINTER(Merged), c_void_p, c_size_t]),
    "syn_worker_defaults": (None, [c_void_p]),
    "syn_worker_last_cost": (Cost, [c_void_p]),
    "syn_worker_total_cost": (Cost, [c_void_p]),
    "syn_worker_steps": (c_uint64, [c_void_p]),
    "syn_worker_residual": (c_void_p, [c_void_p]),
    "syn_worker_close": (None, [c_void_p]),
    "syn_archive_section": (Section, [c_void_p, c_size_t]),
    "syn_archive_free": (None, [c_void_p]),
}


def check(status: int, _function: object = None, _arguments: object = None) -> int:
    """Raise the exception for a status, with the cause that the library gives."""
    if status != 0:
        cause = C.syn_error_text().decode(errors="replace")
        raise errors.BY_STATUS.get(status, errors.Error)(cause or f"status {status}")
    return status


def _path() -> str:
    """The library next to this file, or the one named by SYNCOPATE_LIBRARY."""
    return os.environ.get("SYNCOPATE_LIBRARY") or os.path.join(os.path.dirname(__file__), NAME)


def _load() -> ctypes.CDLL:
    # Needed if MPI is linked in: Open MPI loads parts of itself that look for its symbols among the global
    # ones. If MPI is a plugin, as in packages, the library loads it in that way.
    mode = ctypes.RTLD_GLOBAL if {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"} & set(os.environ) else ctypes.RTLD_LOCAL
    # PyTorch may have loaded an MPI (Debian's loads Open MPI, whose functions have the same names as MPICH's): ours
    # must take precedence.
    if hasattr(ctypes.CDLL(None), "MPI_Init"):
        mode |= getattr(os, "RTLD_DEEPBIND", 0)
    try:
        library = ctypes.CDLL(_path(), mode)
    except OSError as error:
        raise ImportError(f"cannot load Syncopate's library: {error}; install the package with "
                          f"pip install ./python, or set SYNCOPATE_LIBRARY to {NAME}") from error
    for name, arguments in STATUS_CALLS.items():
        function = getattr(library, name)
        function.argtypes, function.restype, function.errcheck = arguments, c_int, check
    for name, (result, arguments) in PLAIN_CALLS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, result
    if library.syn_bridge_sizes().merged != ctypes.sizeof(Merged):
        raise ImportError(f"{_path()} does not match the version of this package; build it again")
    return library


C = _load()


def table(name: str) -> Table:
    """One of the library's tables of settings, such as syn_reducer_settings."""
    return Table.in_dll(C, name)
