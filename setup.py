"""The one part that is not declared in pyproject.toml: a C extension that only some systems can have."""

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

setup(
    ext_modules=[
        Extension(
            "harness.ledger._native",
            sources=sorted(str(path.relative_to(_HERE)) for path in (_HERE / _NATIVE).glob("*.c")),
            depends=sorted(str(path.relative_to(_HERE)) for path in (_HERE / _NATIVE).glob("*.h")),
            # -fexceptions: torch's C++ exceptions pass through the hooks. Hidden: no name of ours meets another's.
            extra_compile_args=[
                "-std=gnu11",
                "-O2",
                "-g",
                "-fexceptions",
                "-fvisibility=hidden",
                "-Wall",
                "-Wextra",
                *_STRICT,
                *_SANITIZE,
            ],
            extra_link_args=_SANITIZE,
            optional=True,  # no compiler: the install succeeds, and the dispatch ledger serves
        )
    ]
    if _KNOWN
    else []
)
