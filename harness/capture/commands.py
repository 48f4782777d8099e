"""What the parent tells a subject, read in the subject."""

from __future__ import annotations

import os

from harness.capture import wire

__all__ = ["Commands"]

_read = os.read  # a scenario may put something else in its place


class Commands:
    """Blocking messages from the parent."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._frames = wire.FrameReader()
        self._ready: list[wire.Message] = []

    def next(self) -> wire.Message:
        """The next one, once it is there; :class:`wire.LostError` where the other end is gone."""
        while not self._ready:
            try:
                data = _read(self._fd, 65536)
            except BlockingIOError:  # the scenario has set every descriptor so
                os.set_blocking(self._fd, True)
                continue
            except OSError as error:
                if error.errno is None:
                    raise  # not the system: a signal handler of the scenario's raised a TimeoutError
                raise wire.LostError(str(error)) from error
            if not data:
                raise wire.LostError("the other end is closed")
            self._ready = self._frames.feed(data)
        return self._ready.pop(0)
