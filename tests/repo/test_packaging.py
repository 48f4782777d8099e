"""What is in the repository is what is installed: no package, data file or pinned version is forgotten."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.repo.source_tree import ROOT, scenario_files

LEFT_OUT = shutil.ignore_patterns(
    ".*", "__pycache__", "build", "dist", "*.egg-info", "*.so", "out", "tests", "node_modules"
)


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_folder_of_the_package_is_listed_and_every_listed_one_is_there() -> None:
    listed = set(project()["tool"]["setuptools"]["packages"])
    folders = {path.parent for path in (ROOT / "harness").rglob("*.py")}
    there = {".".join(folder.relative_to(ROOT).parts) for folder in folders} | {"harness.scenarios"}

    assert listed == there


def test_every_folder_with_modules_has_an_init_file() -> None:
    folders = {path.parent for top in ("harness", "scenarios") for path in (ROOT / top).rglob("*.py")}

    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_every_listed_data_file_is_there() -> None:
    data: dict[str, list[str]] = project()["tool"]["setuptools"]["package-data"]
    patterns = [(package.replace(".", "/"), pattern) for package, files in data.items() for pattern in files]

    assert [f"{folder}/{pattern}" for folder, pattern in patterns if not [*(ROOT / folder).glob(pattern)]] == []


def test_every_dependency_has_one_exact_version_in_the_constraints() -> None:
    asked = project()["project"]
    wanted = [*asked["dependencies"], *(need for extra in asked["optional-dependencies"].values() for need in extra)]
    pins = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and line[0] != "#"]

    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", pin)] == []
    names = [normal(pin.split("==")[0]) for pin in pins]
    assert len(set(names)) == len(names)
    assert {normal(re.split(r"[^\w.-]", need)[0]) for need in wanted} - set(names) == set()


@pytest.mark.slow
def test_an_installed_wheel_runs_its_bundled_scenarios_in_an_empty_folder(tmp_path: Path) -> None:
    # A copy without build/: setuptools would put modules into the wheel that a previous build left there.
    source = shutil.copytree(ROOT, tmp_path / "source", ignore=LEFT_OUT)
    empty = tmp_path / "empty"
    empty.mkdir()

    wheel = built_wheel(source, tmp_path)
    python = installed(wheel, tmp_path / "venv")
    command = str(python.parent / "harness")
    listed = json.loads(run(command, "list", "--format", "json", folder=empty))
    ran = run(command, "run", "correct_pattern", "--format", "json", folder=empty)

    assert [scenario["name"] for scenario in listed["scenarios"]] == [path.stem for path in scenario_files()]
    assert [half["outcome"] for half in json.loads(ran)["runs"]] == ["stable", "stable"]
    assert str(tmp_path / "venv") in run(str(python), "-c", "import harness; print(harness.__file__)", folder=empty)
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"harness"}
    assert list(empty.iterdir()) == []


def built_wheel(source: Path, folder: Path) -> Path:
    """A wheel, made with the setuptools that is installed: no network."""
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "-w", str(folder), str(source)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def installed(wheel: Path, venv: Path) -> Path:
    """The Python of a new environment with the wheel in it, which sees this environment's other packages.

    They come by a path file, and path files in there are not read: so not this checkout, installed editable.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = venv / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "test_environment.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def run(*command: str, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
