"""The control groups that this process is in, in both versions of the interface, from its own up to the outermost.

Every level limits: the tightest one counts, and it is often not the innermost. In a container the path in
/proc/self/cgroup may be the host's and lead nowhere; then the mount itself is the container's group.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from harness.doctor.surroundings import Surroundings

__all__ = ["MemoryLimit", "cpu_quota", "memory_limits"]

_NO_LIMIT = 2**60
"""Version 1 says "unlimited" with a number just below 2**63."""


class MemoryLimit(msgspec.Struct, frozen=True, kw_only=True):
    """``room_bytes`` is what the group may still take; file pages that can be dropped count as room."""

    group: str
    limit_bytes: int
    room_bytes: int


def memory_limits(here: Surroundings) -> tuple[MemoryLimit, ...]:
    """One for each level that has a limit, the one with the least room first."""
    names = ("memory.max", "memory.current", "inactive_file")
    found = [_memory(folder, shown, *names) for folder, shown in _groups(here, "")]
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    found += [_memory(folder, shown, *names) for folder, shown in _groups(here, "memory")]
    return tuple(sorted((limit for limit in found if limit is not None), key=lambda limit: limit.room_bytes))


def cpu_quota(here: Surroundings) -> float | None:
    """How many processors' worth of time the tightest group may take; None without a limit."""
    quotas = []
    for folder, _ in _groups(here, ""):
        quota, _, period = (_text(folder / "cpu.max") or "").partition(" ")
        quotas.append((quota, period))
    for folder, _ in _groups(here, "cpu"):
        quotas.append((_text(folder / "cpu.cfs_quota_us") or "", _text(folder / "cpu.cfs_period_us") or ""))
    return min(
        (int(quota) / int(period) for quota, period in quotas if quota.isdigit() and period.isdigit() and int(period)),
        default=None,
    )


def _groups(here: Surroundings, controller: str) -> Iterator[tuple[Path, str]]:
    """Folders from the process's own group up, with their names; *controller* is empty for version 2."""
    top = here.root / "sys/fs/cgroup"
    for line in (here.text("proc/self/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller:
            if controller not in controllers.split(","):
                continue
            mounts = (top / controllers, top / controller)
        else:
            if number != "0" or controllers:
                continue
            mounts = (top / "unified", top)
        mount = next((mount for mount in mounts if mount.is_dir()), top)
        folder = mount / path.lstrip("/")
        if ".." in folder.parts or not folder.is_dir():
            folder = mount
        while True:
            yield folder, f"/{folder.relative_to(mount)}".removesuffix(".")
            if folder == mount:
                break
            folder = folder.parent


def _memory(folder: Path, shown: str, limit: str, usage: str, droppable: str) -> MemoryLimit | None:
    most = _text(folder / limit) or ""
    if not most.isdigit() or int(most) >= _NO_LIMIT:
        return None
    used = _text(folder / usage) or "0"
    stat = dict(line.split(" ", 1) for line in (_text(folder / "memory.stat") or "").splitlines() if " " in line)
    taken = int(used if used.isdigit() else 0) - int(stat.get(droppable, "0"))
    return MemoryLimit(group=shown, limit_bytes=int(most), room_bytes=int(most) - max(taken, 0))


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
