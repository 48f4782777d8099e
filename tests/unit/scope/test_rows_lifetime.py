"""The rows on opening and closing: who closes what, in which order, and what is told."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable

import pytest
import torch

from harness.errors import ScopeClosedError, ScopeContextError, UsageError
from harness.ledger import Ledger
from harness.scope import ResourceScope, open_scopes, root


def run(program: str) -> subprocess.CompletedProcess[str]:
    """*program* in a process of its own."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


class Closable:
    """Notes when it is closed; raises where it is told to."""

    def __init__(self, name: str, log: list[str], error: Exception | None = None) -> None:
        self.name, self.log, self.error = name, log, error

    def close(self) -> None:
        self.log.append(self.name)
        if self.error is not None:
            raise self.error


def test_row_01_the_root_cannot_be_closed() -> None:
    with pytest.raises(ScopeContextError, match="root scope cannot be closed"):
        root().close()

    assert root().is_open


def test_row_01_at_exit_every_open_scope_is_listed_with_where_it_was_opened(tmp_path: pytest.TempPathFactory) -> None:
    done = run(
        "from harness.scope import ResourceScope\n"
        "import torch\n"
        "held = ResourceScope('request')\n"
        "held.own(torch.ones(1000))\n"
        "with ResourceScope('closed'): pass\n"
    )

    assert done.returncode == 0
    assert "scope_not_closed: 1 scope still open at exit" in done.stderr
    assert "root/request#1, opened at <string>:3 in <module>, owns 1 storage, 3.9 KiB" in done.stderr


def test_row_02_a_child_may_be_opened_below_a_capped_scope(ledger: Ledger) -> None:
    with ResourceScope("model") as model:
        model.cap()
        with model.child("request") as request:
            made = torch.ones(10)

            assert request.dump().storages == 1
            del made
        assert request.path.startswith("root/model/request#")


def test_row_03_an_abandoned_scope_is_reported_and_not_kept_alive(ledger: Ledger) -> None:
    scope = ResourceScope("abandoned")
    reference = weakref.ref(scope)

    with pytest.warns(ResourceWarning, match=r"root/abandoned#\d+ was never closed .* opened at .*test_rows_lifetime"):
        del scope

    assert reference() is None
    (left,) = open_scopes()
    assert (left.name, left.abandoned) == ("root/abandoned", True)
    assert left.opened_at[0].source == 'scope = ResourceScope("abandoned")'
    _close_all()


def test_row_04_closing_goes_last_in_first_out_past_failures_and_raises_one_group(ledger: Ledger) -> None:
    log: list[str] = []
    scope = ResourceScope("work")
    for name, error in (("a", None), ("b", OSError("b broke")), ("c", ValueError("c broke")), ("d", None)):
        scope.own(Closable(name, log, error))

    with pytest.raises(BaseExceptionGroup) as raised:
        scope.close()

    assert log == ["d", "c", "b", "a"]
    assert [str(error) for error in raised.value.exceptions] == ["c broke", "b broke"]
    assert not scope.is_open
    scope.close()
    assert log == ["d", "c", "b", "a"]


def test_row_05_closing_a_parent_closes_its_children_and_says_so(ledger: Ledger) -> None:
    parent = ResourceScope("parent")
    child = parent.child("child")
    grandchild = child.child("grandchild")

    parent.close()

    assert not child.is_open
    assert not grandchild.is_open
    assert child.dump().closed_by == parent.path
    assert grandchild.dump().closed_by == child.path


@pytest.mark.parametrize("use", ["adopt", "child", "own", "enter", "batches", "release", "keep", "borrow"])
def test_row_06_a_closed_scope_says_which_by_whom_where_and_when(ledger: Ledger, use: str) -> None:
    parent = ResourceScope("parent")
    scope = parent.child("request")
    parent.close()
    tensor = torch.ones(3)
    uses: dict[str, Callable[[], object]] = {
        "adopt": lambda: scope.adopt(tensor),
        "child": lambda: scope.child("x"),
        "own": lambda: scope.own(tensor),
        "enter": scope.__enter__,
        "batches": lambda: scope.batches([tensor]),
        "release": lambda: scope.release(tensor),
        "keep": lambda: scope.keep(tensor),
        "borrow": lambda: scope.borrow(tensor).__enter__(),
    }

    with pytest.raises(ScopeClosedError) as raised:
        uses[use]()

    text = str(raised.value)
    assert scope.path in text
    assert f"by {parent.path}, at " in text
    assert "test_rows_lifetime.py:" in text
    assert " s ago" in text
    assert raised.value.help


def test_a_name_that_says_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="a scope's name"):
        ResourceScope("")


def test_an_unknown_on_escape_is_refused() -> None:
    with pytest.raises(UsageError, match="on_escape"):
        ResourceScope("x", on_escape="ignore")  # type: ignore[arg-type]


def test_an_exception_in_the_block_comes_through_and_closes_the_scope(ledger: Ledger) -> None:
    log: list[str] = []

    with pytest.raises(KeyError), ResourceScope("work") as scope:
        scope.own(Closable("a", log))
        raise KeyError("mine")

    assert log == ["a"]
    assert not scope.is_open


def _close_all() -> None:
    from harness.scope.closing import close_record
    from harness.scope.record import ROOT

    for record in list(ROOT.children.values()):
        close_record(record, at=())
    gc.collect()
