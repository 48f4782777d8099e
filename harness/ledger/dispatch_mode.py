"""The dispatch mode that shows a ledger every operator and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from harness.ledger.scope_book import Presence

__all__ = ["LedgerMode", "Observer"]

Observer = Callable[[str, Sequence[Any]], None]
"""Called before each operator with its name ("aten::addmm") and its positional arguments."""


class _Ledger(Protocol):
    observer: Observer | None
    is_running: bool

    @property
    def refusal(self) -> str | None: ...

    def see(self, tensor: torch.Tensor, func: Any, origin: Presence) -> None: ...

    def refused(self) -> RuntimeError: ...


class LedgerMode(TorchDispatchMode):
    """Runs every operator unchanged; raises afterwards if the ledger refuses what came out.

    torch's own threads, which run a backward or a fork, bring the mode of the thread that started them: what they
    allocate belongs to the scope that *origin*, that thread, is in."""

    def __init__(self, ledger: _Ledger, origin: Presence) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._ledger = ledger
        self._origin = origin

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not self._ledger.is_running:  # another thread may still have the mode
            return func(*args, **(kwargs or {}))
        observer = self._ledger.observer
        if observer is not None:
            observer(func._schema.name, args)
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self._ledger.see(out, func, self._origin)
        elif out is not None:
            self._see_all(out, func)
        if self._ledger.refusal is not None:
            del out  # what is refused must die with the error, and not live on in the frames of its traceback
            raise self._ledger.refused()
        return out

    def _see_all(self, out: Any, func: Any) -> None:
        for value in out if type(out) in (tuple, list) else tree_iter(out):
            if isinstance(value, torch.Tensor):
                self._ledger.see(value, func, self._origin)
            elif type(value) in (tuple, list):
                for inner in tree_iter(value):
                    if isinstance(inner, torch.Tensor):
                        self._ledger.see(inner, func, self._origin)
