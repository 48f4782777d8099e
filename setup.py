"""The one part that is not declared in pyproject.toml: C extensions, which only some systems can have."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from setuptools import Extension, setup

_HERE = Path(__file__).parent
_NATIVE = Path("harness/ledger/native")
_KNOWN = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
_STRICT = ["-Werror"] if os.environ.get("HARNESS_STRICT_C") else []
_SANITIZE = [f"-fsanitize={kind}" for kind in os.environ.get("HARNESS_SANITIZE", "").split(",") if kind]
_FLAGS = ["-std=gnu11", "-O2", "-g", "-fvisibility=hidden", "-Wall", "-Wextra", *_STRICT, *_SANITIZE]


def _extension(name: str, folder: Path, *flags: str) -> Extension:
    return Extension(
        name,
        sources=sorted(str(path.relative_to(_HERE)) for path in (_HERE / folder).glob("*.c")),
        depends=sorted(str(path.relative_to(_HERE)) for path in (_HERE / folder).glob("*.h")),
        extra_compile_args=[*_FLAGS, *flags],  # hidden: no name of ours meets another's
        extra_link_args=_SANITIZE,
        optional=True,  # no compiler: the install succeeds, and what is written in Python serves
    )


_LEDGER = _extension("harness.ledger._native", _NATIVE, "-fexceptions")  # torch's C++ exceptions pass through the hooks
_WALK = _extension("harness.retainers._heapwalk", Path("harness/retainers/native"))

setup(ext_modules=[*([_LEDGER] if _KNOWN else []), *([_WALK] if os.name == "posix" else [])])
