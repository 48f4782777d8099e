"""The build's CUDA against the driver's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.doctor.checks.device import check_device
from harness.doctor.probe import DeviceFacts
from harness.doctor.surroundings import Surroundings
from tests.unit.doctor.planted import a_probe, a_torch, healthy, only, write

CUDA_13 = {"version": "2.13.0+cu130", "cuda": "13.0"}
NO_DEVICE: dict[str, Any] = {
    "accelerator": None,
    "names": (),
    "capabilities": (),
    "driver_cuda": None,
    "why_not": "no CUDA-capable device is detected",
}


def with_driver(root: Path, version: str) -> None:
    text = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Release Build\nGCC version: 12.2.0\n"
    write(root, "proc/driver/nvidia/version", text)


def a_cuda_machine(root: Path, *, environ: dict[str, str] | None = None, **devices: Any) -> Surroundings:
    facts = DeviceFacts(**{**NO_DEVICE, **devices})
    return healthy(root, environ=environ, probe=a_probe(torch=a_torch(**CUDA_13), devices=facts))


def a_card(name: str, capability: str) -> dict[str, Any]:
    return {"accelerator": "cuda", "names": (name,), "capabilities": (capability,), "why_not": None}


def test_a_driver_newer_than_the_build_is_fine(tmp_path: Path) -> None:
    with_driver(tmp_path, "590.48.01")

    check = only(check_device(a_cuda_machine(tmp_path, **a_card("H200", "9.0"), driver_cuda="13.1")))

    assert check.status == "ok"
    assert check.says == "H200; build: CUDA 13.0; driver: 590.48.01 (CUDA up to 13.1)"


def test_a_driver_too_old_for_the_build_is_a_problem_with_both_versions(tmp_path: Path) -> None:
    with_driver(tmp_path, "535.129.03")

    check = only(check_device(a_cuda_machine(tmp_path, driver_cuda="12.2")))

    assert check.status == "problem"
    assert check.says == (
        "build: CUDA 13.0; driver: 535.129.03 (CUDA up to 12.2); this build needs driver 580 or newer"
    )


def test_a_driver_without_a_version_is_judged_by_the_cuda_that_it_serves(tmp_path: Path) -> None:
    older = only(check_device(a_cuda_machine(tmp_path, driver_cuda="12.2")))
    newer = only(check_device(a_cuda_machine(tmp_path, driver_cuda="13.1")))

    assert "driver: version unknown (CUDA up to 12.2); this build needs driver 580 or newer" in older.says
    assert (newer.status, "no CUDA-capable device" in newer.says) == ("problem", True)


def test_a_rocm_build_without_a_device_and_another_accelerator_are_no_problem(tmp_path: Path) -> None:
    rocm = healthy(tmp_path, probe=a_probe(torch=a_torch(hip="6.4")))
    xpu = healthy(
        tmp_path, probe=a_probe(devices=DeviceFacts(**{**NO_DEVICE, **a_card("Arc", ""), "accelerator": "xpu"}))
    )

    assert (only(check_device(rocm)).status, "ROCm 6.4" in only(check_device(rocm)).says) == ("note", True)
    assert only(check_device(xpu)).says == "xpu: Arc"


def test_cards_of_a_kind_are_counted(tmp_path: Path) -> None:
    card = {**a_card("H200", "9.0"), "names": ("H200", "H200", "T4")}

    assert only(check_device(a_cuda_machine(tmp_path, **card))).says.startswith("2 x H200, T4; ")


def test_without_torch_nothing_is_told(tmp_path: Path) -> None:
    assert only(check_device(healthy(tmp_path, probe=a_probe(torch=None)))).status == "not_here"


def test_the_open_kernel_modules_version_is_read_too(tmp_path: Path) -> None:
    text = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build\n"
    write(tmp_path, "proc/driver/nvidia/version", text)

    assert "driver: 550.54.15" in only(check_device(a_cuda_machine(tmp_path))).says


def test_a_cpu_build_beside_a_driver_is_a_note(tmp_path: Path) -> None:
    with_driver(tmp_path, "590.48.01")

    check = only(check_device(healthy(tmp_path)))

    assert check.status == "note"
    assert check.says == "torch 2.13.0+cpu is a CPU build, and NVIDIA driver 590.48.01 is here"


def test_a_cpu_build_without_a_driver_has_nothing_to_say(tmp_path: Path) -> None:
    assert only(check_device(healthy(tmp_path))).status == "not_here"


def test_a_cuda_build_without_a_driver_is_a_note(tmp_path: Path) -> None:
    check = only(check_device(a_cuda_machine(tmp_path)))

    assert (check.status, "without a NVIDIA driver" in check.says) == ("note", True)


@pytest.mark.parametrize("value", ["", "-1", "7"])
def test_devices_that_a_variable_hides_are_a_note_with_its_value(tmp_path: Path, value: str) -> None:
    with_driver(tmp_path, "590.48.01")

    check = only(check_device(a_cuda_machine(tmp_path, environ={"CUDA_VISIBLE_DEVICES": value})))

    assert check.status == "note"
    assert f"CUDA_VISIBLE_DEVICES={value!r} leaves no device" in check.says


def test_no_device_in_spite_of_build_and_driver_is_a_problem_with_torchs_reason(tmp_path: Path) -> None:
    with_driver(tmp_path, "590.48.01")

    check = only(check_device(a_cuda_machine(tmp_path)))

    assert (check.status, "no CUDA-capable device is detected" in check.says) == ("problem", True)


@pytest.mark.parametrize(
    ("architectures", "served"),
    [
        (("sm_80", "sm_90", "compute_90"), True),  # from the intermediate form
        (("sm_100",), True),  # of the same generation
        (("sm_103",), False),  # of the same generation, and later
        (("sm_80", "sm_90"), False),
        ((), True),  # not known
    ],
)
def test_a_device_that_the_build_has_no_code_for_is_a_problem(
    tmp_path: Path, architectures: tuple[str, ...], served: bool
) -> None:
    with_driver(tmp_path, "590.48.01")

    checks = check_device(a_cuda_machine(tmp_path, architectures=architectures, **a_card("B200", "10.0")))

    assert [check.status for check in checks] == (["ok"] if served else ["ok", "problem"])
    if not served:
        assert "B200 is sm_100" in checks[1].says


def test_asking_that_kills_the_process_is_a_problem(tmp_path: Path) -> None:
    probe = a_probe(devices=None, errors={"devices": "the process died of SIGABRT"})

    check = only(check_device(healthy(tmp_path, probe=probe)))

    assert (check.status, "SIGABRT" in check.says) == ("problem", True)
