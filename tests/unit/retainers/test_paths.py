"""Edges are named as a person would name them, and growth is found where it enters."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.model.holding import HolderPath, Link
from harness.retainers.paths import grouped
from tests.unit.retainers.program import NUMBER, Program, key_of

RAISING = (
    "def attempt():\n    batch = T\n    raise ValueError('x')\n"
    "try:\n    attempt()\nexcept ValueError as e:\n    failures = [e]"
)


RAISED = "module train > failures: list > [*]: ValueError > __traceback__ > tb_next"


SHAPES: dict[str, tuple[str, str]] = {
    "a list": ("history = [T]", "module train > history: list > [*]"),
    "a dict in a list": ("history = [{'loss': T}]", "module train > history: list > [*] > ['loss']"),
    "a tuple": ("pair = (0, T)", "module train > pair: tuple > [1]"),
    "a key": ("seen = {T: 1}", "module train > seen: dict > [key <Tensor>]"),
    "a name": ("loss = T", "module train > loss"),
    "an attribute": (
        "class Writer: pass\nwriter = Writer()\nwriter.kept = [T]",
        "module train > writer: Writer > kept: list > [*]",
    ),
    "a slot": (
        "class Slotted:\n    __slots__ = ('kept',)\nslotted = Slotted()\nslotted.kept = T",
        "module train > slotted: Slotted > kept",
    ),
    "a class attribute": ("class Rollout:\n    buffers = [T]", "module train > Rollout.buffers: list > [*]"),
    "a closure": (
        "def make_hook(x):\n    def hook(): return x\n    return hook\nhook = make_hook(T)",
        "module train > hook: function make_hook.<locals>.hook > closure cell x of make_hook.<locals>.hook",
    ),
    "a default": ("def f(x=T): pass", "module train > f: function f > default argument of f"),
    "a bound method": (
        "class Reader:\n    def close(self): pass\nr = Reader()\nr.block = T\nclose = r.close\ndel r",
        "module train > close: method > __self__: Reader > block",
    ),
    "a partial": (
        "import functools\nlater = functools.partial(print, T)",
        "module train > later: partial > an argument: tuple > [0]",
    ),
    "a suspended generator": (
        "def stream(clip):\n    yield 1\n    print(clip)\nopened = stream(T)\nnext(opened)",
        "module train > opened: generator > local clip of stream() at line 2",
    ),
    "a deque": ("import collections\nlast = collections.deque([T])", "module train > last: deque > [*]"),
    "a set": ("kept = {T}", "module train > kept: set > [*]"),
    "a queue": (
        "import queue\nrequests = queue.Queue()\nrequests.put(T)",
        "module train > requests: Queue > queue: deque > [*]",
    ),
    "a cache": (
        "import functools\n@functools.lru_cache(maxsize=None)\ndef f(k): return T\nf(1)",
        "module train > f: _lru_cache_wrapper > lru_cache of f: dict > [1]",
    ),
    "an exception": (
        RAISING,
        f"{RAISED} > frame of attempt() at line 3, local batch",
    ),
    "a module's parameter": (
        "import torch\nmodel = torch.nn.Sequential(torch.nn.Linear(2, 2))\nmodel[0].register_buffer('mask', T)",
        "module train > model: Sequential > 0: Linear > mask",
    ),
    "a gradient": (
        "import torch\nw = torch.nn.Parameter(torch.ones(3))\nw.grad = T",
        "module train > w > grad",
    ),
    "an array of objects": (
        "import numpy\narray = numpy.empty(2, dtype=object)\narray[0] = T",
        "module train > array: ndarray > [*]",
    ),
}


@pytest.mark.parametrize(("source", "expected"), SHAPES.values(), ids=SHAPES.keys())
def test_a_holder_is_named_as_a_person_would_name_it(program: Program, source: str, expected: str) -> None:
    module: Any = program.module
    module.T = torch.ones(3)
    key = key_of(module.T)
    program.run(f"{source}\ndel T")

    assert program.path(key).text.replace("function functools.", "function ") == expected


def test_a_tensor_that_a_graph_saved_is_found_through_the_graph(program: Program) -> None:
    program.run("import torch\nw = torch.nn.Parameter(torch.ones(8))\ntotal = ((w * 2).exp() * 3).sum()\n")
    saved = program.module.total.grad_fn.next_functions[0][0].next_functions[0][0]._raw_saved_result.data
    key = key_of(saved)
    del saved

    path = program.path(key)

    assert path.text == "module train > total > grad_fn: SumBackward0 > MulBackward0 > ExpBackward0.saved result"
    assert [link.trait for link in path.links] == ["tensor", "node", "node", "node"]


def test_what_only_a_saved_hook_would_show_is_read_without_running_it(program: Program) -> None:
    ran: list[str] = []
    module: Any = program.module

    def unpack(saved: torch.Tensor) -> torch.Tensor:
        ran.append("unpacked")
        return saved

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        module.total = (torch.nn.Parameter(torch.ones(8)) * 2).exp().sum()

    program.look(key_of(NUMBER))

    assert ran == []


def test_growth_enters_at_the_container_that_gains_elements(program: Program) -> None:
    program.run("import torch\nclass Writer: pass\nwriter = Writer()\nwriter.tags = {'loss': []}")
    program.measure()
    for _ in range(5):
        program.run("writer.tags['loss'].append((0, torch.ones(3)))")

    record = program.look(key_of(program.module.writer.tags["loss"][-1][1]))

    path = record.sites[0][0]
    assert path.suspect is not None
    assert path.links[path.suspect].text == "['loss']"
    assert path.grew == (0, 5)
    (container,) = record.containers
    assert container.path.text == "module train > writer: Writer > tags: dict > ['loss']"
    assert (container.size_then, container.size_now, container.element) == (0, 5, "tuple")


def test_a_text_that_gets_longer_is_told_by_its_name(program: Program) -> None:
    program.run("import torch\nlog = 'x' * 100\nname = 'still'")
    program.measure()
    program.run("log = log + 'y' * 900")

    (grown,) = program.look(key_of(NUMBER)).containers

    assert grown.path.text == "module train > log: str"
    assert (grown.size_then, grown.size_now, grown.element) == (100, 1000, "character")


def test_modules_of_ever_new_names_are_told_as_sys_modules() -> None:
    table = Link(text="table", name="table", kind="torch.Tensor", trait="tensor")
    paths = [
        HolderPath(root=f"module made_{k}", root_kind="library", links=(table,), storages=1, bytes=12) for k in range(9)
    ]

    (together,) = grouped(paths)

    assert together.text == "sys.modules > [*]: module > table"
    assert (together.suspect, together.storages, together.bytes) == (0, 9, 108)


def test_the_storages_under_a_sparse_tensor_lead_to_it(program: Program) -> None:
    program.run("import torch\nkept = [torch.eye(9).to_sparse()]")
    module: Any = program.module

    assert program.path(key_of(module.kept[0]._values())).text == "module train > kept: list > [*]"


def test_keys_that_differ_from_step_to_step_are_left_open(program: Program) -> None:
    program.run("import torch\nby_step = {}")
    program.measure()
    program.run("for k in range(6): by_step[k] = torch.ones(3)")

    path = program.path(program.module.by_step[4])

    assert path.text == "module train > by_step: dict > [*]"


def test_a_chain_of_nodes_is_told_once_and_its_head_is_the_suspect(program: Program) -> None:
    program.run(
        "import torch\n"
        "class Node:\n    def __init__(self, prev): self.prev, self.data = prev, torch.ones(3)\n"
        "head = None\n"
        "for _ in range(20): head = Node(head)\n"
    )
    nodes = []
    node = program.module.head
    while node is not None:
        nodes.append(key_of(node.data))
        node = node.prev

    record = program.look(*nodes)

    paths = [ways[0] for ways in record.sites.values()]
    assert paths[0].text == "module train > head: Node > data"
    assert paths[7].text == "module train > head: Node > prev: Node (repeated) > data"
    assert {path.links[path.suspect or 0].name for path in paths} == {"head"}


@pytest.mark.parametrize(
    ("source", "bound"),
    [
        ("import collections\nkept = collections.deque(maxlen=100)", 100),
        ("import collections\nkept = collections.deque()", None),
    ],
)
def test_the_bound_that_a_container_says_it_has_is_told(program: Program, source: str, bound: int | None) -> None:
    program.run(f"import torch\n{source}")
    program.measure()
    program.run("for _ in range(5): kept.append(torch.ones(3))")

    assert program.path(program.module.kept[-1]).bound == bound
