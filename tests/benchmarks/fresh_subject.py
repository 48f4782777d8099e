"""How long until a fresh subject is ready, once the fork server is up: ``python -m tests.benchmarks.fresh_subject``.

Ready means: its process is up, torch is seeded, the scenario's file is imported, and it has said so; the next thing is
its set-up. Measured from the request, in the parent. Beside it, the same for a fresh interpreter: what a fork saves.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from harness.capture.client import ForkServer
from harness.capture.wire import Facts, FrameReader, Job, SubjectGone

__all__ = ["main"]


def _ready_ms(server: ForkServer, job: Job, *, fresh_interpreter: bool) -> float:
    """Milliseconds from the request to the subject's word that its scenario is imported."""
    reader = FrameReader()
    began = time.perf_counter()
    handle = server.launch(job, fresh_interpreter=fresh_interpreter)
    while not any(isinstance(message, Facts) for message in reader.feed(handle.wire.recv(65536))):
        pass
    ready = time.perf_counter()
    server.stop_subject()
    while not any(isinstance(message, SubjectGone) for message in server.news()):
        pass
    handle.close()
    return (ready - began) * 1e3


def main() -> None:
    """Print the median, the least and the most of 20 forks, and of 3 fresh interpreters."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "empty.py"
        scenario.write_text("def step(i): pass\n")
        job = Job(
            path=str(scenario),
            name="empty",
            variant="step",
            role="plain",
            warmup=0,
            first_stop=1,
            seed=0,
            memory_limit_bytes=None,
        )
        with ForkServer(seed=0) as server:
            _ready_ms(server, job, fresh_interpreter=False)
            forks = [_ready_ms(server, job, fresh_interpreter=False) for _ in range(20)]
            fresh = [_ready_ms(server, job, fresh_interpreter=True) for _ in range(3)]
    for name, times in (("forked subject", forks), ("fresh interpreter", fresh)):
        print(
            f"{name:18} ready after {statistics.median(times):7.1f} ms "
            f"(median of {len(times)}; {min(times):.1f} to {max(times):.1f})"
        )
    print(f"a fork is ready {statistics.median(fresh) / statistics.median(forks):.0f} times sooner")


if __name__ == "__main__":
    main()
