"""``harness doctor`` in real processes: it says what is wrong, whatever torch does, and goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.doctor.tiny_elf import write_library

HARNESS = [sys.executable, "-m", "harness.cli.main"]
FAULTS = ("LD_PRELOAD", "HF_HOME", "TORCH_HOME", "XDG_CACHE_HOME", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")


def doctor(*arguments: str, cwd: Path, **environ: str) -> tuple[int, dict[str, Any]]:
    """Exit code, and the answers as JSON. Variables of this machine that could be faults are not passed on."""
    env = {name: value for name, value in os.environ.items() if name not in FAULTS}
    command = [*HARNESS, "doctor", "--format", "json", *arguments]
    done = subprocess.run(command, cwd=cwd, env={**env, **environ}, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, told


def problems(told: dict[str, Any]) -> dict[str, str]:
    """Names of what is wrong, with what is said of them."""
    return {check["name"]: check["says"] for check in told["checks"] if check["status"] == "problem"}


def answer(told: dict[str, Any], name: str) -> dict[str, str]:
    """The first answer with this name."""
    return next(check for check in told["checks"] if check["name"] == name)


def a_torch(folder: Path, source: str) -> Path:
    """A package called torch that does this when it is imported."""
    (folder / "torch").mkdir(parents=True)
    (folder / "torch/__init__.py").write_text(source)
    return folder


def test_this_machine_is_examined_and_its_torch_is_named(tmp_path: Path) -> None:
    import torch

    code, told = doctor(cwd=tmp_path)

    assert code == (1 if problems(told) else 0)
    assert answer(told, "torch")["says"].startswith(str(torch.__version__))
    assert answer(told, "dispatch ledger")["status"] == "ok"
    assert list(tmp_path.iterdir()) == []


def test_torch_is_never_imported_into_the_process_that_tells(tmp_path: Path) -> None:
    program = "import sys; from harness.doctor import examine, gather; examine(gather()); print('torch' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_several_planted_faults_are_each_named(tmp_path: Path) -> None:
    (tmp_path / "cache/hub").mkdir(parents=True)
    (tmp_path / "cache/hub/net.pth").write_bytes(b"PK\x03\x04 and then the connection broke")
    (tmp_path / "file").touch()

    code, told = doctor(
        cwd=tmp_path,
        TORCH_HOME=str(tmp_path / "cache"),
        HF_HOME=str(tmp_path / "file"),
        PYTORCH_CUDA_ALLOC_CONF="max_split_size:128",
        CUDA_VISIBLE_DEVICE="0",
    )

    found = problems(told)
    assert code == 1
    assert f"{tmp_path}/cache/hub/net.pth: it is cut off" in found["archives"]
    assert found["caches"] == f"{tmp_path}/file is not a folder (HF_HOME={tmp_path}/file)"
    assert "max_split_size_mb" in found["torch's allocator"]
    assert found["variables"] == "CUDA_VISIBLE_DEVICE is set, and nothing reads it"
    assert answer(told, "variables")["help"].startswith("Did you mean CUDA_VISIBLE_DEVICES?")


def test_a_torch_that_lacks_a_library_is_told_with_the_loaders_reason_and_the_library(tmp_path: Path) -> None:
    error = "libgone.so.9: cannot open shared object file: No such file or directory"
    folder = a_torch(tmp_path / "site", f"raise ImportError({error!r})")
    write_library(folder / "torch/_C.x.so", needed=("libgone.so.9",))

    code, told = doctor(cwd=tmp_path, PYTHONPATH=os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", ""))))

    found = problems(told)
    assert code == 1
    assert found["torch"] == f"cannot be imported: ImportError: {error}"
    if sys.platform == "linux":
        assert found["torch's libraries"] == "libgone.so.9 is missing, which _C.x.so needs"
    assert answer(told, "instruments")["status"] == "ok"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "the process died of SIGKILL"),
        ("import os; os._exit(7)", "the process ended with exit code 7"),
        ("raise SystemExit('not today')", "SystemExit: not today"),
    ],
    ids=["killed", "exited", "raised"],
)
def test_a_torch_that_ends_its_process_is_an_answer(tmp_path: Path, source: str, says: str) -> None:
    folder = a_torch(tmp_path / "site", source)

    code, told = doctor(cwd=tmp_path, PYTHONPATH=os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", ""))))

    assert code == 1
    assert says in problems(told)["torch"]
    assert answer(told, "memory")["says"]


@pytest.mark.skipif(sys.platform != "linux", reason="libraries are read on Linux only")
def test_libraries_of_custom_operators_are_looked_at(tmp_path: Path) -> None:
    write_library(tmp_path / "ops.so", needed=("libgone.so.9",))

    code, told = doctor("--library", "ops.so", "--library", "none.so", cwd=tmp_path)

    found = problems(told)
    assert code == 1
    assert found["ops.so"] == "libgone.so.9 is missing, which ops.so needs"
    assert found["none.so"] == f"{tmp_path}/none.so is not there"
