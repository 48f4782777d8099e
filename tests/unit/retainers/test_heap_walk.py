"""One walk finds the way to everything, in C and in Python alike, past objects that do not want to be looked at."""

from __future__ import annotations

import collections
import gc
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.retainers import heap_walk
from harness.retainers.heap_walk import PythonWalk, Walk

WalkFrom = Callable[..., Walk]


@pytest.fixture(params=["native", "python"])
def walk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> WalkFrom:
    if request.param == "python":
        monkeypatch.setattr(heap_walk, "_native", None)
    elif not heap_walk.is_native():
        pytest.skip("the C walk was not built: there was no compiler")

    def walk_from(*phases: list[Any], skipped: tuple[Any, ...] = ()) -> Walk:
        return heap_walk.walk(list(phases), list(skipped))

    return walk_from


def way_to(found: Walk, thing: object) -> list[object]:
    path = found.path(thing)
    assert path is not None
    return path[1] + path[2]


def test_the_way_to_an_object_is_the_shortest(walk: WalkFrom) -> None:
    target = object()
    root = {"long": [[[target]]], "short": [target]}

    found = walk([root])

    assert way_to(found, target) == [root, root["short"], target]


def test_an_earlier_root_wins_over_a_shorter_way_from_a_later_one(walk: WalkFrom) -> None:
    target = object()
    clear, dark = {"a": {"b": [target]}}, [target]

    found = walk([clear], [dark])

    assert found.root_of(target) == 0
    assert way_to(found, target)[0] is clear


def test_a_root_is_a_beginning_and_never_a_stop(walk: WalkFrom) -> None:
    target = object()
    library = {"kept": target}
    program = {"library": library}

    found = walk([program], [library])

    assert found.root_of(target) == 1


def test_what_is_skipped_is_not_passed_through(walk: WalkFrom) -> None:
    target = object()
    ours = [target]

    found = walk([{"ours": ours}], skipped=(ours,))

    assert found.path(target) is None
    assert target not in found


def test_a_class_waits_until_all_instances_have_been_followed(walk: WalkFrom) -> None:
    target: list[object] = []
    kind = type("Kind", (), {"kept": target})
    instance = kind()

    found = walk([{"instance": instance}], [{"longer": [[[[target]]]]}])

    assert found.root_of(target) == 1


def test_the_chain_of_a_million_objects_is_walked_and_told_by_its_ends(walk: WalkFrom) -> None:
    target = object()
    chain: list[Any] = [target]
    for _ in range(1_000_000 if heap_walk.is_native() else 20_000):
        chain = [chain]

    path = walk([chain]).path(target)

    assert path is not None
    _, first, last, between = path
    assert len(first) + len(last) + between >= 20_000
    assert len(first) + len(last) <= 96
    while chain and type(chain[0]) is list:  # taken apart link by link: its own end would nest as deep
        chain = chain[0]


def test_more_roots_can_be_entered_later_and_keep_their_numbers(walk: WalkFrom) -> None:
    target = object()
    found = walk([[1, 2]])

    added = found.enter([[target]], 7)

    assert added == 2
    assert found.root_of(target) == 7


def test_a_container_that_gained_elements_is_told_with_both_sizes(walk: WalkFrom) -> None:
    kept: list[object] = [object()]
    still: dict[str, object] = {"a": object()}
    before = heap_walk.measure([[kept, still]], [])

    kept += [object(), object(), object()]

    assert walk([kept, still]).grown(before, 2) == [(kept, 1, 4)]


@pytest.mark.parametrize(
    "kind", [list, dict, set, collections.deque, collections.OrderedDict, collections.defaultdict, bytearray]
)
def test_every_kind_of_container_is_seen_to_grow(walk: WalkFrom, kind: type) -> None:
    container: Any = kind()
    before = heap_walk.measure([[container]], [])

    for number in range(1000, 1005):
        if isinstance(container, dict):
            container[number] = object()
        elif isinstance(container, set):
            container.add(number)
        else:
            container.append(number % 256)

    assert [one for one, _, _ in walk([container]).grown(before, 5)] == [container]


