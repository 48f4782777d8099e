"""Gradients that are asked for on purpose: a block that refuses what torch would get silently wrong."""

from harness.gradients.collector import GradientCollector, OnExit
from harness.gradients.finite import NonFinite
from harness.gradients.named import Parameters
from harness.gradients.passes import StaleGradient

__all__ = ["GradientCollector", "NonFinite", "OnExit", "Parameters", "StaleGradient"]
