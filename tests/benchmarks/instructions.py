"""What the native ledger costs a training step in instructions: ``python -m tests.benchmarks.instructions``.

The same models as in ``tests.benchmarks.overhead``, run under valgrind's callgrind (it must be installed), which counts
instead of timing: the figures do not depend on how busy the machine is. Counting starts after the warm-up. Not counted
is what the caches of a processor make of it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["main"]

_STEPS = 5
_WIDTHS = (64, 512)
_DEPTHS = {"nothing": None, "counts only": 0, "one frame": 1, "four frames": 4, "eight frames": 8}


def child(width: int, depth: int | None) -> None:
    """Warm up, then a few steps while callgrind counts."""
    import torch

    from harness.ledger.native_ledger import NativeLedger
    from tests.benchmarks.overhead import training_step

    torch.set_num_threads(1)
    step = training_step(width)
    if depth is not None:
        NativeLedger(depth=depth).start()
    for switch, steps in ((None, 4), ("on", _STEPS), ("off", 0)):
        if switch is not None:
            command = ["callgrind_control", "-i", switch, str(os.getpid())]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for _ in range(steps):
            step()  # warm-up and measurement on one line: a new line is a new site, and its first sight costs more


def _counted(width: int, depth: int | None) -> float:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}"]
        code = f"from tests.benchmarks.instructions import child; child({width}, {depth})"
        subprocess.run([*command, sys.executable, "-c", code], check=True, capture_output=True)
        counted = sum(
            int(found[1])
            for path in Path(folder).glob("callgrind.out*")
            for found in re.finditer(r"^(?:summary|totals): (\d+)", path.read_text(errors="replace"), re.MULTILINE)
        )
    return counted / _STEPS


def main() -> None:
    """Print a line a model and depth: instructions a step, and the ratio to nothing."""
    for width in _WIDTHS:
        base = None
        for name, depth in _DEPTHS.items():
            counted = _counted(width, depth)
            base = base or counted
            print(f"{width:4} wide  {name:13} {counted / 1e6:9.3f} M a step  {counted / base:6.4f}", flush=True)


if __name__ == "__main__":
    main()
