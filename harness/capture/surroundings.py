"""The machine and the versions that figures depend on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys

import psutil

from harness.model.environment import Environment

__all__ = ["surroundings"]


def surroundings(seed: int) -> Environment:
    """This process's. Where torch is loaded it is asked, thread count and all; else only its version is looked up."""
    torch = sys.modules.get("torch")
    return Environment(
        python=platform.python_version(),
        torch=str(torch.__version__) if torch is not None else _installed("torch"),
        platform=platform.platform(),
        cpu_count=os.cpu_count() or 1,
        torch_threads=torch.get_num_threads() if torch is not None else None,
        memory_bytes=psutil.virtual_memory().total,
        seed=seed,
    )


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
