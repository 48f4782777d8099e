"""What is loaded when: a scenario may import from harness for free, and the measured process judges nothing."""

from __future__ import annotations

import subprocess
import sys

from tests.repo.source_tree import ROOT

HEAVY = ("torch", "numpy", "scipy", "rich", "pytest", "memray", "jinja2")


def loaded_by(statement: str) -> set[str]:
    """Top-level packages, and our own modules in full, that a new interpreter has loaded after *statement*."""
    program = f"{statement}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    names = done.stdout.split()
    return {name.partition(".")[0] for name in names} | {name for name in names if name.startswith("harness.")}


def test_importing_harness_loads_no_torch_numpy_or_scipy() -> None:
    assert loaded_by("import harness").isdisjoint(HEAVY)


def test_asking_the_command_line_for_help_loads_no_torch_numpy_or_scipy() -> None:
    loaded = loaded_by("from click.testing import CliRunner; from harness.cli.main import cli; "
                       "assert CliRunner().invoke(cli, ['--help']).exit_code == 0")  # fmt: skip

    assert loaded.isdisjoint(set(HEAVY) - {"rich"})


def test_looking_at_the_surroundings_loads_no_torch() -> None:
    assert loaded_by("import harness.doctor").isdisjoint(set(HEAVY) - {"rich"})


def test_the_measured_process_loads_no_judgement_and_no_statistics() -> None:
    loaded = loaded_by("import harness.capture.subject, harness.capture.server")

    assert loaded.isdisjoint({"scipy", "rich", "click", "pytest", "jinja2"})
    assert loaded.isdisjoint({"harness.judge", "harness.diagnose", "harness.render", "harness.stats"})
