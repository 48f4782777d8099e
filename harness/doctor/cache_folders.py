"""Where torch, its compilers and the hub keep their files: the variable, and the folder where it is not set."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from harness.doctor.surroundings import Surroundings

__all__ = ["CacheFolder", "cache_folders"]


class CacheFolder(msgspec.Struct, frozen=True, kw_only=True):
    """``is_set`` where the variable names it; ``needed`` where nothing works without; ``downloads`` are kept in it."""

    variable: str
    folder: Path
    purpose: str
    is_set: bool
    needed: bool = False
    downloads: bool = False


def cache_folders(here: Surroundings) -> tuple[CacheFolder, ...]:
    """All of them, with the defaults of torch 2.13 (torch.hub, torch.utils.cpp_extension, inductor), Triton and the
    hub."""
    cache = _value(here, "XDG_CACHE_HOME") or here.home / ".cache"
    triton = _value(here, "TRITON_HOME") or here.home
    user = re.sub(r'[\\/:*?"<>|]', "_", here.user)
    rows = (
        ("TMPDIR", here.temporary, "temporary files", False),
        ("XDG_CACHE_HOME", cache, "all caches", False),
        ("TORCH_HOME", cache / "torch", "torch.hub's downloads", True),
        ("TORCH_EXTENSIONS_DIR", cache / "torch_extensions", "extensions built at run time", False),
        ("TORCHINDUCTOR_CACHE_DIR", here.temporary / f"torchinductor_{user}", "what torch.compile makes", False),
        ("TRITON_CACHE_DIR", triton / ".triton" / "cache", "Triton's kernels", False),
        ("HF_HOME", cache / "huggingface", "the Hugging Face hub's downloads", True),
    )
    folders = [
        CacheFolder(
            variable=variable,
            folder=_value(here, variable) or default,
            purpose=purpose,
            is_set=_value(here, variable) is not None,
            needed=variable == "TMPDIR",
            downloads=downloads,
        )
        for variable, default, purpose, downloads in rows
    ]
    for variable in ("HF_HUB_CACHE", "HF_DATASETS_CACHE", "CUDA_CACHE_PATH"):
        folder = _value(here, variable)
        if folder is not None:
            downloads = variable.startswith("HF_")
            folders.append(
                CacheFolder(variable=variable, folder=folder, purpose="a cache", is_set=True, downloads=downloads)
            )
    return tuple(folders)


def _value(here: Surroundings, variable: str) -> Path | None:
    value = here.variable(variable)
    if not value:
        return None
    return here.home / value[2:] if value.startswith("~/") else Path(value)
