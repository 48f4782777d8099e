"""Whether native stacks can be recorded."""

from __future__ import annotations

from pathlib import Path

from harness.doctor.checks.native_stacks import check_native_stacks
from tests.unit.doctor.planted import a_probe, healthy, only


def test_memray_is_named_with_its_version(tmp_path: Path) -> None:
    check = only(check_native_stacks(healthy(tmp_path, packages={"memray": "1.20.0"})))

    assert (check.status, check.says) == ("ok", "memray 1.20.0")


def test_memray_that_cannot_be_imported_is_a_note_with_the_reason(tmp_path: Path) -> None:
    probe = a_probe(native_stacks=None, errors={"native_stacks": "ImportError: libunwind.so.8"})

    check = only(check_native_stacks(healthy(tmp_path, probe=probe)))

    assert check.status == "note"
    assert "libunwind.so.8" in check.says
