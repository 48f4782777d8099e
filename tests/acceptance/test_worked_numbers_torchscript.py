"""A training step in TorchScript trains as in Python, and each error of the tutorials is shown as what it is."""

from __future__ import annotations

import importlib.util
import io
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from harness import GradientCollector, ResourceScope
from harness.errors import GradientError
from harness.ledger import start_ledger
from tests.repo.source_tree import ROOT

pytestmark = [
    pytest.mark.skipif(sys.version_info >= (3, 14), reason="torch does not support TorchScript on Python 3.14"),
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
]


def scenario(name: str) -> ModuleType:
    """Registered, as TorchScript looks up a class by its module."""
    spec = importlib.util.spec_from_file_location(f"worked_{name}", ROOT / "scenarios" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_loaded_module_has_the_losses_of_python_step_by_step() -> None:
    module = scenario("torchscript_training")

    eager = [module.train(module.EAGER) for _ in range(100)]
    loaded = [module.train(module.LOADED) for _ in range(100)]

    assert loaded == eager
    assert eager[-1] < eager[0] / 100


def test_a_hundred_epochs_come_near_the_line_and_least_squares_nearer() -> None:
    module = scenario("torchscript_training")
    columns = torch.stack([module.X, torch.ones(100)], dim=1)

    for _ in range(100):
        module.train(module.LOADED)
    slope, offset = torch.linalg.lstsq(columns, module.Y[:, None]).solution.flatten().tolist()

    assert module.LOADED.weight.item() == pytest.approx(2, abs=0.1)
    assert 0.4 < module.LOADED.bias.item() < 0.8
    assert (slope, offset) == (pytest.approx(2, abs=0.02), pytest.approx(1, abs=0.1))


TRAINS = """
import json, sys, torch
torch.set_num_threads(1)
module = torch.jit.load(sys.argv[1])
x, y = torch.load(sys.argv[2])
losses = []
for _ in range(100):
    losses.append(float(module.loss_and_backward(x, y)))
    module.sgd_step(0.01)
    module.zero()
print(json.dumps([losses, [float(gradient) for gradient in module.gradients()]]))
"""


def test_a_fresh_process_that_knows_only_the_file_trains_it_with_the_same_losses(tmp_path: Path) -> None:
    module = scenario("torchscript_training")
    torch.jit.script(module.Line()).save(str(tmp_path / "line.pt"))
    torch.save((module.X, module.Y), tmp_path / "points.pt")

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TRAINS, str(tmp_path / "line.pt"), str(tmp_path / "points.pt")],
        capture_output=True,
        text=True,
        check=True,
    )

    losses, gradients = json.loads(done.stdout)
    assert losses == [module.train(module.EAGER) for _ in range(100)]
    assert gradients == [0.0, 0.0]


def test_a_method_that_is_not_exported_is_not_saved() -> None:
    model = scenario("torchscript_errors").MODEL

    assert hasattr(model, "zero")
    with pytest.raises(AttributeError, match="not_exported"):
        torch.jit.load(io.BytesIO(model.save_to_buffer())).not_exported(torch.ones(2))


def test_an_undefined_gradient_passes_is_not_none_and_fails_in_zero() -> None:
    module = scenario("torchscript_errors")

    assert module.Model().zero() is False  # in Python it is None
    with pytest.raises(RuntimeError, match="undefined"):
        module.MODEL.zero()
    module.fixed_step(0)  # backward first, then zero
    assert module.MODEL.zero() is True


def test_an_optimizer_cannot_be_scripted() -> None:
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)

    with pytest.raises(torch.jit.frontend.NotSupportedError, match=r"optim.sgd\.py"):
        torch.jit.script(optimizer)


def test_what_a_run_method_computed_without_gradients_cannot_train() -> None:
    module = scenario("torchscript_errors")

    result = module.run_method(module.MODEL, module.X)

    assert result.grad_fn is None
    with pytest.raises(RuntimeError, match="does not require grad"):
        result.backward()


def test_a_forward_pass_before_the_collector_opens_has_no_graph() -> None:
    module = scenario("torchscript_errors")
    with torch.no_grad():  # as where gradients are on only inside a collector
        before = module.MODEL(module.X)

        with GradientCollector(module.MODEL, on_exit="none") as collector:
            with pytest.raises(GradientError, match="no graph"):
                collector.backward(before)
            collector.backward(module.MODEL(module.X))


def test_a_plain_close_does_not_free_the_bytes_at_once() -> None:
    with start_ledger() as ledger, ResourceScope("request") as scope:
        tensor = torch.ones(1024)
        view = tensor[:1]
        before = ledger.live().bytes["cpu"]

        scope.close_tensor(tensor)
        closed = ledger.live().bytes["cpu"]
        del view, tensor
        scope.dump()  # settles what waited
        freed = ledger.live().bytes.get("cpu", 0)

    assert (before - closed, before - freed) == (0, 4096)


def test_tracing_freezes_the_branch_that_it_saw() -> None:
    module = scenario("torchscript_errors")
    with pytest.warns(Warning, match="to a Python boolean"):
        traced = torch.jit.trace(module.branching, torch.ones(2))
    scripted = torch.jit.script(module.branching)

    negative = -torch.ones(2)

    assert traced(negative).tolist() == [-1.0, -1.0]
    assert scripted(negative).tolist() == module.branching(negative).tolist() == [1.0, 1.0]
