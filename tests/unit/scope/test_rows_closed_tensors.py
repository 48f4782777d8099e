"""The rows on closing tensors: an error that explains itself, never a crash, never a wrong number."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from torch.utils.dlpack import from_dlpack

from harness.errors import UseAfterCloseError
from harness.ledger import Ledger
from harness.scope import ClosedTensor, ResourceScope

USES: dict[str, Callable[[Any], object]] = {
    "add": lambda t: t + 1,
    "reflected add": lambda t: torch.ones(1) + t,
    "shape": lambda t: t.shape,
    "index": lambda t: t[0],
    "assign": lambda t: t.__setitem__(0, 1.0),
    "numpy": lambda t: t.numpy(),
    "asarray": numpy.asarray,
    "float": float,
    "bool": bool,
    "len": len,
    "iterate": list,
    "stack": lambda t: torch.stack([torch.ones(1), t]),
    "out": lambda t: torch.add(torch.ones(1), torch.ones(1), out=t),
    "data_ptr": lambda t: t.data_ptr(),
    "grad": lambda t: t.grad,
    "pickle": pickle.dumps,
    "deepcopy": copy.deepcopy,
    "linear": lambda t: torch.nn.functional.linear(torch.ones(1, 4), t),
    "dlpack": from_dlpack,
    "parameter": torch.nn.Parameter,
}


def closed(scope: ResourceScope) -> torch.Tensor:
    tensor = torch.ones(4)
    scope.close_tensor(tensor)
    return tensor


@pytest.mark.parametrize("use", USES)
def test_row_15_using_a_closed_tensor_says_created_closed_by_whom_and_by_what(ledger: Ledger, use: str) -> None:
    with ResourceScope("request") as scope:
        tensor = closed(scope)

        with pytest.raises(UseAfterCloseError) as raised:
            USES[use](tensor)

    text = str(raised.value)
    assert f"by scope {scope.path}" in text
    assert text.count("test_rows_closed_tensors.py:") == 2
    assert "[4] torch.float32 on cpu" in text
    assert raised.value.help


def test_row_15_the_operator_is_named_and_repr_works(ledger: Ledger) -> None:
    with ResourceScope("request") as scope:
        tensor = closed(scope)

        assert repr(tensor).startswith("<closed tensor [4] torch.float32, closed at ")
        assert isinstance(tensor, ClosedTensor)
        with pytest.raises(UseAfterCloseError, match=r"^matmul was given"):
            torch.matmul(tensor, torch.ones(4))


def test_row_15_what_goes_past_the_class_is_refused_by_the_dispatcher(ledger: Ledger) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is deprecated

        @torch.jit.script
        def scripted(x: torch.Tensor) -> torch.Tensor:
            return x.sum() * 2

    with ResourceScope("request") as scope:
        tensor = closed(scope)

        with torch._C.DisableTorchFunctionSubclass(), pytest.raises(UseAfterCloseError):
            tensor.sum()
        with pytest.raises(RuntimeError, match="failed in the TorchScript interpreter"):
            scripted(tensor)


def test_row_15_closing_twice_is_no_error(ledger: Ledger) -> None:
    with ResourceScope("request") as scope:
        tensor = torch.ones(4)

        assert scope.close_tensor(tensor) is scope.close_tensor(tensor)


def test_row_15_the_memory_goes_when_no_other_thread_can_be_reading_it(ledger: Ledger) -> None:
    blocked, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        blocked.set()
        go_on.wait()

    thread = threading.Thread(target=wait)
    with ResourceScope("request") as scope:
        tensor = torch.ones(1000)
        thread.start()
        blocked.wait()

        scope.close_tensor(tensor)
        with pytest.raises(UseAfterCloseError):
            tensor.sum()
        waiting = scope.dump()
        go_on.set()
        thread.join()

        assert (waiting.quarantined, waiting.quarantined_bytes) == (1, 4000)
        assert scope.dump().quarantined == 0
        assert scope.dump().storages == 0


def test_row_16_views_and_arrays_on_a_closed_tensor_stay_and_are_told(ledger: Ledger) -> None:
    with ResourceScope("request") as scope:
        tensor = torch.arange(10.0)
        view, array = tensor[2:5], tensor.numpy()

        closure = scope.close_tensor(tensor)

        assert closure.held_by is not None
        assert "view" in closure.held_by
        assert view.tolist() == [2, 3, 4]
        assert array.sum() == 45
        assert scope.dump().storages == 1
        del view, array
        assert scope.dump().storages == 0


def test_row_16_what_a_graph_holds_is_not_freed_under_it_and_is_reported_with_its_holder(ledger: Ledger) -> None:
    weight = torch.ones(5, requires_grad=True)
    with ResourceScope("request", on_escape="close") as scope:
        hidden = weight.exp()
        loss = scope.keep(hidden.sum())
        del hidden

    (escape,) = scope.escapes
    assert escape.held_by == ("an autograd graph or other C++ code (no Python name leads to it)",)
    loss.backward()
    assert weight.grad is not None
    assert torch.equal(weight.grad, weight.detach().exp())


@pytest.mark.parametrize("closing", ["operand", "parameter", "intermediate", "result", "view's base"])
def test_row_35_no_gradient_is_wrong_whatever_was_closed_before_backward(ledger: Ledger, closing: str) -> None:
    torch.manual_seed(0)
    weight, data = torch.randn(6, requires_grad=True), torch.randn(6)
    expected = _gradient(weight.detach().clone(), data.clone(), lambda *_: None)

    def close(scope: ResourceScope, w: torch.Tensor, x: torch.Tensor, h: torch.Tensor, y: torch.Tensor) -> None:
        chosen = {"operand": x, "parameter": w, "intermediate": h, "result": y, "view's base": h}[closing]
        scope.close_tensor(chosen)

    with ResourceScope("request") as scope:
        found = _gradient(weight.detach().clone(), data.clone(), lambda *ts: close(scope, *ts))

    assert torch.equal(found, expected)


def _gradient(weight: torch.Tensor, data: torch.Tensor, before_backward: Callable[..., object]) -> torch.Tensor:
    """The gradient by a probe that is added to the weight, so that the weight itself may be closed."""
    probe = torch.zeros(6, requires_grad=True)
    weight = weight.requires_grad_()
    hidden = ((weight + probe) * data).exp()
    result = hidden[1:4] * weight[1:4]
    loss = result.sum() + hidden.mean()
    before_backward(weight, data, hidden, result)
    loss.backward()
    assert probe.grad is not None
    return probe.grad


def test_row_35_a_scope_that_closes_all_leaves_the_graph_right(ledger: Ledger) -> None:
    weight = torch.randn(6, requires_grad=True)
    with ResourceScope("round", on_escape="close") as scope:
        data = torch.randn(6)
        copied = scope.release(data.clone())
        loss = scope.keep((weight * data).sum())

    loss.backward()

    assert weight.grad is not None
    assert torch.equal(weight.grad, copied)
    with pytest.raises(UseAfterCloseError):
        data.sum()