def test_another_object_at_the_same_address_is_no_growth(walk: WalkFrom) -> None:
    before = heap_walk.measure([[[1]]], [])

    assert walk([[1, 2, 3, 4]]).grown(before, 1) == []


def test_types_are_counted_then_and_now(walk: WalkFrom) -> None:
    class Node:
        pass

    kept = [Node()]
    before = heap_walk.measure([[kept]], [])
    kept += [Node(), Node()]

    assert (Node, 1, 3) in walk([kept]).types(before, 2)


def test_instances_are_told_by_what_they_are_and_not_by_what_they_say(walk: WalkFrom) -> None:
    class Liar:
        @property  # type: ignore[misc]
        def __class__(self) -> type:
            return dict

    liar = Liar()
    real = {"a": 1}

    found = walk([[liar, real]])

    assert found.instances(Liar) == [liar]
    assert [one for one in found.instances(dict) if one is liar] == []


class Hostile:
    """Raises, lies or never returns, whatever it is asked."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"asked for {name}")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def __hash__(self) -> int:
        raise RuntimeError("hashed")

    def __repr__(self) -> str:
        while True:
            time.sleep(1)

    def __len__(self) -> int:
        return -5

    def __iter__(self) -> Iterator[object]:
        raise SystemExit

    def __sizeof__(self) -> int:
        raise KeyboardInterrupt


def test_hostile_objects_are_walked_through_without_being_asked(walk: WalkFrom) -> None:
    target = object()
    hostile = Hostile()
    object.__setattr__(hostile, "kept", target)

    found = walk([{"hostile": hostile}])

    assert target in found


def test_a_metaclass_that_raises_does_not_stop_the_walk(walk: WalkFrom) -> None:
    class Meta(type):
        def __getattribute__(cls, name: str) -> Any:
            raise RuntimeError(name)

        def __eq__(cls, other: object) -> bool:
            raise RuntimeError("compared")

        def __hash__(cls) -> int:
            raise RuntimeError("hashed")

    kind = Meta("Kind", (), {})
    target = object()
    instance = type.__call__(kind)
    object.__setattr__(instance, "kept", target)

    assert target in walk([[instance]])


def test_a_weak_proxy_is_looked_at_and_not_through(walk: WalkFrom) -> None:
    class Node:
        pass

    target = Node()
    proxy = weakref.proxy(target)

    assert target not in walk([[proxy]])


def test_a_weak_proxy_whose_object_is_gone_raises_nothing(walk: WalkFrom) -> None:
    class Node:
        pass

    proxies = [weakref.proxy(Node()), weakref.ref(Node())]
    gc.collect()

    assert len(walk([proxies])) >= 2


def test_a_dict_that_other_threads_change_does_not_break_the_walk(walk: WalkFrom) -> None:
    changing: dict[int, list[int]] = {}
    stop = threading.Event()

    def change() -> None:
        k = 0
        while not stop.is_set():
            changing[k] = [k]
            changing.pop(k - 50, None)
            k += 1

    threads = [threading.Thread(target=change) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            found = walk([changing])
            assert changing in found.instances(dict)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_measuring_leaves_every_reference_count_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    if not heap_walk.is_native():
        pytest.skip("the C walk was not built: there was no compiler")
    import sys

    kept = [object() for _ in range(100)]
    before = [sys.getrefcount(one) for one in kept]

    heap_walk.measure([[kept]], [])

    assert [sys.getrefcount(one) for one in kept] == before


def test_a_walk_that_is_dropped_lets_go_of_everything(walk: WalkFrom) -> None:
    class Node:
        pass

    node = Node()
    gone = weakref.ref(node)
    found = walk([[node]])

    del node
    assert gone() is not None
    del found

    gc.collect()
    assert gone() is None


def test_both_walks_meet_the_same_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    if not heap_walk.is_native():
        pytest.skip("the C walk was not built: there was no compiler")
    namespace = vars(types.ModuleType("made"))
    namespace["kept"] = [{"a": (1, [2.5, object()])}, {3}, lambda: namespace]

    native = heap_walk.walk([[namespace]], [])
    python = PythonWalk([[namespace]], [])

    assert len(native) == len(python)
    assert {id(one) for one in native.instances(object)} == {id(one) for one in python.instances(object)}
