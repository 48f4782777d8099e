"""Edges are named as a person would name them, and growth is found where it enters."""

from __future__ import annotations

import gc
import logging
import types
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from harness.model.holding import HeldRecord, HolderPath, Link
from harness.retainers import heap_walk, roots
from harness.retainers.look import Look
from harness.retainers.paths import grouped
from harness.retainers.survivors import Wanted

NUMBER = torch.ones(1)


def key_of(tensor: Any) -> int:
    address: int = torch._C._data_address(tensor)  # type: ignore[attr-defined]
    return address


def _few(modules: Any) -> Any:
    """The program and a handful of libraries: a walk through all that pytest has loaded takes a second in Python."""

    def few(is_users: Any) -> Any:
        users, library, skipped = modules(is_users)
        wanted = ("sys", "builtins", "module weakref", "module threading", "module functools")
        kept = [root for root in library if root.text in wanted]
        return users, kept, [*skipped, *(root.thing for root in library if not any(root is one for one in kept))]

    return few


@pytest.fixture(scope="module", autouse=True)
def thawed_afterwards() -> Iterator[None]:
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def frozen_heap() -> None:
    """What was there before is no part of the program. It stays frozen from test to test: a collection that walks all
    that pytest and torch have made takes half a second."""
    gc.collect()
    gc.freeze()


class Program:
    """A module of the program's own, in which the tests lie what is to be found."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import sys

        self.module = types.ModuleType("train")
        self.module.__file__ = "/home/me/train.py"
        monkeypatch.setitem(sys.modules, "train", self.module)
        monkeypatch.setattr(roots, "_modules", _few(roots._modules))
        self._look = Look(is_users=lambda path: path == "/home/me/train.py", key_of=key_of)

    def measure(self) -> None:
        self._look.measure(0)

    def look(self, *tensors: torch.Tensor | int, step: int = 8) -> HeldRecord:
        keys = [one if isinstance(one, int) else key_of(one) for one in tensors]
        return self._look.look(
            [Wanted(site=k, key=key, bytes=4) for k, key in enumerate(keys)], step=step, run_steps=None
        )

    def path(self, tensor: torch.Tensor | int) -> HolderPath:
        key = tensor if isinstance(tensor, int) else key_of(tensor)
        del tensor
        ways = self.look(key).sites[0]
        assert ways, "nothing leads to it"
        return ways[0]

    def run(self, source: str) -> None:
        exec(compile(source, "/home/me/train.py", "exec"), vars(self.module))


@pytest.fixture(params=["native", "python"])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Program:
    if request.param == "python":
        monkeypatch.setattr(heap_walk, "_native", None)
        monkeypatch.setattr("harness.retainers.naming._key_of", None)
        monkeypatch.setattr("harness.retainers.roots._threads", None)
    elif not heap_walk.is_native():
        pytest.skip("the C walk was not built: there was no compiler")
    return Program(monkeypatch)


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
