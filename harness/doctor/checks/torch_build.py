"""Whether torch can be imported, and whether its build is one for this machine and this Python."""

from __future__ import annotations

from harness.doctor.answers import note, ok, problem
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check

__all__ = ["check_torch_build"]


def check_torch_build(here: Surroundings) -> tuple[Check, ...]:
    """The import as another process did it, and the tags of the wheel that is installed."""
    wrong = _wrong_wheel(here)
    checks = [_import(here)]
    if wrong:
        says = f"the installed torch is a build for {wrong}, and this is {_this(here)}"
        advice = "Install torch with the pip of this Python: `python -m pip install --force-reinstall torch`."
        checks.append(problem("torch's wheel", says, advice))
    return tuple(checks)


def _import(here: Surroundings) -> Check:
    facts = here.probe.torch
    if facts is None:
        error = here.probe.error("torch")
        says = f"torch is not installed for Python {here.python}" if here.torch_file is None else "cannot be imported"
        return problem("torch", f"{says}: {error}", _help(here, error))
    if here.torch_file is not None and here.torch_folder is None:
        return problem("torch", _shadowed(here), "Rename that file.")
    kind = f"CUDA {facts.cuda}" if facts.cuda else f"ROCm {facts.hip}" if facts.hip else "CPU"
    says = f"{facts.version} ({kind} build) on Python {here.python}"
    if facts.debug:
        advice = "Figures of time are not those of a release build."
        return note("torch", f"{says}, a debug build", advice)
    return ok("torch", says)


def _help(here: Surroundings, error: str) -> str:
    if here.torch_file is None:
        return "`python -m pip install torch`, or run harness with the Python of the environment that has torch."
    if here.torch_folder is None:
        return f"{_shadowed(here)} Rename that file."
    if "undefined symbol" in error or "version `" in error:
        return (
            "Libraries of two builds are mixed. LD_LIBRARY_PATH and LD_PRELOAD come before torch's own: try without "
            "them, then install torch again."
        )
    if "cannot open shared object file" in error or "No such file" in error:
        return "The lines under libraries name what is missing and who asks for it."
    if "SIGKILL" in error:
        return "The usual reason is a want of memory: see the lines under memory."
    if "SIGILL" in error:
        return "The build has instructions that this processor lacks: use one for an older processor."
    if "died of" in error:
        return "`python -X faulthandler -c 'import torch'` shows the Python line at which it dies."
    return "`python -c 'import torch'` shows the whole error; an install that broke off is mended by installing again."


def _shadowed(here: Surroundings) -> str:
    return f"{here.torch_file} is found first and is not the package."


def _wrong_wheel(here: Surroundings) -> str | None:
    """What the wheel is for, where none of its tags fits; None where one does, and without a wheel."""
    if not here.torch_tags or any(_fits(tag, here) for tag in here.torch_tags):
        return None
    return ", ".join(here.torch_tags)


def _fits(tag: str, here: Surroundings) -> bool:
    python, _, platform = tag.split("-", 2) if tag.count("-") >= 2 else ("py3", "none", "any")
    major, minor, *_ = here.python.split(".")
    if python.startswith("cp") and "abi3" not in tag and python != f"cp{major}{minor}":
        return False
    if platform == "any":
        return True
    system = {"Linux": "linux", "Darwin": "macosx", "Windows": "win"}.get(here.system, "")
    machine = {"AMD64": "amd64", "ARM64": "arm64"}.get(here.machine, here.machine)
    return system in platform and (machine in platform or "universal2" in platform)


def _this(here: Surroundings) -> str:
    return f"Python {here.python} on {here.system} {here.machine}"
