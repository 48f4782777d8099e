"""Gradients as facts: a block that refuses what torch would get silently wrong, a watch over a program that runs as it
is, and a check of derivatives."""

from harness.gradients.collector import GradientCollector, OnExit
from harness.gradients.derivative import central_difference, check_gradients
from harness.gradients.finite import NonFinite
from harness.gradients.named import Parameters
from harness.gradients.passes import StaleGradient
from harness.gradients.watch import GradientWatch

__all__ = [
    "GradientCollector",
    "GradientWatch",
    "NonFinite",
    "OnExit",
    "Parameters",
    "StaleGradient",
    "central_difference",
    "check_gradients",
]
