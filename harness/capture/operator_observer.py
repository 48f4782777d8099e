"""What is told of each operator before it runs: to whom it is of interest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from harness.capture.device_observer import DeviceObserver

__all__ = ["OperatorObserver"]


class OperatorObserver:
    """Passes operators on to *devices*, and notices whether autograd's backward ever runs one."""

    def __init__(self, devices: DeviceObserver) -> None:
        self._devices = devices
        self.ran_backward = False

    def __call__(self, operator: str, arguments: Sequence[Any]) -> None:
        if not self.ran_backward and torch._C._current_graph_task_id() != -1:
            self.ran_backward = True
        self._devices(operator, arguments)
