"""Lending: a scope works with tensors of another one for a while, and gives them back."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from harness.errors import ScopeClosedError
from harness.scope.ownership import _check_room, _validated, closed_error, move, require_open
from harness.scope.record import Place, Record

__all__ = ["Loan"]


class Loan:
    """``with scope.borrow(a, b):``. Nestable: each loan gives back to whom it took from."""

    def __init__(self, record: Record, trees: tuple[Any, ...], at: Place) -> None:
        self._record = record
        self._trees = trees
        self._at = at
        self._lent: list[tuple[Any, Record]] = []
        self._open = False

    def __enter__(self) -> Any:
        record = self._record
        with record.lock:
            require_open(record)
            ledger = record.ledger or record.attach()
            moving = [(s, owner) for s, owner in _validated(record, self._trees, ledger) if owner is not record]
            _check_room(record, moving)
            move(record, moving, ledger, self._at)
            table = record.more().setdefault("lent", {})
            table.update({storage._cdata: owner for storage, owner in moving})
            self._lent, self._open = moving, True
            record.members[id(self)] = self
        return self._trees[0] if len(self._trees) == 1 else self._trees

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(self._record)

    def end(self, record: Record) -> None:
        """Give everything back; :class:`ScopeClosedError` where a lender was closed meanwhile, after all are back."""
        if not self._open:
            return
        self._open = False
        record.members.pop(id(self), None)
        ledger = record.ledger or record.attach()
        gone: list[ScopeClosedError] = []
        lent, self._lent, self._trees = self._lent, [], ()
        for storage, lender in lent:
            (record.extra or {}).get("lent", {}).pop(storage._cdata, None)
            home = lender.nearest_open()
            move(home, [(storage, record)], ledger, self._at)
            if home is not lender and not gone:
                error = closed_error(lender)
                gone.append(
                    ScopeClosedError(
                        f"scope {record.path} gives back what it borrowed, and the lender was closed meanwhile "
                        f"({error}); it belongs to {home.path} now"
                    )
                )
        if gone:
            raise gone[0]
