"""Syncopate: train one neural network over a slow network. syncopate.torch is for PyTorch; core has the
objects of the C library."""
from .errors import (ClosedError, Error, MismatchError, NonFiniteError, OptionError, PeerError, StateError)
from .library import C
from .options import recipes

__version__ = C.syn_version().decode()  # the library's, which is that of CMakeLists.txt
__all__ = ["ClosedError", "Error", "MismatchError", "NonFiniteError", "OptionError", "PeerError",
           "StateError", "recipes"]
