"""A read that would crash is an error with its place. Each in a process of its own: the watch lasts as long as it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo.source_tree import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks mincore(2)")

BEGIN = """
import mmap, sys
import numpy as np
import torch
torch.set_num_threads(1)
from harness.capture.read_watch import watch_reads
from harness.errors import UseAfterCloseError
watch_reads()
def said(read):
    try:
        read()
    except UseAfterCloseError as error:
        return str(error)
    return "no error"
def over_a_closed_mapping():
    with mmap.mmap(-1, 64 << 20) as buffer:  # large: what is mapped next takes a part of the gap, and not all
        return torch.frombuffer(buffer, dtype=torch.float32)
"""

READS = """
closed = over_a_closed_mapping()
for read in (closed.sum, lambda: torch.ones(1) + closed, lambda: closed[3].item(), closed.tolist, closed[:2].clone):
    text = said(read)
    assert "64.0 MiB, made by torch.frombuffer at " in text, text
assert said(lambda: closed[1:3].shape) == "no error"  # a view alone reads nothing
"""

MOVED = """
buffer = bytearray(8 << 20)
tensor = torch.frombuffer(buffer, dtype=torch.uint8)
assert said(tensor.sum) == "no error"
buffer.extend(bytes(512 << 20))
assert "made by torch.frombuffer at " in said(tensor.sum)
"""

SOUND = """
model = torch.nn.Linear(4, 4)
batch = torch.from_numpy(np.ones((2, 4), dtype=np.float32))
loss = model(batch).square().mean()
loss.backward()
torch.optim.Adam(model.parameters()).step()
assert loss.isfinite() and model.weight.grad.tolist() and batch[0].sum().item() == 4.0
torch.empty(0).sum(); torch.ones(3, device="meta").sum(); torch.eye(3).to_sparse().sum()
"""


@pytest.mark.parametrize("program", [READS, MOVED, SOUND], ids=["closed", "moved", "sound"])
def test_memory_that_is_gone_is_told_before_it_is_read_and_nothing_else_is(program: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(BEGIN + program)

    done = subprocess.run([sys.executable, str(file)], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
