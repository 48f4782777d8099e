"""Whether torch can be imported, and is a build for this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.doctor.checks.torch_build import check_torch_build
from tests.unit.doctor.planted import a_probe, a_torch, healthy, only


def test_a_torch_that_imports_is_told_with_its_build(tmp_path: Path) -> None:
    check = only(check_torch_build(healthy(tmp_path)))

    assert (check.status, check.says) == ("ok", "2.13.0+cpu (CPU build) on Python 3.11.7")


def test_a_torch_that_is_not_installed_is_a_problem(tmp_path: Path) -> None:
    probe = a_probe(torch=None, errors={"torch": "ModuleNotFoundError: No module named 'torch'"})

    check = only(check_torch_build(healthy(tmp_path, probe=probe, torch_tags=())))

    assert check.status == "problem"
    assert check.says.startswith("torch is not installed for Python 3.11.7")
    assert "pip install torch" in check.help


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        ("ImportError: libgomp.so.1: cannot open shared object file: No such file or directory", "under libraries"),
        ("ImportError: libtorch_cpu.so: undefined symbol: _ZN3c105ErrorE", "two builds are mixed"),
        ("the process died of SIGSEGV", "faulthandler"),
        ("the process died of SIGILL", "this processor lacks"),
        ("the process died of SIGKILL", "want of memory"),
        ("AttributeError: module 'torch' has no attribute 'x'", "the whole error"),
    ],
)
def test_an_import_that_fails_says_the_loaders_reason_and_where_to_look(
    tmp_path: Path, error: str, advice: str
) -> None:
    torch = tmp_path / "torch/__init__.py"

    check = only(
        check_torch_build(healthy(tmp_path, torch_file=torch, probe=a_probe(torch=None, errors={"torch": error})))
    )

    assert (check.status, check.says) == ("problem", f"cannot be imported: {error}")
    assert advice in check.help


def test_a_file_that_stands_in_front_of_torch_is_named(tmp_path: Path) -> None:
    check = only(check_torch_build(healthy(tmp_path, torch_file=tmp_path / "torch.py")))

    assert check.status == "problem"
    assert f"{tmp_path}/torch.py is found first" in check.says


@pytest.mark.parametrize(
    "tag", ["cp312-cp312-manylinux_2_28_x86_64", "cp311-cp311-win_amd64", "cp311-cp311-manylinux_2_28_aarch64"]
)
def test_a_wheel_for_another_python_system_or_machine_is_named(tmp_path: Path, tag: str) -> None:
    _, wheel = check_torch_build(healthy(tmp_path, torch_tags=(tag,)))

    assert wheel.status == "problem"
    assert wheel.says == f"the installed torch is a build for {tag}, and this is Python 3.11.7 on Linux x86_64"


def test_a_debug_build_is_a_note(tmp_path: Path) -> None:
    check = only(check_torch_build(healthy(tmp_path, probe=a_probe(torch=a_torch(debug=True)))))

    assert check.status == "note"
