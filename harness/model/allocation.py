"""Where a tensor storage was allocated, and what one site keeps alive over the steps."""

from __future__ import annotations

import msgspec

__all__ = ["Frame", "ScopeOwner", "SiteRecord"]


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One Python frame of an allocation. ``source`` is the stripped source line, or None where it is not to be had."""

    path: str
    line: int
    function: str
    source: str | None = None


class ScopeOwner(msgspec.Struct, frozen=True, kw_only=True):
    """Open resource scopes of one name that own storages of a site, at the last checkpoint.

    ``name`` is their path without a number, ``opened_at`` where the first of them was opened (the user's frames,
    innermost first). ``scopes`` counts them, ``storages`` and ``bytes`` what of the site they own together;
    ``held`` how many of these storages the scopes themselves hold on to (tensors given to ``own``); ``abandoned`` the
    scopes that nobody refers to any more."""

    name: str
    opened_at: tuple[Frame, ...]
    scopes: int
    storages: int
    bytes: int
    held: int = 0
    abandoned: int = 0


class SiteRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The storages that one site has alive at the end of each step.

    ``frames`` are innermost user frame first. ``storages[k]`` and ``bytes[k]`` hold at the end of ``steps[k]``;
    ``oldest_birth[k]`` is the birth step of the oldest one still alive then (-1: before the first step, and
    None: nothing alive). ``in_graph`` counts how many of the last survivors were made by an operator that
    autograd recorded (they have a ``grad_fn``); ``views`` how many are larger than every tensor seen on them.
    """

    site: int
    device: str
    operator: str
    frames: tuple[Frame, ...]
    steps: tuple[int, ...]
    storages: tuple[int, ...]
    bytes: tuple[int, ...]
    oldest_birth: tuple[int | None, ...]
    in_graph: int = 0
    owners: tuple[ScopeOwner, ...] = ()
