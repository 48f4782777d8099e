"""The house has floors: a module imports from the floors below its own, never from its own floor or from above."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.repo.source_tree import ROOT, imports_of, modules_below

FLOORS = (
    # The ground floor has steps of its own: everything may raise our errors and use our units and frozen facts.
    ("_version", "errors"),
    ("model", "units"),
    ("scenario",),
    ("instruments", "ledger", "retainers", "stats"),
    ("expectations", "gradients", "scope"),
    ("assemble", "capture", "diagnose", "doctor", "folder_swap", "gate", "judge", "render"),
    ("experiments", "lanes"),
    ("output", "pipeline"),
    ("cli", "inprocess", "integrations", "pytest_plugin"),
)
"""Every part of the package, the lowest first. A part is a file or a folder directly in harness/."""

LEVEL = {part: level for level, floor in enumerate(FLOORS) for part in floor}


def wrong_imports(package: Path) -> list[str]:
    """One line an import that does not go down, for the package in folder *package*."""
    modules = modules_below(package)
    wrong: list[str] = []
    for module, path in modules.items():
        _, _, inside = module.partition(".")
        part = inside.partition(".")[0]
        for imported in imports_of(path):
            where = f"{path.relative_to(package.parent).as_posix()}:{imported.line}"
            if imported.name.startswith("."):
                wrong.append(f"{where} is relative: {imported.name}")
                continue
            owner, _, rest = imported.name.partition(".")
            if owner != package.name:
                continue
            target = rest.partition(".")[0]
            if target not in LEVEL:
                wrong.append(f"{where} imports {imported.name}, which is in no part of the table")
            elif part in LEVEL and target != part and LEVEL[target] >= LEVEL[part]:
                wrong.append(f"{where} imports {target}, which is {_how(LEVEL[target], LEVEL[part])}")
    return wrong


def _how(target: int, own: int) -> str:
    return "on the same floor" if target == own else "on a higher floor"


def planted(folder: Path, **sources: str) -> Path:
    """A package called harness with these modules (``capture__x`` is ``capture/x.py``)."""
    package = folder / "harness"
    for name, source in {"__init__": "", **sources}.items():
        path = package / f"{name.replace('__', '/') if name != '__init__' else name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return package


def test_every_import_goes_down() -> None:
    assert wrong_imports(ROOT / "harness") == []


def test_every_part_of_the_package_is_in_the_table_of_floors() -> None:
    inside = (module.partition(".")[2] for module in modules_below(ROOT / "harness"))
    parts = {name.partition(".")[0] for name in inside if name}

    assert parts - set(LEVEL) == set()


def test_importing_the_package_runs_only_its_ground_floors() -> None:
    # Doors that it offers by name (harness.run) are opened inside a function, when somebody asks.
    top = ast.parse((ROOT / "harness" / "__init__.py").read_bytes()).body
    run = {node.module for node in top if isinstance(node, ast.ImportFrom)}

    assert run <= {"__future__", "typing", "harness._version", "harness.errors", "harness.scenario"}


def test_the_pure_maths_import_nothing_of_ours() -> None:
    ours = [
        f"{path.name}:{found.line}"
        for path in modules_below(ROOT / "harness" / "stats").values()
        for found in imports_of(path)
        if found.name.startswith("harness.") and not found.name.startswith("harness.stats")
    ]

    assert ours == []


def test_an_import_from_a_floor_above_is_reported(tmp_path: Path) -> None:
    package = planted(tmp_path, ledger__site="def f():\n    from harness.capture.server import x\n")

    assert wrong_imports(package) == ["harness/ledger/site.py:2 imports capture, which is on a higher floor"]


def test_an_import_from_the_same_floor_is_reported(tmp_path: Path) -> None:
    package = planted(tmp_path, judge__policy="import harness.render.view\n")

    assert wrong_imports(package) == ["harness/judge/policy.py:1 imports render, which is on the same floor"]


def test_a_relative_import_is_reported(tmp_path: Path) -> None:
    package = planted(tmp_path, judge__policy="from ..render import view\n")

    assert wrong_imports(package) == ["harness/judge/policy.py:1 is relative: ..render.view"]


def test_a_name_taken_from_the_package_itself_is_reported(tmp_path: Path) -> None:
    package = planted(tmp_path, render__json="from harness import leak\n")

    assert wrong_imports(package) == ["harness/render/json.py:1 imports harness.leak, which is in no part of the table"]


def test_no_public_name_is_the_name_of_a_part_of_the_package() -> None:
    # Importing harness.x binds the module to the package's attribute x, over whatever function had that name.
    import harness

    parts = {name.split(".")[1] for name in modules_below(ROOT / "harness") if "." in name}

    assert parts & set(harness.__all__) == set()
