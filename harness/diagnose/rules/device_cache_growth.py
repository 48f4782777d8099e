"""torch holds more and more device memory of which its tensors use no more than before."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion
from harness.units import format_rate

__all__ = ["device_cache_growth"]


def device_cache_growth(case: Case) -> Opinion | None:
    """Asked of reserved device memory while allocated device memory is flat."""
    if case.suspect.metric != "device.reserved" or case.grows("device.allocated"):
        return None
    return Opinion(
        cause="device_cache_growth",
        explanation=(
            f"memory reserved by the caching allocator grows by {format_rate(case.suspect.growth.per_step)} while the "
            "bytes in live tensors do not: blocks of ever new sizes do not fit the free ones"
        ),
        fix="Make shapes repeat (pad, bucket), or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
    )
