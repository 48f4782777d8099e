"""The parent's side of the fork server."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
import tempfile
import uuid
from types import TracebackType
from typing import IO, Self

import msgspec

from harness.capture import wire
from harness.capture.left_behind import end_marked
from harness.errors import CaptureError

__all__ = ["ForkServer", "SubjectHandle"]

_MARK = "TORCH_LEAK_HARNESS_SERVER"


class SubjectHandle(msgspec.Struct, kw_only=True, eq=False):
    """The parent's ends of one subject: its private pipe, and what it prints. ``close`` lets go of them."""

    wire: socket.socket
    stdout: int
    stderr: int

    def close(self) -> None:
        self.wire.close()
        os.close(self.stdout)
        os.close(self.stderr)


class ForkServer:
    """Starts the server with the first subject and ends it, and all that it started, on leaving.

    With *preload* False the server imports nothing, for runs whose subjects are all fresh interpreters. The server
    lives in a session of its own, so that Ctrl-C reaches the parent alone. If the parent is killed, the server's
    control socket closes, and it takes its subjects down with it. If the server is killed, what its subjects started
    is found by a mark in the environment, and ended from here. *interrupt_fd* becomes readable when the user
    interrupts, for a server that serves a thread to which no signal comes.
    """

    def __init__(self, *, seed: int, preload: bool = True, interrupt_fd: int | None = None) -> None:
        self.interrupt_fd = interrupt_fd
        self._seed = seed
        self._preload = preload
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._errors: IO[bytes] | None = None
        self._frames = wire.FrameReader()
        self._serving = False
        self._mark = uuid.uuid4().hex

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the server and wait until it is gone; a later :meth:`launch` starts another."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.returncode != 0:
                end_marked(_MARK, self._mark)
        if self._errors is not None:
            self._errors.close()
        self._process = self._control = self._errors = None

    @property
    def is_up(self) -> bool:
        """Whether there is a server now."""
        return self._control is not None

    @property
    def control(self) -> socket.socket:
        """The socket on which the server speaks; readable when :meth:`news` has something."""
        assert self._control is not None
        return self._control

    def launch(self, job: wire.Job, *, fresh_interpreter: bool = False) -> SubjectHandle:
        """Start a subject. :class:`CaptureError` when the server cannot be started."""
        if self._control is None:
            self._start()
        assert self._control is not None
        ours, theirs = socket.socketpair()
        out, out_theirs = os.pipe()
        err, err_theirs = os.pipe()
        launch = wire.Launch(job=job, fresh_interpreter=fresh_interpreter)
        try:
            socket.send_fds(self._control, [wire.encode(launch)], [theirs.fileno(), out_theirs, err_theirs])
        except OSError as error:
            raise self._lost("could not be asked for a process") from error
        finally:
            theirs.close()
            os.close(out_theirs)
            os.close(err_theirs)
        if fresh_interpreter:
            with contextlib.suppress(OSError):
                ours.sendall(wire.encode(launch))
        return SubjectHandle(wire=ours, stdout=out, stderr=err)

    def stop_subject(self) -> None:
        """End the present subject and all that it started; :meth:`news` tells when it is gone."""
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.sendall(wire.encode(wire.Stop()))

    def news(self, timeout_s: float | None = None) -> list[wire.Message]:
        """What the server says now; :class:`CaptureError` when it died, or says nothing for *timeout_s*."""
        ready, _, _ = select.select([self.control], [], [], timeout_s)
        if not ready:
            assert self._process is not None
            self._process.kill()  # it was stopped, or hangs: its subject ends with it
            raise self._lost("does not answer")
        try:
            data = self.control.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            raise self._lost("died")
        return self._frames.feed(data)

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the server
        self._frames = wire.FrameReader()
        mode = "preload" if self._preload else "bare"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "harness.capture.server", str(theirs.fileno()), mode],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            env={**os.environ, "PYTHONHASHSEED": str(self._seed), _MARK: self._mark},
        )
        theirs.close()
        self._control = ours
        self._serving = False
        for message in self.news():
            if isinstance(message, wire.ServerReady) and message.error is not None:
                self.close()
                raise CaptureError(
                    f"torch could not be imported:\n{message.error}",
                    help="Try: python -c 'import torch'. If that works, run again with --start spawn.",
                )
        self._serving = True

    def _lost(self, what: str) -> CaptureError:
        """The error that says what became of the server, once it and all that it started are gone."""
        failure = self._failure(what)
        self.close()
        return failure

    def _failure(self, what: str) -> CaptureError:
        said = ""
        if self._errors is not None:
            self._errors.seek(0)
            said = self._errors.read()[-4000:].decode("utf-8", "replace")
        return CaptureError(
            f"the process that starts the scenarios {what}" + (f":\n{said}" if said.strip() else ""),
            help="If the machine ran out of memory, set --memory-limit; else run again with --start spawn.",
            server_died=self._serving,
        )
