"""Exceptions: one for each kind of failure of the C library that a program may want to catch."""
from __future__ import annotations


class Error(RuntimeError):
    """A call failed; the text is the library's own, with the values. Base class of all exceptions here."""


class OptionError(Error, ValueError):
    """An option that does not exist, is out of range or contradicts another one."""


class ClosedError(Error):
    """An object was used after it was closed."""


class NonFiniteError(Error):
    """A worker's gradient holds NaN or infinity; the step did not happen, on any worker."""


class MismatchError(Error):
    """Workers were opened with different models, options or weights; the text names the worker and the difference."""


class PeerError(Error):
    """A worker failed, died or stayed silent; the text names it. The group can no longer be used."""


class StateError(Error, ValueError):
    """A saved state is damaged, or belongs to another model or method."""


BY_STATUS = {  # enum syn_status
    1: OptionError,
    2: Error,  # unsupported
    3: MemoryError,
    4: PeerError,
    5: StateError,
    6: MismatchError,
    7: NonFiniteError,
    8: PeerError,
    9: PeerError,
    10: Error,  # busy
    11: Error,  # stopped
}
