"""The build's CUDA version against the driver's, side by side. A driver newer than the build is fine."""

from __future__ import annotations

import re

from harness.doctor.answers import not_here, note, ok, problem
from harness.doctor.probe import DeviceFacts, TorchFacts
from harness.doctor.surroundings import Surroundings
from harness.doctor.version_numbers import release
from harness.model.checkup import Check

__all__ = ["check_device"]

_OLDEST_DRIVER = {11: 450, 12: 525, 13: 580}
"""CUDA's major version to the driver that its programs need at least, on Linux.
https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html"""

_INSTALL = "Choose a build that the driver serves at https://pytorch.org/get-started/locally/, or update the driver."


def check_device(here: Surroundings) -> tuple[Check, ...]:
    """One line: what torch can use, or the two versions that do not go together."""
    torch, devices = here.probe.torch, here.probe.devices
    if torch is None:
        return (not_here("device", "cannot be told without torch"),)
    if devices is None:
        says = f"asking for a device failed: {here.probe.error('devices')}"
        return (problem("device", says, "Is the driver's own tool (nvidia-smi) well?"),)
    driver = _driver(here)
    if torch.cuda is None:
        return (_without_cuda(torch, devices, driver),)
    return (_with_cuda(here, torch, devices, driver), *_architectures(torch, devices))


def _without_cuda(torch: TorchFacts, devices: DeviceFacts, driver: str | None) -> Check:
    if devices.accelerator is not None:
        return ok("device", f"{devices.accelerator}: {_names(devices)}")
    if torch.hip is not None:
        return note("device", f"a ROCm {torch.hip} build, and torch sees no device")
    if driver is not None:
        says = f"torch {torch.version} is a CPU build, and NVIDIA driver {driver} is here"
        return note("device", says, f"To use the GPU: {_INSTALL}")
    return not_here("device", "a CPU build, and no NVIDIA driver")


def _with_cuda(here: Surroundings, torch: TorchFacts, devices: DeviceFacts, driver: str | None) -> Check:
    assert torch.cuda is not None
    serves = f" (CUDA up to {devices.driver_cuda})" if devices.driver_cuda else ""
    is_there = driver is not None or bool(serves)
    sides = f"build: CUDA {torch.cuda}; driver: {driver or ('version unknown' if is_there else 'none')}{serves}"
    if devices.accelerator is not None:
        return ok("device", f"{_names(devices)}; {sides}")
    if _is_too_old(driver, devices.driver_cuda, torch.cuda):
        oldest = _OLDEST_DRIVER.get(release(torch.cuda)[0], "that is newer")
        return problem("device", f"{sides}; this build needs driver {oldest} or newer", _INSTALL)
    hidden = here.environ.get("CUDA_VISIBLE_DEVICES")
    if hidden is not None and (hidden.strip() in ("", "-1") or is_there):
        says = f"{sides}; CUDA_VISIBLE_DEVICES={hidden!r} leaves no device"
        return note("device", says, "Unset it to see all devices.")
    if not is_there:
        says = f"{sides}: a CUDA build on a machine without a NVIDIA driver, so the CPU is used"
        return note("device", says)
    says = f"{sides}; torch finds no device: {devices.why_not}"
    return problem("device", says, f"Does nvidia-smi list one? {_INSTALL}")


def _is_too_old(driver: str | None, driver_cuda: str | None, cuda: str) -> bool:
    """By the kernel module's version where there is one (WSL has none), else by what the driver's library states."""
    major = release(cuda)[0]
    if driver is not None:
        return release(driver)[0] < _OLDEST_DRIVER.get(major, 0)
    return driver_cuda is not None and release(driver_cuda)[0] < major


def _architectures(torch: TorchFacts, devices: DeviceFacts) -> tuple[Check, ...]:
    """A device for which the build has neither code nor an intermediate form to make it from."""
    unserved = [
        f"{name} is sm_{capability.replace('.', '')}"
        for name, capability in zip(devices.names, devices.capabilities, strict=False)
        if devices.architectures and not _serves(devices.architectures, release(capability))
    ]
    if not unserved:
        return ()
    says = f"{'; '.join(unserved)}, and torch {torch.version} has code for {', '.join(devices.architectures)}"
    return (problem("device code", says, _INSTALL),)


def _serves(architectures: tuple[str, ...], capability: tuple[int, ...]) -> bool:
    major, minor = capability[0], capability[1]
    for architecture in architectures:
        found = re.fullmatch(r"(sm|compute)_(\d+)(\d)[af]?", architecture)
        if found is None:
            continue
        kind, its_major, its_minor = found[1], int(found[2]), int(found[3])
        if kind == "sm" and its_major == major and its_minor <= minor:  # code runs on later ones of its generation
            return True
        if kind == "compute" and (its_major, its_minor) <= (major, minor):  # and this form on any later one
            return True
    return False


def _driver(here: Surroundings) -> str | None:
    """The kernel module's version: ``NVRM version: NVIDIA UNIX ... Kernel Module  535.129.03  ...``."""
    text = here.text("proc/driver/nvidia/version")
    found = re.search(r"^NVRM version:.*?\b(\d{3,}\.\d+(?:\.\d+)?)\b", text or "", re.MULTILINE)
    return found[1] if found else None


def _names(devices: DeviceFacts) -> str:
    counts = {name: devices.names.count(name) for name in devices.names}
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in counts.items()) or "one device"
