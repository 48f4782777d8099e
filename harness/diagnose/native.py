"""What native stacks say of a finding: the C function that allocates, and the Python line that entered it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from harness.diagnose.case import Case
from harness.diagnose.releasers import releaser_of
from harness.model.native import NativeRecord, NativeSite
from harness.model.report import Finding
from harness.model.verdict import Suspect
from harness.units import format_rate

__all__ = ["caller_of", "is_native", "needs_native_stacks", "with_native_stacks"]

_METRICS = ("heap.used", "mapped.private", "rss.anon")
_LEAST_SHARE = 0.05
"""A site that explains less of the growth than this is the company of another."""

_ONE_ALLOCATION_SHARE = 0.5
"""One block alone is a leak that grows by realloc, or something that happened once: it must explain half."""

_ALLOCATORS = ("operator new", "_int_malloc", "__libc_", "std::allocator", "std::", "void std::", "__gnu_cxx")
_TENSORS = "c10::alloc_cpu"


def is_native(suspect: Suspect) -> bool:
    """Whether this is growth that neither tensors nor Python objects explain."""
    return suspect.metric in _METRICS and suspect.site is None


def needs_native_stacks(findings: Iterable[Finding]) -> bool:
    """Whether the expensive experiment pays: a part of the growth is native, and nothing in Python explains it."""
    return any(finding.cause == "native_heap" for finding in findings)


def with_native_stacks(case: Case, finding: Finding) -> Finding:
    """*finding* with what memray saw of it; the same where it saw nothing that fits."""
    subject = case.recording.subject("native")
    record = subject.native if subject is not None else None
    if record is None or record.absence is not None or not record.steps:
        return finding
    if finding.cause != "native_heap" or not is_native(case.suspect):
        return _with_stack_of_its_line(finding, record)
    rate = case.suspect.growth.per_step
    sites = _that_grow(record, rate)
    if not sites:
        told = f"; followed natively for {record.steps} steps, no single place leaves a part of it behind"
        return msgspec.structs.replace(finding, explanation=finding.explanation + told)
    chosen = _of_one_line(sites)
    first = chosen[0]
    if case.held is not None and case.held.profilers:  # who does it is known, and how it is ended
        return msgspec.structs.replace(finding, allocated_at=first.frames, native_stack=first.stack)
    return msgspec.structs.replace(
        finding,
        explanation=_explanation(case, record, chosen, sites, rate),
        fix=_fix(first, finding.fix),
        allocated_at=first.frames,
        native_stack=first.stack,
    )


def _that_grow(record: NativeRecord, rate: float) -> tuple[NativeSite, ...]:
    """The sites whose bytes and number fit growth in each step."""
    whole = rate * record.steps
    return tuple(
        site
        for site in record.sites
        if _TENSORS not in _names(site)
        and site.bytes >= whole * (_LEAST_SHARE if site.allocations > 1 else _ONE_ALLOCATION_SHARE)
    )


def _of_one_line(sites: tuple[NativeSite, ...]) -> tuple[NativeSite, ...]:
    """The sites below the Python line that leaves most behind, the largest first."""
    by_line: dict[object, list[NativeSite]] = {}
    for site in sites:
        at = (site.frames[0].path, site.frames[0].line) if site.frames else None
        by_line.setdefault(at, []).append(site)
    return tuple(max(by_line.values(), key=lambda group: sum(site.bytes for site in group)))


def _explanation(
    case: Case, record: NativeRecord, chosen: tuple[NativeSite, ...], sites: tuple[NativeSite, ...], rate: float
) -> str:
    first = chosen[0]
    bytes_per_step = sum(site.bytes for site in chosen) / record.steps
    if all(site.allocations == 1 for site in chosen):
        bytes_per_step = min(bytes_per_step, rate)  # reallocated: what it held before the first step is among it
    share = min(1.0, bytes_per_step / rate) if rate > 0 else 1.0
    others = sorted({site.frames[0].line for site in sites if site.frames} - {f.line for f in first.frames[:1]})
    also = f"; more at line {', '.join(map(str, others[:4]))}" if others else ""
    return (
        f"{format_rate(bytes_per_step)} is allocated by {_allocator(first)}, {_entered(first)}, and never freed: "
        f"{share:.0%} of the growth that was measured{also}"
    )


def _allocator(site: NativeSite) -> str:
    """``malloc in deflateInit2_``: the allocator, and the function that called it where it has a name."""
    caller = caller_of(site.stack)
    told = f"{site.stack[0]} in {caller}" if caller else site.stack[0]
    return told if 2 * site.stack_bytes >= site.bytes else f"{told} and other places below the same line"


def caller_of(stack: tuple[str, ...]) -> str | None:
    """The innermost function with a name that is no allocator's; None where Python called the allocator itself."""
    for name in stack[1:]:
        short = _short(name)
        if short != "ctypes" and not short.startswith(_ALLOCATORS) and short not in ("malloc", "calloc", "realloc"):
            return short
    return None


def _entered(site: NativeSite) -> str:
    by = "called by ctypes from" if site.stack[-1] == "ctypes" else "called from"
    if not site.frames:
        return "called by a thread that runs no Python"
    return f"{by} line {site.frames[0].line} in {site.frames[0].function}"


def _fix(site: NativeSite, otherwise: str) -> str:
    """The missing call by its name, where that is known: the one that Python called counts most."""
    called = [_short(name) for name in reversed(site.stack) if name != "ctypes"]
    through_ctypes = site.stack[-1] == "ctypes"
    for name in called:
        if name in ("malloc", "calloc", "realloc", "mmap", "posix_memalign") and not (
            through_ctypes and called[0] == name
        ):
            continue
        released = releaser_of(name)
        if released is not None and site.frames:
            return f"Call {released} for what {name.strip('_')} gave at line {site.frames[0].line}, in a finally block."
    if site.frames and otherwise.startswith("Look for"):
        return (
            f"Look at line {site.frames[0].line} in {site.frames[0].function}: what the call there allocates must be "
            "freed, closed or stopped by another call."
        )
    return otherwise


def _with_stack_of_its_line(finding: Finding, record: NativeRecord) -> Finding:
    """Asked for by hand, for a leak whose line is known: only the stack is new."""
    if not finding.allocated_at:
        return finding
    at = (finding.allocated_at[0].path, finding.allocated_at[0].line)
    site = next((s for s in record.sites if s.frames and (s.frames[0].path, s.frames[0].line) == at), None)
    return finding if site is None else msgspec.structs.replace(finding, native_stack=site.stack)


def _short(name: str) -> str:
    """A demangled name without its arguments."""
    name = name.removeprefix("__GI_")  # how libc calls itself
    depth, end = 0, len(name)
    for k, letter in enumerate(name):
        if letter == "<":
            depth += 1
        elif letter == ">":
            depth -= 1
        elif letter == "(" and not depth and k and not name.startswith("(anonymous", k):
            end = k
            break
    return name[:end]


def _names(site: NativeSite) -> tuple[str, ...]:
    return tuple(_short(name) for name in site.stack)
