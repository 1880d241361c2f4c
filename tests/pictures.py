"""Pictures for tests, without a library that makes them."""
import os
import struct
import zlib


def grey_png(dark, side=20):
    """The bytes of a PNG, brighter to the right and the bottom; dark is added to all of it."""
    pixels = b"".join(b"\0" + bytes(range(y + dark, y + dark + side)) for y in range(side))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b""))


def write_png(path, dark):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(grey_png(dark))
    return path
