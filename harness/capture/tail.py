"""Keeps the beginning and the end of what a scenario prints, however much it is."""

from __future__ import annotations

__all__ = ["Tail", "middle_out"]

_KEPT = 16 * 1024


def middle_out(text: str, most: int) -> str:
    """*text*, or its first and its last *most* / 2 characters and how many are missing between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


class Tail:
    """At most 32 KiB of a stream: its first 16 and its last 16."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._end = bytearray()
        self._total = 0

    def feed(self, data: bytes) -> None:
        """Take in *data*."""
        self._total += len(data)
        room = _KEPT - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._end += data
        if len(self._end) > 2 * _KEPT:
            del self._end[:-_KEPT]

    def text(self) -> str:
        """What was kept; a line says how much is missing between the two parts. Undecodable bytes become marks."""
        end = self._end[-_KEPT:]
        missing = self._total - len(self._head) - len(end)
        gap = f"\n[... {missing} bytes left out ...]\n".encode() if missing > 0 else b""
        return (bytes(self._head) + gap + bytes(end)).decode("utf-8", "replace")
