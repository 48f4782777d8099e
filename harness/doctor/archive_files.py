"""What is wrong with a downloaded file, told from its ends and its table of contents; nothing in it is run.

A zip's table of contents is at its end, so a file that was cut off has none. The lengths in a header of safetensors
add up to the file's length. A gzip stream must be read to its end to be known as whole.
"""

from __future__ import annotations

import json
import stat
import struct
import zipfile
import zlib
from pathlib import Path

__all__ = ["Budget", "is_archive", "is_left_over", "what_is_wrong"]

_WEIGHTS = (".pt", ".pth", ".ckpt", ".bin")
_SUFFIXES = (*_WEIGHTS, ".zip", ".tar.gz", ".tgz", ".safetensors")
_LEFT_OVER = (".incomplete", ".partial")
_LONGEST_HEADER = 100_000_000
"""The most that a reader of safetensors takes for a header."""

_MOST_UNPACKED = 512 * 2**20
"""A few kilobytes can unpack to terabytes: what is sound so far counts as sound."""


class Budget:
    """Bytes that may still be read, over all files."""

    def __init__(self, bytes_: int) -> None:
        self._left = bytes_

    def take(self, bytes_: int) -> bool:
        """Whether so many may be read; then they are taken off."""
        if bytes_ > self._left:
            return False
        self._left -= bytes_
        return True


def is_archive(path: Path) -> bool:
    return path.name.endswith(_SUFFIXES)


def is_left_over(path: Path) -> bool:
    """Named as the hubs name what is not loaded to its end."""
    return path.name.endswith(_LEFT_OVER)


def what_is_wrong(path: Path, budget: Budget) -> str:
    """A sentence, or nothing: also where it would take more than *budget* to know."""
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            return ""  # opening a pipe would wait for its other end
        size = state.st_size
        if size == 0:
            return "it is empty"
        with path.open("rb") as file:
            head = file.read(64)
    except FileNotFoundError:
        return "it is a link to a file that is gone"
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    return _other_thing(head) or _by_kind(path, head, size, budget)


def _other_thing(head: bytes) -> str:
    start = head.lstrip().lower()
    if start.startswith((b"<!doctype", b"<html")):
        return "it is a web page, likely of an error or a login, and not the file"
    if start.startswith(b"version https://git-lfs"):
        return "it is a pointer of Git LFS and not the file (git lfs pull)"
    return ""


def _by_kind(path: Path, head: bytes, size: int, budget: Budget) -> str:
    name = path.name
    if name.endswith(".safetensors"):
        return _safetensors(path, head, size, budget)
    if name.endswith((".tar.gz", ".tgz")):
        return _gzip(path, head, size, budget)
    if head.startswith(b"PK"):
        return _zip(path)
    if name.endswith(".zip"):
        return "it is not a zip archive"
    return ""  # weights in torch's older form, or a file of another kind under a common ending


def _zip(path: Path) -> str:
    try:
        with zipfile.ZipFile(path):
            return ""
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        return "it is cut off or damaged: the table of contents at its end is missing"


def _safetensors(path: Path, head: bytes, size: int, budget: Budget) -> str:
    if size < 8:
        return "it is cut off in its first bytes"
    length = struct.unpack_from("<Q", head)[0]
    if length > _LONGEST_HEADER or 8 + length > size:
        return f"it is cut off or no safetensors file: a header of {length:,} bytes in a file of {size:,}"
    if not budget.take(length):
        return ""
    with path.open("rb") as file:
        file.seek(8)
        text = file.read(length)
    try:
        header = json.loads(text)
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        wanted = 8 + length + max(ends, default=0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return "it is damaged: its header cannot be read"
    return "" if wanted == size else f"it is {'cut off' if wanted > size else 'too long'}: {size:,} of {wanted:,} bytes"


def _gzip(path: Path, head: bytes, size: int, budget: Budget) -> str:
    if not head.startswith(b"\x1f\x8b"):
        return "it is not a gzip archive"
    if not budget.take(size):
        return ""
    stream, unpacked = zlib.decompressobj(wbits=31), 0
    try:
        with path.open("rb") as file:
            while not stream.eof and unpacked < _MOST_UNPACKED:
                block = stream.unconsumed_tail or file.read(1 << 16)
                if not block:
                    return "it is cut off: the compressed stream has no end"
                unpacked += len(stream.decompress(block, 1 << 20))
    except zlib.error as error:
        return f"it is damaged: {error}"
    return ""
