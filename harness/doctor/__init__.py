"""Says what works in these surroundings, what does not, and why. Nothing here imports torch into this process."""

from harness.doctor.examination import examine
from harness.doctor.gathering import gather
from harness.doctor.surroundings import Surroundings

__all__ = ["Surroundings", "examine", "gather"]
