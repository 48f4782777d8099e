"""What a scenario prints is kept in part, and the report says so."""

from __future__ import annotations

from harness.capture.tail import Tail, middle_out


def test_a_short_output_is_kept_whole() -> None:
    tail = Tail()

    tail.feed(b"loss 0.5\n")
    tail.feed(b"loss 0.4\n")

    assert tail.text() == "loss 0.5\nloss 0.4\n"


def test_of_a_huge_output_the_beginning_and_the_end_are_kept() -> None:
    tail = Tail()

    tail.feed(b"first line\n")
    for _ in range(1000):
        tail.feed(b"x" * 100_000)
    tail.feed(b"\nlast line")

    text = tail.text()
    assert text.startswith("first line\n")
    assert text.endswith("\nlast line")
    assert len(text) < 40_000


def test_what_is_left_out_is_counted_to_the_byte() -> None:
    tail = Tail()

    tail.feed(b"a" * 16_384 + b"b" * 5 + b"c" * 16_384)

    assert "[... 5 bytes left out ...]" in tail.text()


def test_bytes_that_are_no_text_do_not_stop_the_report() -> None:
    tail = Tail()

    tail.feed(b"caf\xe9 \xff")

    assert "caf" in tail.text()


def test_of_a_long_text_the_middle_is_left_out_and_counted() -> None:
    assert middle_out("abcdefgh", 8) == "abcdefgh"
    assert middle_out("abcdefghi", 4) == "ab\n[... 5 characters left out ...]\nhi"
