"""Shows observers every operator: what the dispatch ledger does on the way, for the native one."""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from harness.capture.peak_watch import PeakWatch
from harness.ledger.dispatch_mode import Observer
from harness.ledger.native_ledger import NativeLedger

__all__ = ["OperatorWatch"]


class OperatorWatch(TorchDispatchMode):
    """In the thread that starts it, until the process ends. *observer* is told each operator before it runs; *peak*,
    in the steps that it watches, each one after it ran."""

    def __init__(self, observer: Observer, ledger: NativeLedger, peak: PeakWatch) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._observer = observer
        self._ledger = ledger
        self._peak = peak

    def start(self) -> None:
        """Begin to watch."""
        self.__enter__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self._observer(func._schema.name, args)
        if not self._peak.is_watching:
            return func(*args, **(kwargs or {}))
        first_event = self._ledger.events_so_far()
        result = func(*args, **(kwargs or {}))
        self._peak.ran(first_event, (*args, *kwargs.values()) if kwargs else args)
        return result
