"""Runs one subject from launch to end, in the parent: drains its pipes, answers its questions, ends it in time."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Callable

import msgspec

from harness.capture import wire
from harness.capture.client import ForkServer, SubjectHandle
from harness.capture.gathering import Gathering, ending_of_exit
from harness.errors import CaptureError
from harness.model.recording import Ending, SubjectRecord

__all__ = ["Decide", "run_subject"]

Decide = Callable[[Gathering], wire.Go]
"""Asked at each checkpoint; answers how many steps to have done in all before the next (none more: stop)."""

_GRACE_S = 0.5
"""How long a hanging subject is given to write where it hangs."""

_STOPPING_S = 30.0
"""How long the server is given to end a subject and all that it started. A scenario can stop the server (SIGSTOP)."""

_LONGEST_TURN_S = 86_400.0
"""epoll takes no more than some weeks."""

_UNREADABLE = (
    "what the measured process tells cannot be read: the scenario wrote to a descriptor that it did not open, or "
    "replaced something that the readings need"
)


def run_subject(
    server: ForkServer,
    job: wire.Job,
    *,
    decide: Decide,
    timeout_s: float,
    on_progress: Callable[[int], None] = lambda steps: None,
    fresh_interpreter: bool = False,
) -> tuple[Gathering, SubjectRecord]:
    """Run *job* and return what was gathered, whatever happened to the process.

    A KeyboardInterrupt ends the subject; its record then says ``interrupted``, and the caller should stop too. A
    server that is lost under the subject is its ending too: the scenario may have killed it.
    :class:`CaptureError` where our own machinery failed.
    """
    gathering = Gathering(role=job.role, warmup=job.warmup, cut=job.cut)
    handle = server.launch(job, fresh_interpreter=fresh_interpreter)
    session = _Session(server, handle, gathering, decide, on_progress)
    try:
        ending = session.run(time.monotonic() + timeout_s, timeout_s)
    except KeyboardInterrupt:
        session.abandon()
        ending = Ending(status="interrupted", detail=f"interrupted in step {gathering.steps}")
    except msgspec.DecodeError as error:
        session.abandon()
        ending = Ending(status="crashed", detail=f"{_UNREADABLE} ({error})")
    except CaptureError as error:
        session.abandon()
        if not error.server_died:
            raise
        ending = Ending(status="killed", detail=f"{error}\n{error.help}")
    except BaseException:
        session.abandon()
        raise
    finally:
        session.close()
        handle.close()
    if gathering.broken is not None:
        raise CaptureError(
            f"measuring {job.path} failed inside the measured process:\n{gathering.broken}",
            help=(
                "This is a fault of the tool, unless the scenario replaces what it needs (a builtin, a function of "
                "os). Please report it with this text."
            ),
            only_this_subject=True,
        )
    return gathering, gathering.record(ending)


class _Session:
    def __init__(
        self,
        server: ForkServer,
        handle: SubjectHandle,
        gathering: Gathering,
        decide: Decide,
        on_progress: Callable[[int], None],
    ) -> None:
        self._server = server
        self._handle = handle
        self._gathering = gathering
        self._decide = decide
        self._on_progress = on_progress
        self._frames = wire.FrameReader()
        self._gone: wire.SubjectGone | None = None
        self._pid: int | None = None
        self._selector = selectors.DefaultSelector()
        self._selector.register(handle.wire, selectors.EVENT_READ, self._from_subject)
        self._selector.register(handle.stdout, selectors.EVENT_READ, self._from_stdout)
        self._selector.register(handle.stderr, selectors.EVENT_READ, self._from_stderr)
        self._selector.register(server.control, selectors.EVENT_READ, self._from_server)
        if server.interrupt_fd is not None:
            self._selector.register(server.interrupt_fd, selectors.EVENT_READ, self._interrupted)

    def run(self, deadline: float, timeout_s: float) -> Ending | None:
        """Until the subject is gone. None where the subject's own word on its ending counts."""
        timed_out = False
        while self._gone is None:
            left = deadline - time.monotonic()
            if left > 0:
                self._turn(min(left, _LONGEST_TURN_S))
            elif not timed_out:
                timed_out = True
                self._ask_where_it_hangs()
                self._server.stop_subject()
                deadline = time.monotonic() + _STOPPING_S
            else:
                self._from_server(timeout_s=0)  # it says that the subject is gone, or the server is given up
        self._drain()
        if timed_out:
            detail = f"not finished after {timeout_s:g} s, in step {self._gathering.steps}; stderr shows where it was"
            return Ending(status="timed_out", detail=detail)
        if self._gathering.over is not None or self._gathering.broken is not None:
            return None
        return ending_of_exit(self._gone.code, self._gone.signal)

    def abandon(self) -> None:
        """End the subject after an error of ours or an interruption; the server is then ready for the next."""
        if self._gone is None:
            try:
                self._server.stop_subject()
                while self._gone is None and self._server.is_up:
                    self._from_server(timeout_s=_STOPPING_S)
            except CaptureError:
                pass  # the server died: nothing of its subject is left either

    def close(self) -> None:
        self._selector.close()

    def _turn(self, timeout_s: float | None) -> None:
        for key, _ in self._selector.select(timeout_s):
            key.data()

    def _drain(self) -> None:
        """What lies in the pipes when the subject is gone. Somebody may still hold the other end: no waiting."""
        others = (self._server.control, self._server.interrupt_fd)
        while any(key.data() for key, _ in self._selector.select(0) if key.fileobj not in others):
            pass

    def _from_subject(self) -> bool:
        try:
            data = self._handle.wire.recv(1 << 18)
        except ConnectionError:
            data = b""
        if not data:
            self._selector.unregister(self._handle.wire)
            return False
        for message in self._frames.feed(data):
            self._gathering.take(message)
            if isinstance(message, wire.Checkpoint):
                self._answer()
        self._on_progress(self._gathering.steps)
        return True

    def _answer(self) -> None:
        answer = self._decide(self._gathering)
        with contextlib.suppress(OSError):  # it was killed while it waited; the server will say so
            self._handle.wire.sendall(wire.encode(answer))

    def _from_stdout(self) -> bool:
        return self._from_pipe(self._handle.stdout, self._gathering.stdout.feed)

    def _from_stderr(self) -> bool:
        return self._from_pipe(self._handle.stderr, self._gathering.stderr.feed)

    def _from_pipe(self, fd: int, feed: Callable[[bytes], None]) -> bool:
        data = os.read(fd, 1 << 16)
        if not data:
            self._selector.unregister(fd)
            return False
        feed(data)
        return True

    def _interrupted(self) -> bool:
        raise KeyboardInterrupt

    def _from_server(self, timeout_s: float | None = None) -> bool:
        for message in self._server.news(timeout_s):
            if isinstance(message, wire.Launched):
                self._pid = message.pid
            elif isinstance(message, wire.SubjectGone):
                self._gone = message
        return True

    def _ask_where_it_hangs(self) -> None:
        """faulthandler, in the subject, writes every thread's stack on this signal; then it is given a moment."""
        if self._pid is None:
            return
        try:
            os.kill(self._pid, signal.SIGUSR2)
        except ProcessLookupError:
            return
        until = time.monotonic() + _GRACE_S
        while self._gone is None and (left := until - time.monotonic()) > 0:
            self._turn(left)
