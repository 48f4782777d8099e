"""The private pipe: whole messages out of any pieces, and nothing else accepted."""

from __future__ import annotations

import os

import msgspec
import pytest

from harness.capture import wire

SAMPLE = wire.Sample(step=3, step_ns=1500, values={"heap.used": 42})


def test_messages_survive_being_cut_anywhere() -> None:
    data = wire.encode(SAMPLE) + wire.encode(wire.Checkpoint(steps=4))
    reader = wire.FrameReader()

    messages = [message for k in range(len(data)) for message in reader.feed(data[k : k + 1])]

    assert messages == [SAMPLE, wire.Checkpoint(steps=4)]


def test_several_messages_may_come_at_once() -> None:
    assert wire.FrameReader().feed(wire.encode(SAMPLE) * 3) == [SAMPLE] * 3


def test_what_somebody_else_wrote_to_the_pipe_is_refused() -> None:
    with pytest.raises(msgspec.DecodeError, match="something else wrote"):
        wire.FrameReader().feed(b"print('hello')\n")


def test_text_that_utf8_cannot_hold_arrives_as_an_escape() -> None:
    told = wire.Broken(detail="a\ud800b")

    assert wire.FrameReader().feed(wire.encode(told)) == [wire.Broken(detail="a\\ud800b")]


def test_a_pipe_that_is_gone_has_an_error_of_its_own() -> None:
    read, write = os.pipe()
    os.close(read)

    with pytest.raises(wire.LostError):
        wire.send(write, SAMPLE)

    os.close(write)


def test_an_error_that_a_signal_handler_raises_in_the_middle_is_not_the_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(fd: int, data: memoryview) -> int:
        raise TimeoutError("too late")

    monkeypatch.setattr(wire, "_write", interrupted)

    with pytest.raises(TimeoutError):
        wire.send(-1, SAMPLE)


def test_a_message_of_no_known_kind_is_refused() -> None:
    body = msgspec.msgpack.encode({"type": "Evil", "code": "rm -rf"})

    with pytest.raises(msgspec.ValidationError):
        wire.FrameReader().feed(len(body).to_bytes(4, "little") + body)
