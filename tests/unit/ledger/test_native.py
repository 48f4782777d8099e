"""What only the native ledger can: all threads, frames without the interpreter lock, and its place in torch's slots."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from harness.errors import UsageError
from harness.ledger import start_ledger, why_not_native

if (_why_not := why_not_native()) is not None:
    pytest.skip(f"no native ledger: {_why_not}", allow_module_level=True)

from harness.ledger import _native
from harness.ledger.native_ledger import NativeLedger


@pytest.fixture
def ledger() -> Iterator[NativeLedger]:
    with NativeLedger(depth=8).start() as started:
        yield started


def sources(ledger: NativeLedger, tensor: torch.Tensor) -> list[str | None]:
    """The source lines of the tensor's site, innermost first."""
    return [frame.source for frame in ledger.frames(ledger.storage_keys()[ledger.key_of(tensor)])[1]]


def test_auto_takes_the_native_ledger_where_its_self_test_passes() -> None:
    with start_ledger() as ledger:
        assert ledger.source == "native"
        assert why_not_native() == "the native ledger cannot start: a native ledger is already running in this process"
        with pytest.raises(UsageError, match="already running"):
            start_ledger(source="native")


def test_auto_is_the_dispatch_ledger_where_there_is_a_device_since_native_does_not_see_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)

    with start_ledger() as ledger:
        assert ledger.source == "dispatch"
    with start_ledger(source="native") as ledger:
        assert ledger.source == "native"


def test_another_threads_storages_are_seen_with_its_own_line(ledger: NativeLedger) -> None:
    with ThreadPoolExecutor(1) as pool:
        tensor = pool.submit(lambda: torch.empty(100)).result()

    assert sources(ledger, tensor)[0] == "tensor = pool.submit(lambda: torch.empty(100)).result()"


def test_depth_counts_the_users_frames_from_the_innermost() -> None:
    def inner() -> torch.Tensor:
        return torch.nn.Linear(2, 2, bias=False).weight

    def outer() -> torch.Tensor:
        return inner()

    with NativeLedger(depth=1).start() as ledger:
        weight = outer()
        assert sources(ledger, weight) == ["return torch.nn.Linear(2, 2, bias=False).weight"]
    with NativeLedger(depth=2).start() as ledger:
        weight = outer()
        assert sources(ledger, weight) == ["return torch.nn.Linear(2, 2, bias=False).weight", "return inner()"]


def test_code_that_is_made_again_at_the_same_address_is_not_taken_for_the_old(ledger: NativeLedger) -> None:
    seen = []
    for number in range(200):
        space: dict[str, torch.Tensor] = {"torch": torch}  # type: ignore[dict-item]
        exec(compile("\n" * (number % 7) + "made = torch.empty(4)", f"<made {number}>", "exec"), space)
        site = ledger.storage_keys()[ledger.key_of(space["made"])]
        frame = ledger.frames(site)[1][0]
        seen.append((frame.path, frame.line))

    assert seen == [(f"<made {number}>", number % 7 + 1) for number in range(200)]


def test_a_generators_frame_and_its_consumers_are_both_there(ledger: NativeLedger) -> None:
    def produce() -> Iterator[torch.Tensor]:
        yield torch.empty(7)

    tensor = next(produce())

    assert sources(ledger, tensor)[:2] == ["yield torch.empty(7)", "tensor = next(produce())"]


def test_a_line_in_an_exception_handler_is_the_handlers(ledger: NativeLedger) -> None:
    try:
        raise ValueError
    except ValueError:
        tensor = torch.empty(7)

    assert sources(ledger, tensor)[0] == "tensor = torch.empty(7)"


def test_a_deep_recursion_gives_the_innermost_frames_only() -> None:
    def dive(levels: int) -> torch.Tensor:
        return torch.empty(5) if levels == 0 else dive(levels - 1)

    with NativeLedger(depth=64).start() as ledger:
        tensor = dive(200)

        assert len(sources(ledger, tensor)) == 64


def test_starting_and_stopping_a_thousand_times_leaves_torchs_slots_as_they_were() -> None:
    for _ in range(1000):
        with NativeLedger(depth=1).start() as ledger:
            kept = torch.empty(10)
            assert ledger.live().total_bytes == 40
        assert ledger.not_restored is None
        del kept

    slots, _, _ = _native.slots()
    assert slots >= 4
    assert _native.session()[1] == 0


def test_a_ledger_that_was_followed_by_another_says_so_instead_of_answering_for_it() -> None:
    with NativeLedger().start() as first:
        pass
    with NativeLedger().start(), pytest.raises(UsageError, match="another one has been started since"):
        first.live()


def test_a_full_table_says_how_much_it_dropped_and_stays_right_about_the_rest() -> None:
    with NativeLedger(most_storages=64).start() as ledger:
        kept = [torch.empty(1) for _ in range(5000)]

        assert ledger.dropped > 0
        assert ledger.live().storages + ledger.dropped == 5000
        assert ledger.live().total_bytes == 4 * ledger.live().storages
        kept.clear()
        assert ledger.live().storages == 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_the_ledger_of_the_moment_of_the_fork_and_goes_on_alone(ledger: NativeLedger) -> None:
    kept = torch.empty(100)
    stop = threading.Event()
    others = [threading.Thread(target=allocate_until, args=(stop,)) for _ in range(2)]
    for other in others:
        other.start()

    codes = []
    for _ in range(50):
        child = os.fork()
        if child == 0:
            os._exit(what_is_wrong_in_the_child(ledger, kept))
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    for other in others:
        other.join()

    assert codes == [0] * 50
    assert ledger.live().total_bytes == 400


def allocate_until(stop: threading.Event) -> None:
    while not stop.is_set():
        _native.exercise(1000, 4096, 16)


def what_is_wrong_in_the_child(ledger: NativeLedger, kept: torch.Tensor) -> int:
    before = ledger.live()
    mine = torch.empty(200)
    if ledger.live().total_bytes - before.total_bytes != 800 or len(kept) != 100:
        return 1
    del mine
    if ledger.live() != before or sum(s.bytes for s in ledger.survivors(ledger.mark())) != before.total_bytes:
        return 2
    ledger.stop()
    return 0


def test_a_thread_with_no_python_state_has_its_own_site(ledger: NativeLedger) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        made = torch.jit.script(make_in_torchs_pool)

    kept = made(1000)

    (site,) = (site for key, site in ledger.storage_keys().items() if key == ledger.key_of(kept))
    assert ledger.frames(site) == ("native thread", ())


def make_in_torchs_pool(n: int) -> torch.Tensor:
    made: torch.Tensor = torch.jit.wait(torch.jit.fork(torch.ones, [n]))
    return made


@pytest.mark.slow
def test_ten_million_pairs_from_eight_threads_lose_nothing_and_leave_nothing(ledger: NativeLedger) -> None:
    start = ledger.mark()
    memory = _native.slots()[2]
    threads = [threading.Thread(target=_native.exercise, args=(1_250_000, 64, 8)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert ledger.allocations(start) == 10_000_000
    assert ledger.live().storages == 0
    assert ledger.live().total_bytes == 0
    assert ledger.dropped == 0
    assert _native.slots()[2] - memory < 2**20
