"""Syncopate: train one neural network over a slow network. syncopate.torch is for PyTorch; core has the
C library's own objects."""
from .errors import (ClosedError, Error, MismatchError, NonFiniteError, OptionError, PeerError, StateError)
from .library import C
from .options import recipes

__version__ = C.syn_version().decode()  # the library's, and so the one of CMakeLists.txt
__all__ = ["ClosedError", "Error", "MismatchError", "NonFiniteError", "OptionError", "PeerError",
           "StateError", "recipes"]
