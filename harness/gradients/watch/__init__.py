"""What became of the gradients of a program that runs, unmodified: missing, zero, not finite, and for which reason."""

from harness.gradients.watch.gradient_watch import GradientWatch

__all__ = ["GradientWatch"]
