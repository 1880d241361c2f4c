"""Syncopate: train one neural network over a slow network. syncopate.torch is for PyTorch; core has the
C library's own objects."""
from .errors import (ClosedError, Error, MismatchError, NonFiniteError, OptionError, PeerError, StateError)
from .options import recipes

__version__ = "0.1.0"
__all__ = ["ClosedError", "Error", "MismatchError", "NonFiniteError", "OptionError", "PeerError",
           "StateError", "recipes"]
