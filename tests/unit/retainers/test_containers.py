"""Which grown containers are told."""

from __future__ import annotations

from typing import Any, cast

import pytest

from harness.model.holding import HolderPath, Link, RootKind
from harness.retainers.containers import grown_groups
from harness.retainers.paths import Paths


class OneWay:
    """Every container is come by in the same way."""

    def __init__(self, root_kind: RootKind) -> None:
        link = Link(name="rows", kind="list", text="rows: list")
        self._path = HolderPath(root="module job", root_kind=root_kind, links=(link,))

    def to_object(self, container: Any) -> HolderPath:
        return self._path


def told_of(root_kind: RootKind) -> list[int]:
    rows = [0] * 40
    groups = grown_groups([(rows, 0, 40)], cast("Paths", OneWay(root_kind)), steps=40)
    return [group.told.size_now for group in groups]


def test_a_container_of_the_programs_that_gained_elements_is_told() -> None:
    assert told_of("module") == [40]


@pytest.mark.parametrize("root_kind", ["ours", "cycle"])
def test_a_container_that_no_root_leads_to_any_more_is_another_one_at_that_address(root_kind: RootKind) -> None:
    assert told_of(root_kind) == []
