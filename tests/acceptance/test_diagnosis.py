"""From a program's file to why, where, who holds it and what to change: in real processes, nothing built by hand."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from harness.capture.discover import discover
from harness.cli.progress import SilentProgress
from harness.model.report import Finding
from harness.pipeline import RunOptions, run_scenarios

PROGRAMS: dict[str, tuple[str, dict[str, str]]] = {
    "a list in an attribute": (
        """
        class Writer:
            def __init__(self): self.kept = []
            def add(self, x):
                self.kept.append(x)
        writer = Writer()
        def step(i):
            writer.add(torch.ones(300))
        """,
        {"cause": "held_reference", "holder": "writer: Writer > kept: list > [*]", "line": "self.kept.append(x)"},
    ),
    "a total that keeps its graph": (
        """
        w = torch.nn.Parameter(torch.ones(64))
        total = 0.0
        def step(i):
            global total
            loss = (w * 2).exp().sum()
            total = total + loss
        """,
        {"cause": "autograd_graph_retained", "holder": "total > grad_fn", "line": "total = total + loss"},
    ),
    "objects without tensors": (
        """
        log = {}
        def step(i):
            log[i] = {"step": i, "message": "x" * 200, "values": [float(i)] * 20}
        """,
        {"cause": "python_objects", "holder": "log: dict", "line": 'log[i] = {"step"'},
    ),
    "a collector that is off": (
        """
        import gc
        gc.disable()
        class Node:
            def __init__(self):
                self.data, self.leaf = torch.ones(500), Leaf(self)
        class Leaf:
            def __init__(self, node): self.node = node
        def step(i):
            Node()
        """,
        {"cause": "reference_cycle", "holder": "leaf: Leaf > node", "line": "self.data, self.leaf"},
    ),
    "a surplus reference": (
        """
        import ctypes
        def step(i):
            t = torch.ones(500)
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(t))
        """,
        {"cause": "lost_reference", "holder": "a reference that nothing accounts for", "line": "t = torch.ones(500)"},
    ),
    "callbacks at exit": (
        """
        import atexit
        class Reader:
            def __init__(self):
                self.block = torch.ones(500)
                atexit.register(self.close)
            def close(self): pass
        def step(i):
            Reader()
        """,
        {"cause": "held_reference", "holder": "atexit", "line": "atexit.register(self.close)"},
    ),
}


def the_finding(source: str, folder: Path, **options: object) -> Finding:
    path = folder / "train.py"
    path.write_text("import torch\ntorch.set_num_threads(1)\n" + textwrap.dedent(source))
    scenarios, _ = discover([str(path)])
    report = run_scenarios(scenarios, options=RunOptions(steps=64, **options), progress=SilentProgress())  # type: ignore[arg-type]
    assert report.errors == ()
    (run,) = report.runs
    (finding,) = run.findings
    return finding


OFTEN = ("a list in an attribute", "a total that keeps its graph", "a surplus reference")
"""In each run of the tests; the others with the slow ones: each takes some seconds."""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(*program, id=name, marks=() if name in OFTEN else pytest.mark.slow)
        for name, program in PROGRAMS.items()
    ],
)
def test_a_leak_is_told_with_its_cause_its_holder_and_its_line(
    source: str, expected: dict[str, str], tmp_path: Path
) -> None:
    finding = the_finding(source, tmp_path, confirm=False)

    assert finding.cause == expected["cause"]
    assert finding.held_by is not None
    assert expected["holder"] in finding.held_by.text
    lines = [frame.source or "" for frame in (*finding.allocated_at[:1], *finding.retained_at[:1])]
    assert any(line.startswith(expected["line"]) for line in lines)


def test_cutting_the_holder_confirms_it(tmp_path: Path) -> None:
    source, _ = PROGRAMS["a list in an attribute"]

    assert the_finding(source, tmp_path, confirm=True).confirmed_by_cutting is True


@pytest.mark.slow
def test_objects_are_weighed_to_the_byte(tmp_path: Path) -> None:
    source = """
    kept = []
    def step(i):
        kept.append(bytes(967))  # 1000 bytes with its header, and malloc's own 8
    """

    finding = the_finding(source, tmp_path, confirm=False)

    assert finding.bytes_per_step == pytest.approx(1008 + 8, abs=16)
