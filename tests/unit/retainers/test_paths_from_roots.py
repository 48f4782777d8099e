"""Ways that begin elsewhere than in a module: threads, contexts, loggers, registries, nothing at all."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch

from harness.retainers import heap_walk
from tests.unit.retainers.program import Program, key_of


def test_a_local_of_another_thread_is_told_with_the_thread(program: Program) -> None:
    program.run(
        "import torch, threading\n"
        "go, ready = threading.Event(), threading.Event()\n"
        "def collect():\n"
        "    seen = [torch.ones(3)]\n"
        "    keys.append(torch._C._data_address(seen[0]))\n"
        "    ready.set()\n"
        "    go.wait()\n"
        "keys = []\n"
        "thread = threading.Thread(target=collect, name='stats')\n"
        "thread.start()\n"
        "ready.wait()\n"
    )
    module: Any = program.module
    try:
        path = program.path(module.keys[0])
    finally:
        module.go.set()
        module.thread.join()

    assert path.text == "thread 'stats': collect() at line 7 > local seen: list > [*]"


def test_a_value_in_threading_local_is_told_with_the_thread(program: Program) -> None:
    if heap_walk._native is None:
        pytest.skip("the interpreter shows thread states to C only")
    program.run("import torch, threading\nlocal = threading.local()\nlocal.cache = [torch.ones(3)]")

    path = program.path(program.module.local.cache[0])

    assert "cache" in path.text
    assert path.root_kind in ("thread", "module")


def test_a_context_variable_is_told(program: Program) -> None:
    program.run(
        "import torch, contextvars\n"
        "kept = contextvars.ContextVar('kept')\n"
        "context = contextvars.Context()\n"
        "context.run(kept.set, [torch.ones(3)])\n"
    )

    path = program.path(program.module.context[program.module.kept][0])

    assert path.text.startswith("module train > ")
    assert path.text.endswith("[*]")


def test_handlers_of_a_logger_are_told_by_the_loggers_name(program: Program) -> None:
    def add_handler() -> int:
        handler: Any = logging.NullHandler()
        handler.kept = torch.ones(3)
        logging.getLogger("harness_test_train").addHandler(handler)
        return key_of(handler.kept)

    key = add_handler()
    try:
        path = program.path(key)
    finally:
        logging.getLogger("harness_test_train").handlers.clear()

    assert "logging.getLogger > ['harness_test_train']: Logger 'harness_test_train' > handlers: list" in path.text


def test_a_finalizer_that_holds_its_own_object_is_found_in_the_registry(program: Program) -> None:
    program.run(
        "import torch, weakref\n"
        "class Reader:\n"
        "    def __init__(self): self.block = torch.ones(3); weakref.finalize(self, self.release)\n"
        "    def release(self): pass\n"
        "key = torch._C._data_address(Reader().block)\n"
    )
    module: Any = program.module

    path = program.path(module.key)

    assert "finalize._registry: dict > [" in path.text
    assert path.text.endswith("__self__: Reader > block")


def test_a_surplus_reference_is_told_as_one_that_nothing_accounts_for(program: Program) -> None:
    import ctypes

    tensor = torch.ones(3)
    key = key_of(tensor)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(tensor))
    address = id(tensor)
    del tensor
    try:
        path = program.path(key)
    finally:
        ctypes.pythonapi.Py_DecRef(ctypes.cast(address, ctypes.py_object))

    assert path.root_kind == "surplus"
    assert path.root == "a reference that nothing accounts for"


def test_a_cycle_through_a_tensors_own_hook_is_told_with_the_cell(program: Program) -> None:
    program.run(
        "import torch\n"
        "def make():\n"
        "    y = torch.tanh(torch.ones(3, requires_grad=True) * 2)\n"
        "    y.register_hook(lambda g: g * y.detach())\n"
        "    return torch._C._data_address(y)\n"
        "key = make()\n"
    )
    module: Any = program.module

    path = program.path(module.key)

    assert path.root_kind == "cycle"
    assert "closure cell y of make.<locals>.<lambda>" in path.text
