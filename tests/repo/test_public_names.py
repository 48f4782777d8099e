"""What users may import. A change here is a change for them: it belongs in CHANGELOG.md."""

from __future__ import annotations

import harness

PUBLIC_NAMES = (
    "GradientCollector",
    "GradientWatch",
    "HarnessError",
    "NullScope",
    "ResourceScope",
    "Scenario",
    "__version__",
    "batches",
    "central_difference",
    "check_gradients",
    "detect",
    "fault",
    "gradient_wrong",
    "higher_peak",
    "leak",
    "look_alike",
    "more_allocations",
    "run",
    "slower",
    "stable",
)


def test_the_public_names_are_the_committed_ones() -> None:
    assert tuple(harness.__all__) == PUBLIC_NAMES


def test_every_public_name_is_there() -> None:
    assert [name for name in PUBLIC_NAMES if not hasattr(harness, name)] == []
