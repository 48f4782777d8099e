"""Shows an observer every operator before it runs: what the dispatch ledger does on the way, for the native one."""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from harness.ledger.dispatch_mode import Observer

__all__ = ["OperatorWatch"]


class OperatorWatch(TorchDispatchMode):
    """In the thread that starts it, until the process ends."""

    def __init__(self, observer: Observer) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._observer = observer

    def start(self) -> None:
        """Begin to watch."""
        self.__enter__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self._observer(func._schema.name, args)
        return func(*args, **(kwargs or {}))
