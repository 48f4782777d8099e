"""The end of a scope: last in, first out; past every failure; one error at the end."""

from __future__ import annotations

import gc
import time
from typing import Any

from harness.errors import BudgetExceededError, EscapedTensorsError, ScopeContextError
from harness.scope.closer import close_survivors
from harness.scope.escaping import escaped
from harness.scope.quarantine import QUARANTINE
from harness.scope.record import OPEN, Place, Record
from harness.scope.roles import ROLES
from harness.units import format_bytes, format_number_of

__all__ = ["close_record", "end_members", "raise_for"]


def close_record(
    record: Record, *, at: Place, by: str | None = None, error: BaseException | None = None
) -> list[BaseException]:
    """Close the scope and what is below it; what went wrong is returned, and nothing stops it half-way.

    *by* names the ancestor that closes it; *error* is the exception that the scope is left with."""
    with record.lock:
        if record.state != "open":
            return []
        record.state = "closing"
        record.closed_at, record.closed_by, record.closed_ns = at, by, time.monotonic_ns()
    if (
        not record.members
        and record.extra is None
        and record.ledger is not None
        and not record.ledger.live_in_scope(record.number).storages
    ):
        errors: list[BaseException] = []
    else:
        errors = end_members(record, at)
        errors += _end_survivors(record, error)
    if record.budget is not None or record.kept:
        errors += _refused(record, error)
        errors += [e for e in record.kept if error is None or not isinstance(e, EscapedTensorsError)]
    record.state = "closed"
    OPEN.pop(record.number, None)
    if record.parent is not None:
        record.parent.children.pop(record.number, None)
        record.parent.members.pop(record.number, None)
    record.detach()
    return errors


def end_members(record: Record, at: Place) -> list[BaseException]:
    """End what the scope closes, the last that came first."""
    errors: list[BaseException] = []
    for key in reversed(list(record.members)):
        member = record.members.pop(key, None)
        try:
            if isinstance(member, Record):
                errors += close_record(member, at=at, by=record.path)
            elif member is not None:
                member.end(record)
        except Exception as error:
            errors.append(error)
    return errors


def _end_survivors(record: Record, error: BaseException | None) -> list[BaseException]:
    ledger = record.ledger
    if ledger is None:
        return []
    try:
        QUARANTINE.settle()
        ROLES.hand_over(record, ledger)
        if record.on_escape == "close":
            close_survivors(record, ledger)
        survivors = ledger.survivors_in_scope(record.number)
        if survivors and record.on_escape == "raise":
            gc.collect()  # garbage that waits for the collector did not escape
            survivors = ledger.survivors_in_scope(record.number)
        return escaped(record, ledger, survivors, error) if survivors else []
    except Exception as failure:
        return [failure]


def _refused(record: Record, error: BaseException | None) -> list[BaseException]:
    """What a refused allocation becomes at the exit of the scope whose budget it was, also where it was swallowed."""
    if record.budget is None or record.ledger is None:
        return []
    use = record.ledger.scope_use(record.number)
    on_device = (record.extra or {}).get("refused")
    if on_device is None and (use is None or not use.refusals):
        return []
    beginning = f"scope {record.path}: "
    text = str(error)
    if error is not None and beginning in text:
        exceeded = BudgetExceededError(beginning + text.split(beginning, 1)[1].splitlines()[0])
        exceeded.__cause__ = error
        return [exceeded]
    times = use.refusals if use is not None else 1
    return [
        BudgetExceededError(
            f"{beginning}its budget of {format_bytes(record.budget)} was exceeded {format_number_of(times, 'time')}, "
            "and the program went on after the error"
        )
    ]


def raise_for(record: Record, errors: list[BaseException]) -> None:
    """Raise what closing gave: nothing, one of our own, or a group."""
    if not errors:
        return
    # The lists are emptied: an error's traceback leads to the frames that have them, and they would lead to the error.
    if len(errors) == 1 and isinstance(errors[0], (BudgetExceededError, EscapedTensorsError, ScopeContextError)):
        raise errors.pop()
    raise _group(record, errors)


def _group(record: Record, errors: list[BaseException]) -> BaseExceptionGroup[Any]:
    group = BaseExceptionGroup(f"closing scope {record.path}: {len(errors)} failed", errors)
    errors.clear()
    return group
