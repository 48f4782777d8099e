"""What is alive at the peak of a real training step, to the byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from harness.capture import wire
from harness.capture.client import ForkServer
from harness.capture.runner import run_subject
from harness.capture.wire import Job
from harness.ledger import why_not_native
from harness.ledger.composition import RolePart
from harness.model.peak import PeakComposition

if why_not_native() is not None:
    pytest.skip("no native ledger", allow_module_level=True)

from harness.capture.operator_watch import OperatorWatch
from harness.capture.peak_watch import PeakWatch, as_composition
from harness.ledger.native_ledger import NativeLedger

Step = Callable[[], object]
PARAMETERS = (64 * 256 + 256 + 256 * 10 + 10) * 4
BATCH = 512


@pytest.fixture
def composition_of() -> Iterator[Callable[[Step], PeakComposition]]:
    """Runs a step twice and tells what was alive at the second one's peak."""
    with NativeLedger(depth=2, keep_events=True).start() as ledger:
        watch = PeakWatch(ledger)
        watch.start()

        def run(step: Step) -> PeakComposition:
            with OperatorWatch(lambda name, arguments: None, ledger, watch):
                step()
                mark = ledger.mark()
                watch.begin(1)
                step()
            composition = watch.end(mark)
            assert composition is not None
            assert sum(composition.by_role.values()) == composition.bytes == ledger.peak_bytes(mark)["cpu"]
            return composition

        yield run
        watch.stop()


def a_model() -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))


def test_training_by_adam_at_its_peak_in_backward(composition_of: Callable[[Step], PeakComposition]) -> None:
    model, target = a_model(), torch.zeros(BATCH, dtype=torch.long)
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        batch = torch.randn(BATCH, 64)
        optimizer.zero_grad(set_to_none=False)
        torch.nn.functional.cross_entropy(model(batch), target).backward()
        optimizer.step()

    told = composition_of(step)

    assert told.by_role == {
        "parameter": PARAMETERS,
        "gradient": PARAMETERS,
        "optimizer state": 2 * PARAMETERS + 4 * 4,  # exp_avg, exp_avg_sq, step
        "input": BATCH * 64 * 4 + BATCH * 8,
        "activation": BATCH * 256 * 4 + 2 * 4,  # of the second layer's input, the loss and backward's first 1
        "backward temporary": 2 * BATCH * 256 * 4,
    }
    assert [frame.source for frame in told.parts[0].allocated_at[:1]] == [
        "torch.nn.functional.cross_entropy(model(batch), target).backward()"
    ]


def test_training_of_few_rows_has_its_peak_in_the_optimizer(
    composition_of: Callable[[Step], PeakComposition],
) -> None:
    model = a_model()
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        model(torch.randn(1, 64)).sum().backward()
        optimizer.step()

    told = composition_of(step)

    assert told.by_role["parameter"] == told.by_role["gradient"] == PARAMETERS
    assert told.by_role["optimizer state"] == 2 * PARAMETERS + 4 * 4
    assert "backward temporary" not in told.by_role
    assert told.by_role["other"] >= 64 * 256 * 4  # the update's own temporary


def test_frozen_weights_and_what_they_compute_are_told_without_autograd(
    composition_of: Callable[[Step], PeakComposition],
) -> None:
    model = a_model().requires_grad_(False)

    def step() -> None:
        with torch.inference_mode():
            model((torch.randn(BATCH, 64) + 1) / 2)

    assert composition_of(step).by_role == {
        "parameter": PARAMETERS,
        "activation": 2 * BATCH * 256 * 4,
        "input": BATCH * 64 * 4,
    }


def test_running_statistics_are_buffers(composition_of: Callable[[Step], PeakComposition]) -> None:
    layer = torch.nn.BatchNorm1d(64)

    told = composition_of(lambda: layer(torch.randn(BATCH, 64)))

    assert told.by_role["buffer"] == 64 * 4 + 64 * 4 + 8


def test_what_is_recomputed_in_backward_is_activation(composition_of: Callable[[Step], PeakComposition]) -> None:
    model = a_model()

    def step() -> None:
        batch = torch.randn(BATCH, 64)
        torch.utils.checkpoint.checkpoint(model, batch, use_reentrant=False).sum().backward()
        model.zero_grad()

    assert composition_of(step).by_role["activation"] >= BATCH * 256 * 4


def test_graphs_kept_from_earlier_steps_are_activation(composition_of: Callable[[Step], PeakComposition]) -> None:
    model, kept = a_model(), []
    composition_of(lambda: kept.append(model[0](torch.randn(BATCH, 64))))

    told = composition_of(lambda: kept.append(model[0](torch.randn(BATCH, 64))))

    assert told.by_role["activation"] == 4 * BATCH * 256 * 4


def test_nothing_of_the_users_runs_while_roles_are_read(composition_of: Callable[[Step], PeakComposition]) -> None:
    class Forbidding(torch.nn.Linear):
        def __getattribute__(self, name: str) -> object:
            if forbidden:
                raise AssertionError(f"{name} was asked for")
            return super().__getattribute__(name)

    class Tagged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: object, types: object, args: object = (), kwargs: object = None) -> object:
            raise AssertionError(f"{func} was called")

    forbidden = False
    layer, tagged = Forbidding(3, 2), torch.empty(5).as_subclass(Tagged)
    forbidden = True

    told = composition_of(lambda: None)

    forbidden = False
    assert told.by_role["parameter"] == (3 * 2 + 2) * 4
    assert (layer.in_features, type(tagged)) == (3, Tagged)


def test_what_is_missing_to_the_exact_peak_is_other_and_too_much_is_no_composition() -> None:
    parts = (RolePart(role="other", site=3, bytes=10, storages=1), RolePart(role="input", site=4, bytes=90, storages=2))

    told = as_composition(parts, step=4, peak_bytes=120, frames=lambda site: ())

    assert told is not None
    assert told.by_role == {"input": 90, "other": 30}
    assert as_composition(parts, step=4, peak_bytes=99, frames=lambda site: ()) is None


def test_a_recording_has_the_composition_of_its_last_step(tmp_path: Path) -> None:
    scenario = tmp_path / "training.py"
    scenario.write_text(
        "import torch\n"
        "torch.set_num_threads(1)\n"
        "model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))\n"
        "optimizer = torch.optim.Adam(model.parameters())\n"
        "def step(i):\n"
        "    optimizer.zero_grad(set_to_none=False)\n"
        "    model(torch.randn(512, 64)).sum().backward()\n"
        "    optimizer.step()\n"
    )
    job = Job(
        path=str(scenario),
        name="training",
        variant="step",
        role="ledger",
        warmup=0,
        first_stop=12,
        seed=0,
        memory_limit_bytes=None,
    )

    with ForkServer(seed=0) as server:
        _, record = run_subject(server, job, decide=lambda gathering: wire.Go(until=0), timeout_s=60)

    peaks = record.find("peak.tensors")
    assert peaks is not None
    assert record.ledger is not None
    told = record.ledger.peak
    assert told is not None
    assert (told.step, told.bytes) == (11, peaks.values[-1])
    assert sum(told.by_role.values()) == told.bytes == record.ledger.peak_bytes["cpu"]
    assert told.by_role["parameter"] == told.by_role["gradient"] == PARAMETERS
    assert told.by_role["optimizer state"] == 2 * PARAMETERS + 4 * 4
    assert told.by_role["input"] == 512 * 64 * 4
    assert told.by_role["activation"] >= 512 * 256 * 4
    assert told.parts[0].allocated_at[0].source == "model(torch.randn(512, 64)).sum().backward()"
