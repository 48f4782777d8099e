"""Programs that lie, raise and hang when they are asked, and references that are none of theirs."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from tests.unit.retainers.program import Program, key_of


def test_names_with_control_characters_are_shown_without_them(program: Program) -> None:
    vars(program.module)["a\x1b[31m\u202eb"] = [torch.ones(3)]

    text = program.path(vars(program.module)["a\x1b[31m\u202eb"][0]).text

    assert text == r"module train > a\x1b[31m\u202eb: list > [*]"


HOSTILE = """
import torch
class Hostile:
    def __getattribute__(self, name): raise RuntimeError(name)
    def __getattr__(self, name): raise RuntimeError(name)
    def __eq__(self, other): raise RuntimeError
    def __hash__(self): return 1
    def __repr__(self): raise RuntimeError
    def __len__(self): raise RuntimeError
    def __bool__(self): raise RuntimeError
    def __iter__(self): raise RuntimeError
    def __sizeof__(self): raise RuntimeError
    @property
    def __dict__(self): raise RuntimeError
    @property
    def __class__(self): raise RuntimeError
class Lying(dict):
    def __getitem__(self, key): raise RuntimeError
    def items(self): raise RuntimeError
    def __iter__(self): raise RuntimeError
    def __len__(self): return -1
    @property
    def __class__(self): return list
hostile = Hostile()
lying = Lying()
"""


def test_hostile_holders_are_named_without_running_their_code(program: Program) -> None:
    program.run(HOSTILE)
    module: Any = program.module
    tensor = torch.ones(3)
    dict.__setitem__(module.lying, module.hostile, tensor)
    program.measure()
    for k in "abcd":
        dict.__setitem__(module.lying, k, torch.ones(1))

    record = program.look(key_of(tensor))

    texts = [path.text for path in record.sites[0]]
    assert any("lying: Lying" in text or "local tensor" in text for text in texts)
    assert any(container.path.text.startswith("module train > lying") for container in record.containers)


def test_our_own_references_and_the_test_runners_never_show(program: Program) -> None:
    program.run("import torch\nkept = [torch.ones(3)]")
    program.measure()
    program.run("kept += [torch.ones(3) for _ in range(4)]")

    record = program.look(*(key_of(t) for t in program.module.kept))

    told = [p.text for ways in record.sites.values() for p in ways] + [c.path.text for c in record.containers]
    assert not [text for text in told if "harness" in text or "pytest" in text or "pluggy" in text]


def test_what_a_scope_of_ours_owns_is_told_as_owned_and_no_more(program: Program) -> None:
    from harness.ledger import start_ledger
    from harness.scope import ResourceScope

    module: Any = program.module
    with start_ledger(source="dispatch"), ResourceScope("model") as module.model:
        tensor = torch.ones(3)
        key = key_of(tensor)
        module.model.own(tensor)
        del tensor

        assert program.path(key).text == "module train > model: ResourceScope > owned"


def test_ipythons_own_names_are_told_as_such(program: Program) -> None:
    program.run("import torch\nget_ipython = None\nOut = {3: torch.ones(3)}")

    assert program.path(program.module.Out[3]).text == "module train > IPython Out: dict > [3]"


def test_finding_paths_leaves_nothing_alive(program: Program) -> None:
    program.run("import torch\nkept = [torch.ones(3)]")
    gone = weakref.ref(program.module.kept[0])
    program.measure()

    program.look(key_of(program.module.kept[0]))
    program.module.kept.clear()

    assert gone() is None
