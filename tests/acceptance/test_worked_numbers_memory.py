"""Each number that a scenario on memory claims, from the scenario's own functions or its own run."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from harness.ledger import Ledger, start_ledger
from tests.acceptance.bundled import Done
from tests.repo.source_tree import ROOT


def scenario(name: str) -> ModuleType:
    """A bundled scenario as a module of its own, fresh for each test that asks."""
    spec = importlib.util.spec_from_file_location(f"worked_{name}", ROOT / "scenarios" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_files(*files: Path) -> dict[tuple[str, str], dict[str, Any]]:
    command = [sys.executable, "-m", "harness.cli.main", "run", "--quiet", "--format", "json"]
    done = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, timeout=280, check=False)
    return {(told["scenario"], told["variant"]): told for told in json.loads(done.stdout)["runs"]}


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with start_ledger() as started:
        yield started


def allocations(ledger: Ledger, work: Callable[[], object]) -> int:
    """How many storages *work* makes, when it is not done for the first time."""
    work()
    mark = ledger.mark()
    work()
    return ledger.allocations(mark)


@pytest.mark.parametrize(
    ("update", "storages"), [("w - rate * g", 2), ("w.sub_(g * rate)", 1), ("w.sub_(g, alpha=rate)", 0)]
)
def test_a_parameter_update_makes_two_storages_or_one_or_none(ledger: Ledger, update: str, storages: int) -> None:
    module = scenario("update_out_of_place")
    weight, gradient = module.PARAMETERS["w"], module.gradient()

    assert allocations(ledger, lambda: module.UPDATES[update](weight, gradient)) == storages


@pytest.mark.parametrize(("style", "storages"), [("zeros_like", 4), ("zero_()", 0), ("None", 0)])
def test_zeroing_the_gradients_of_four_parameters_makes_four_storages_or_none(
    ledger: Ledger, style: str, storages: int
) -> None:
    module = scenario("zeroing_styles")

    def work() -> None:
        for parameter in module.PARAMETERS:
            module.STYLES[style](parameter)

    module.setup()
    mark = ledger.mark()
    work()

    assert len(module.PARAMETERS) == 4
    assert ledger.allocations(mark) == storages


def test_the_runs_of_both_count_the_same(done: Done) -> None:
    counted = {
        (scenario, variant): done.told(scenario, variant)["allocations_per_step"]
        for scenario in ("update_out_of_place", "zeroing_styles")
        for variant in ("step", "fixed_step")
    }

    assert counted == {
        ("update_out_of_place", "step"): 3,
        ("update_out_of_place", "fixed_step"): 1,
        ("zeroing_styles", "step"): 5,
        ("zeroing_styles", "fixed_step"): 1,
    }


def test_thirty_epochs_in_one_scope_keep_sixty_storages(ledger: Ledger) -> None:
    module = scenario("training_loop_in_one_scope")
    before = module.TRAINING.live().storages

    for epoch in range(30):
        module.step(epoch)

    assert module.TRAINING.live().storages - before == 60
    module.teardown()


def test_a_scope_an_epoch_keeps_none_of_them(ledger: Ledger) -> None:
    module = scenario("training_loop_in_one_scope")
    before = module.TRAINING.live().storages

    for epoch in range(30):
        module.fixed_step(epoch)

    assert module.TRAINING.live().storages == before
    module.teardown()


def test_deleting_under_gradients_frees_nothing_before_backward(ledger: Ledger) -> None:
    module = scenario("deleted_under_gradients")
    one: int = module.BATCH.untyped_storage().nbytes()

    def peak(work: Callable[[int], None]) -> float:
        mark = ledger.mark()
        work(0)
        return ledger.peak_bytes(mark)["cpu"] / one

    peak(module.step)

    assert peak(module.step) == pytest.approx(1 + 12, abs=0.01)
    assert peak(module.fixed_step) == pytest.approx(1 + 2, abs=0.01)


def test_the_table_of_constructors_says_which_of_them_see_a_later_edit() -> None:
    module = scenario("foreign_buffer_edited")
    names = list(module.MAKERS)

    module.setup()  # asserts each row

    assert [name for name in names if module.MAKERS[name][1]] == [
        "torch.from_numpy(a)",
        "torch.frombuffer(a)",
        "torch.as_tensor(a)",
        "torch.asarray(a)",
        "torch.from_dlpack(a)",
        "torch.from_numpy(a)[:2]",
    ]
    text = " ".join((module.__doc__ or "").split())
    aliasing, copying = text.split("alias: ")[1].split("copy: torch.tensor(a)")
    assert all((name in aliasing) is aliases for name, (_, aliases) in module.MAKERS.items() if "dtype" not in name)
    assert all(name in f"torch.tensor(a){copying}" for name, (_, aliases) in module.MAKERS.items() if not aliases)


def test_the_other_way_round_an_array_from_a_tensor_is_an_alias_too() -> None:
    tensor = torch.zeros(4)
    array = tensor.numpy()

    tensor[0] = 2.0

    assert array[0] == 2.0


def test_what_malloc_gave_is_the_accounts_native_heap(done: Done) -> None:
    told = done.told("native_memory_grows", "step")
    parts, rss = told["conservation"]["parts"], told["conservation"]["rss_growth_bytes"]

    measured = told["steps"] - told["warmup_steps"]
    assert parts["native_heap"] == pytest.approx(measured * 65552, rel=0.02)
    assert parts["native_heap"] == pytest.approx(rss, rel=0.1)
    assert abs(parts["tensors"]) + abs(parts["python_objects"]) < 0.02 * rss


def test_each_stored_exception_keeps_the_scores_of_its_step() -> None:
    module = scenario("exception_stored")

    for i in range(3):
        module.step(i)

    frames = [error.__traceback__.tb_next.tb_frame for error in module.ERRORS]
    assert [frame.f_locals["scores"].untyped_storage().nbytes() for frame in frames] == [16384] * 3


def test_a_tensor_that_was_closed_too_early_says_where_it_was_made_and_where_it_was_closed(done: Done) -> None:
    told = done.told("closed_too_early", "step")
    (finding,) = told["findings"]

    assert finding["fault"] == "use_after_close"
    assert finding["allocated_at"][0]["source"] == "return 0.9 * velocity + gradient"
    assert "closed_too_early.py:37 in next_velocity, closed at " in finding["explanation"]
    assert "closed_too_early.py:41 in step by scope root/training/round#" in finding["explanation"]


def test_eight_layers_of_512_save_24_mib_for_a_batch_of_1024_or_nothing() -> None:
    module = scenario("inference_with_gradients")
    model, request = module.layers(512), torch.ones(1024, 512, requires_grad=True)

    assert module.saved_bytes(model, request) == 8 * (1024 * 512 + 512 * 512) * 4 == 24 << 20
    with torch.no_grad():
        assert module.saved_bytes(model, request) == 0


def test_grad_mode_is_the_workers_own() -> None:
    module = scenario("inference_with_gradients")

    with torch.no_grad():
        in_worker = module.WORKER.submit(torch.is_grad_enabled).result()
        here = torch.is_grad_enabled()

    assert (in_worker, here) == (True, False)


def test_a_log_of_gradients_is_zeroed_in_place_or_keeps_a_storage_a_step(ledger: Ledger) -> None:
    module = scenario("logged_gradients")
    assert module.zeroed_log() == [0.0, 0.0, 0.0]
    module.setup()
    module.step(0)
    before = ledger.live().bytes["cpu"]

    for i in range(10):
        module.step(i)

    assert ledger.live().bytes["cpu"] - before == 10 * 64 * 64 * 4
    assert [float(gradient.max()) for gradient in module.LOG] == [2.0] * 11


def test_micro_batches_add_up_to_the_gradient_of_the_batch() -> None:
    module = scenario("micro_batches")

    def gradient(parts: int) -> list[torch.Tensor]:
        module.OPTIMIZER.zero_grad()
        module.add_gradient(parts=parts)
        return [parameter.grad.clone() for parameter in module.MODEL.parameters()]

    for whole, summed in zip(gradient(1), gradient(module.PARTS), strict=True):
        torch.testing.assert_close(whole, summed)


def test_an_epoch_in_one_compiled_call_is_one_call_and_computes_the_same() -> None:
    module = scenario("epoch_in_python")
    module.step(0)
    in_python = module.W.clone()
    module.W.zero_()
    module.fixed_step(0)

    assert module.CALLS == {"step": 10, "fixed_step": 1}
    torch.testing.assert_close(module.W, in_python)


def test_eight_loads_have_the_bytes_of_eight_modules_and_eight_copies_those_of_one(ledger: Ledger) -> None:
    module = scenario("module_loaded_per_thread")
    module.loaded_once()

    mark = ledger.mark()
    loaded = [module.load() for _ in range(8)]
    of_loads = ledger.live(since=mark).bytes.get("cpu", 0)
    mark = ledger.mark()
    shared = [module.share() for _ in range(8)]
    of_copies = ledger.live(since=mark).bytes.get("cpu", 0)

    assert (of_loads, of_copies) == (8 * 256 * 256 * 4, 0)
    assert len({id(one.weight) for one in loaded}) == 8
    assert {id(one.weight) for one in shared} == {id(module.loaded_once().weight)}


@pytest.mark.parametrize(("half", "used"), [("step", [[2.0, 4.0], [2.0, 4.0]]), ("fixed_step", [[1.0, 2.0]] * 2)])
def test_two_threads_that_train_one_module_step_with_the_sum_of_both_gradients(
    half: str, used: list[list[float]]
) -> None:
    module = scenario("module_trained_by_threads")

    getattr(module, half)(0)

    assert used == module.STEPPED


def test_a_threads_own_buffer_is_told_for_each_new_thread(done: Done) -> None:
    told = done.told("threads_keep_state", "step")
    (finding,) = told["findings"]

    assert finding["cause"] == "thread_growth"
    assert finding["tensor_bytes_per_step"] == 64 * 64 * 4
    assert finding["retained_at"][0]["source"].startswith("threading.Thread(target=serve")
    assert "keeps 16.0 KiB for each new thread, which no further call" in finding["explanation"]


def test_emptying_the_cache_frees_no_live_byte_and_reserved_is_not_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "xpu", torch.xpu)  # so that the scenario's stand-in is gone after the test
    module = scenario("cache_not_emptied")

    def figures() -> tuple[int, int]:
        return module.DEVICE.memory_allocated() >> 20, module.DEVICE.memory_reserved() >> 20

    module.setup()
    small, large = module.request(16), module.request(32)
    both = figures()
    del small
    dropped = figures()
    module.DEVICE.empty_cache()
    emptied = figures()
    del large

    assert (both, dropped, emptied, figures()) == ((48, 48), (32, 48), (32, 32), (0, 32))
    module.DEVICE.empty_cache()


def test_a_cache_that_grows_is_told_from_tensors_that_are_kept(tmp_path: Path) -> None:
    text = (ROOT / "scenarios" / "cache_not_emptied.py").read_text()
    kept = text.replace("    request(10 + i // 8 * 2)  # ten blocks for 80 steps", "    KEPT.append(request(10))")
    assert kept != text
    (tmp_path / "kept.py").write_text(kept.replace("\nDEVICE: Any", "\nKEPT: list[torch.Tensor] = []\nDEVICE: Any"))

    findings = run_files(tmp_path / "kept.py")["kept", "step"]["findings"]

    by_cause = {finding["cause"]: finding["bytes_per_step"] for finding in findings}
    assert by_cause["held_reference"] == 10 << 20
    assert "device_cache_growth" not in by_cause


@pytest.mark.skipif(sys.platform != "linux", reason="asks mincore(2)")
def test_a_crash_is_contained_and_explained_by_the_line_that_read_and_the_line_that_made_the_tensor(done: Done) -> None:
    told = done.told("buffer_closed_under_tensor", "step")
    (finding,) = told["findings"]

    assert (told["ending"]["status"], told["ending"]["signal"]) == ("crashed", "SIGSEGV")
    assert (finding["fault"], finding["allocated_at"][0]["source"]) == ("use_after_close", "readings.sum()")
    assert "sum was given a tensor whose memory is no longer there: [524288] torch.float32" in finding["explanation"]
    assert "made by torch.frombuffer at " in finding["explanation"]


@pytest.mark.skipif(sys.platform != "linux", reason="asks mincore(2)")
def test_a_crash_that_nobody_announced_is_explained_too(tmp_path: Path) -> None:
    text = (ROOT / "scenarios" / "buffer_closed_under_tensor.py").read_text()
    (tmp_path / "crashes.py").write_text(text.replace('    expect=fault("use_after_close"),\n', ""))

    told = run_files(tmp_path / "crashes.py")["crashes", "step"]

    assert (told["outcome"], told["as_expected"]) == ("fault", False)
    assert [finding["fault"] for finding in told["findings"]] == ["use_after_close"]
