"""Files of plain data: numbers, text, tensors, and lists and dictionaries of these. torch.load() may execute
code in a file; these files contain none. docs/formats.md describes the format:

    "SYNPLAIN", version, bytes of the text; the text, JSON; the tensors' bytes; CRC-32 of all before

In the text, everything except null, booleans, integers and strings is a list whose first element is its kind.
"""
from __future__ import annotations

import json
import math
import os
import struct
import zlib
from typing import Any, BinaryIO

import torch

from ..errors import OptionError, StateError

HEAD = struct.Struct("<8sIIQ")  # magic, version, 0, bytes of the text
END = struct.Struct("<I")
MAGIC = b"SYNPLAIN"
VERSION = 1
DTYPES = {str(dtype)[6:]: dtype for dtype in (
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
    torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128)}


class _Writer:
    """Converts values to JSON, and collects the tensors in them."""

    def __init__(self) -> None:
        self.tensors: list[torch.Tensor] = []
        self._at = 0

    def _tensor(self, tensor: torch.Tensor, where: str) -> list[Any]:
        name = str(tensor.dtype)[6:]
        if name not in DTYPES or tensor.layout != torch.strided:
            raise OptionError(f"{where} is a tensor that cannot be saved: {name}, {tensor.layout}")
        flat = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8) if tensor.numel() \
            else torch.empty(0, dtype=torch.uint8)
        place = ["tensor", name, list(tensor.shape), self._at, flat.numel()]
        self.tensors.append(flat)
        self._at += flat.numel()
        return place

    def plain(self, value: Any, where: str) -> Any:
        """A value in JSON form.

        where  its place in the state, for error messages
        """
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, torch.Tensor):
            return self._tensor(value, where)
        if isinstance(value, dict):
            return ["dict"] + [[self.plain(key, f"a key of {where}"), self.plain(each, f"{where}[{key!r}]")]
                               for key, each in value.items()]
        if isinstance(value, (list, tuple)):
            kind = "list" if isinstance(value, list) else "tuple"
            return [kind] + [self.plain(each, f"{where}[{i}]") for i, each in enumerate(value)]
        if isinstance(value, bytes):
            return ["bytes", self._tensor(_bytes_as_tensor(value), where)]
        if hasattr(value, "item") and getattr(value, "shape", None) == ():  # a NumPy scalar
            value = value.item()
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return ["float", value.hex() if math.isfinite(value) else str(value)]
        raise OptionError(f"{where} is a {type(value).__name__}, which cannot be saved; expected None, "
                          "numbers, text, bytes, tensors, or lists, tuples and dictionaries of these")


def _bytes_as_tensor(content: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8) if content \
        else torch.empty(0, dtype=torch.uint8)


def _write_all(file: BinaryIO, parts: list[Any]) -> None:
    checksum = 0
    for part in parts:
        file.write(part)
        checksum = zlib.crc32(part, checksum)
    file.write(END.pack(checksum))
    file.flush()
    os.fsync(file.fileno())


def write(path: str, value: Any) -> None:
    """Write a value; OptionError if it is not plain data. The file is written completely or not at all."""
    writer = _Writer()
    text = json.dumps(writer.plain(value, "the state"), allow_nan=False).encode()
    head = HEAD.pack(MAGIC, VERSION, 0, len(text))
    try:
        with open(path + ".part", "wb") as file:
            _write_all(file, [head, text, *(tensor.numpy().data for tensor in writer.tensors)])
        os.replace(path + ".part", path)
    except BaseException:
        if os.path.exists(path + ".part"):
            os.remove(path + ".part")
        raise


class _Reader:
    """Converts a text and the bytes after it to a value. Anything invalid raises an exception that read() catches."""

    def __init__(self, content: memoryview):
        self._content = content

    def _tensor(self, dtype: str, shape: list[int], at: int, count: int) -> torch.Tensor:
        kind = DTYPES[dtype]
        size = torch.empty(0, dtype=kind).element_size()
        if min([at, count, *shape]) < 0 or at + count > len(self._content) \
                or math.prod(shape) * size != count:
            raise ValueError(f"a tensor of shape {shape} in {count} bytes at {at}")
        if count == 0:
            return torch.empty(shape, dtype=kind)
        own = bytearray(self._content[at:at + count])
        return torch.frombuffer(own, dtype=kind).reshape(shape)

    def value(self, plain: Any) -> Any:
        """The value of a part of the text."""
        if not isinstance(plain, list):
            if plain is None or isinstance(plain, (bool, int, str)):
                return plain
            raise ValueError(f"a {type(plain).__name__}")
        kind, *rest = plain
        if kind == "tensor":
            return self._tensor(*rest)
        if kind == "bytes":
            return self.value(rest[0]).numpy().tobytes()
        if kind == "float":
            return float.fromhex(rest[0])
        if kind in ("list", "tuple"):
            found = [self.value(each) for each in rest]
            return found if kind == "list" else tuple(found)
        if kind == "dict":
            return {self.value(key): self.value(each) for key, each in rest}
        raise ValueError(f'a "{kind}"')


def read(path: str) -> Any:
    """The value in a file. StateError if it is damaged, truncated, or of another kind."""
    try:
        with open(path, "rb") as file:
            content = memoryview(file.read())
    except OSError as error:
        raise StateError(f'cannot read "{path}": {error.strerror}') from None
    if len(content) < HEAD.size + END.size or bytes(content[:8]) != MAGIC:
        raise StateError(f'"{path}" is not a file that syncopate.torch.save() wrote')
    _, version, _, length = HEAD.unpack(content[:HEAD.size])
    if version != VERSION:
        raise StateError(f'"{path}" has version {version}; expected {VERSION}')
    if END.unpack(content[-END.size:])[0] != zlib.crc32(content[:-END.size]):
        raise StateError(f'"{path}" is damaged: its checksum does not match')
    body = content[HEAD.size:-END.size]
    try:
        return _Reader(body[length:]).value(json.loads(bytes(body[:length])))
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, OverflowError) as error:
        raise StateError(f'"{path}" does not contain a state: {error}') from None
