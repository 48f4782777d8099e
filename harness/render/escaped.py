"""Makes text from outside safe to show: names and messages may hold terminal commands, and may be very long."""

from __future__ import annotations

__all__ = ["cut", "escaped", "tail"]


def escaped(text: str) -> str:
    """*text* on one line, with everything that a terminal would act on, or hide, written as an escape.

    ``str.isprintable`` refuses control characters, ANSI's ESC among them, and those that turn the writing direction.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def cut(text: str, most: int) -> str:
    """*text* escaped and cut in the middle to *most* characters: names differ at their ends."""
    # A name of many megabytes is cut before it is escaped, which would take seconds.
    shown = escaped(text if len(text) <= 2 * most else text[:most] + text[-most:])
    if len(shown) <= most and len(text) <= 2 * most:
        return shown
    head = (most - 1) // 2
    return f"{shown[:head]}…{shown[len(shown) - (most - 1 - head) :]}"


def tail(text: str, lines: int, *, most: int = 200) -> tuple[str, ...]:
    """The last *lines* lines of *text*, each escaped and cut to *most* characters; tabs become spaces."""
    kept = [line for line in text[-lines * 2000 :].splitlines() if line.strip()][-lines:]
    return tuple(cut(line.expandtabs(4).rstrip(), most) for line in kept)
