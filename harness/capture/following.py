"""What follows tensors and operators in one subject, by its role."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from harness.model.recording import FaultRecord, Role

__all__ = ["Following", "follow"]


class Following(msgspec.Struct, kw_only=True):
    """The ledger, what watches peaks, what is told each operator, and who sees faults; each may not be there."""

    ledger: Any = None
    peak: Any = None
    operators: Any = None
    observers: tuple[Any, ...] = ()

    @property
    def ran_backward(self) -> bool:
        return self.operators is not None and bool(self.operators.ran_backward)

    @property
    def watchers(self) -> list[Any]:
        """Those that want to know which step is about to run."""
        return [observer for observer in self.observers if hasattr(observer, "at_step")]

    @property
    def faults(self) -> tuple[FaultRecord, ...]:
        return tuple(fault for observer in self.observers for fault in observer.faults())

    def census(self) -> Callable[[], tuple[int, dict[int, int]]] | None:
        """Counts the autograd nodes, and which of the ledger's storages they hold; where operators are followed."""
        if self.ledger is None or self.operators is None:
            return None
        from harness.capture.graph_census import take_census

        ledger = self.ledger

        def census() -> tuple[int, dict[int, int]]:
            taken = take_census(ledger.storage_keys(), key_of=ledger.key_of)
            return taken.nodes, taken.in_graph

        return census


def follow(role: Role) -> Following:
    """Start what *role* needs, before the scenario is imported, so that what the file allocates then is seen too."""
    if role in ("uncollected", "cut", "repeated"):
        return Following(ledger=_light_ledger())
    return _all_of_it() if role == "ledger" else Following()


def _all_of_it() -> Following:
    import torch

    from harness.capture.device_observer import DeviceObserver
    from harness.capture.operator_observer import OperatorObserver
    from harness.gradients.not_zeroed import GradientObserver
    from harness.ledger.start import why_not_native

    devices, gradients = DeviceObserver(), GradientObserver()
    operators = OperatorObserver(devices)
    gradients.start()
    following = Following(operators=operators, observers=(devices, gradients))
    if why_not_native() is None and not torch.accelerator.is_available():  # it does not see a device's tensors
        from harness.capture.operator_watch import OperatorWatch
        from harness.capture.peak_watch import PeakWatch
        from harness.ledger.native_ledger import NativeLedger

        following.ledger = NativeLedger(keep_events=True).start()
        following.peak = PeakWatch(following.ledger)
        following.peak.start()
        OperatorWatch(operators, following.ledger, following.peak).start()  # nor does it see operators
        return following
    from harness.ledger.dispatch import DispatchLedger

    following.ledger = DispatchLedger(observer=operators).start()
    return following


def _light_ledger() -> Any:
    """Where the collector is left alone, tensors are followed too, if that costs next to nothing: garbage has sites."""
    from harness.ledger.start import why_not_native

    if why_not_native() is not None:
        return None
    from harness.ledger.native_ledger import NativeLedger

    return NativeLedger().start()
