"""What is wrong with a file."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path

import pytest

from harness.doctor.archive_files import Budget, is_archive, is_left_over, what_is_wrong
from tests.unit.doctor.planted import write

PLENTY = 2**30


def a_zip() -> bytes:
    """As torch.save writes it: a zip with what is pickled, and the numbers beside it."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("net/data.pkl", pickle.dumps([1, 2, 3]))
        archive.writestr("net/data/0", bytes(500))
    return whole.getvalue()


def safetensors(bytes_: int = 16) -> bytes:
    header = json.dumps({"__metadata__": {}, "w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(bytes_)


WHOLE = {
    "net.pth": a_zip(),
    "old.pth": pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2),
    "data.zip": a_zip(),
    "data.tar.gz": gzip.compress(os.urandom(5000)),
    "model.safetensors": safetensors(),
}

DAMAGED = {
    "net.pth": (a_zip()[:-30], "it is cut off or damaged"),
    "page.pth": (b"\n<!DOCTYPE html><html>404", "it is a web page"),
    "pointer.bin": (b"version https://git-lfs.github.com/spec/v1\n", "it is a pointer of Git LFS"),
    "empty.ckpt": (b"", "it is empty"),
    "data.zip": (b"hello", "it is not a zip archive"),
    "data.tar.gz": (gzip.compress(os.urandom(5000))[:-100], "the compressed stream has no end"),
    "wrong.tgz": (b"hello", "it is not a gzip archive"),
    "flipped.tgz": (gzip.compress(bytes(1000))[:12] + b"\xff\xff" + bytes(20), "it is damaged"),
    "cut.safetensors": (safetensors()[:-4], "it is cut off: "),
    "long.safetensors": (safetensors(20), "it is too long: "),
    "tiny.safetensors": (b"abc", "it is cut off in its first bytes"),
    "header.safetensors": (struct.pack("<Q", 10**15) + b"{}", "a header of 1,000,000,000,000,000 bytes"),
    "text.safetensors": (struct.pack("<Q", 4) + b"{{{{", "its header cannot be read"),
    "list.safetensors": (struct.pack("<Q", 2) + b"[]", "its header cannot be read"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_file_is_well(tmp_path: Path, name: str) -> None:
    assert what_is_wrong(write(tmp_path, name, WHOLE[name]), Budget(PLENTY)) == ""


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_says_what_is_wrong(tmp_path: Path, name: str) -> None:
    content, says = DAMAGED[name]

    assert says in what_is_wrong(write(tmp_path, name, content), Budget(PLENTY))


def test_a_zip_that_is_cut_off_anywhere_is_damaged(tmp_path: Path) -> None:
    whole = a_zip()

    sound = [n for n in range(4, len(whole)) if not what_is_wrong(write(tmp_path, "x.zip", whole[:n]), Budget(PLENTY))]

    assert sound == []


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {tmp_path}/exploded",)

    what_is_wrong(write(tmp_path, "bomb.pth", pickle.dumps(Bomb())), Budget(PLENTY))

    assert not (tmp_path / "exploded").exists()


def test_what_would_take_more_than_the_budget_is_not_read(tmp_path: Path) -> None:
    content, _ = DAMAGED["data.tar.gz"]
    budget = Budget(len(content) - 1)

    assert what_is_wrong(write(tmp_path, "x.tgz", content), budget) == ""
    assert budget.take(len(content) - 1)


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pth")

    assert what_is_wrong(tmp_path / "pipe.pth", Budget(PLENTY)) == ""


def test_names_tell_archives_and_what_is_left_over() -> None:
    assert [is_archive(Path(name)) for name in ("a.pt", "b.tar.gz", "c.txt", "d.gz")] == [True, True, False, False]
    assert [is_left_over(Path(name)) for name in ("a.incomplete", "a.pth.1f.partial", "a.pth")] == [True, True, False]
