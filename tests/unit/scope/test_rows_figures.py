"""The rows on names, dumps, budgets and devices."""

from __future__ import annotations

import contextlib
import re
import traceback
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from harness.errors import BadUnitError, BudgetExceededError
from harness.ledger import Ledger, start_ledger
from harness.scope import ResourceScope, ScopeDump, diff, root
from harness.scope.devices import use_devices


class FakeDevices:
    """One device, "cuda:0", whose allocator says what the test says; statistics of another one are an error."""

    def __init__(self) -> None:
        self.bytes = 0
        self.used = True

    def in_use(self) -> tuple[str, ...]:
        return ("cuda:0",) if self.used else ()

    def allocated(self, device: str) -> int:
        assert device == "cuda:0"
        assert self.used, "nothing may ask a device that is not in use"
        return self.bytes

    def statistics(self, device: str) -> dict[str, int]:
        return {"allocated": self.allocated(device), "reserved": 2**20, "inactive": 512, "outside": 4096}


@pytest.fixture
def devices() -> Any:
    fake = FakeDevices()
    before = use_devices(fake)
    yield fake
    use_devices(before)


def test_row_18_a_path_has_every_name_and_the_scopes_number(ledger: Ledger) -> None:
    with ResourceScope("model") as model, ResourceScope("request") as request:
        assert re.fullmatch(r"root/model/request#\d+", request.path)
        assert re.fullmatch(r"root/model#\d+", model.path)
        assert request.path in repr(request)
        assert request.path in str(request.dump())


def test_row_19_a_dump_is_data_with_names_counts_bytes_age_and_sites(ledger: Ledger) -> None:
    with ResourceScope("model", budget="1 MiB") as model:
        weight = torch.nn.Parameter(torch.ones(100))
        view = weight.detach()[:10]
        with ResourceScope("request"):
            temporary = torch.ones(50, dtype=torch.float64)

            dump = model.dump()

            del temporary
        assert (dump.name, dump.state, dump.storages, dump.bytes) == ("model", "open", 1, {"cpu": 400})
        assert dump.objects >= 2
        assert dump.dtypes == {"float32": 400}
        assert dump.roles == {"parameter": 400}
        assert dump.tree_bytes == 800
        assert dump.age_s > 0
        assert dump.top_sites[0].frames[0].source == "weight = torch.nn.Parameter(torch.ones(100))"
        assert [(c.name, c.bytes) for c in dump.children] == [("request", {"cpu": 400})]
        with pytest.raises(AttributeError):
            dump.storages = 3  # type: ignore[misc]
        del weight, view


def test_row_19_the_difference_of_two_dumps(ledger: Ledger) -> None:
    with ResourceScope("model") as model:
        first = torch.ones(100)
        before = model.dump()
        second = [torch.ones(10) for _ in range(3)]
        child = model.child("later")
        after = model.dump()

        changed = diff(before, after)

        assert (changed.storages, changed.bytes, changed.tree_bytes) == (3, {"cpu": 120}, 120)
        assert [(s.storages, s.bytes) for s in changed.grown_sites] == [(3, 120)]
        assert changed.new_children == (child.path,)
        child.close()
        del first, second


def test_row_19_a_dump_never_raises(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(number: int) -> Any:
        raise OSError("the ledger is gone")

    with ResourceScope("model") as model:
        monkeypatch.setattr(ledger, "survivors_in_scope", broken)
        dump = model.dump()
        monkeypatch.undo()

    assert isinstance(dump, ScopeDump)
    assert dump.problem == "OSError: the ledger is gone"


def test_row_20_objects_storages_and_bytes_are_counted_side_by_side(ledger: Ledger, devices: FakeDevices) -> None:
    with ResourceScope("model") as model:
        scalar, large = torch.tensor(1.0), torch.ones(1000)
        views = [large[:1], large[1:2]]

        dump = model.dump()

        assert (dump.objects, dump.storages, dump.bytes) == (4, 2, {"cpu": 4004})
        assert dump.allocator_bytes["cuda:0"]["reserved"] == 2**20
        del scalar, large, views


def test_row_24_allocated_reserved_inactive_and_outside_stand_apart(devices: FakeDevices) -> None:
    devices.bytes = 4096

    assert root().dump().allocator_bytes == {
        "cuda:0": {"allocated": 4096, "reserved": 2**20, "inactive": 512, "outside": 4096}
    }


def test_row_24_a_device_that_is_not_in_use_is_not_asked(ledger: Ledger, devices: FakeDevices) -> None:
    devices.used = False

    with ResourceScope("model", budget="1 MiB") as model:
        assert model.dump().allocator_bytes == {}
        assert model.dump().problem is None


def test_row_32_a_budget_refuses_at_the_line_and_names_the_scope(ledger: Ledger) -> None:
    scope = ResourceScope("request", budget="1 MiB")

    with pytest.raises(BudgetExceededError) as raised, scope:
        small = torch.ones(1000)
        dump = scope.dump()
        del small
        torch.ones(2**20)

    assert (dump.budget_bytes, dump.remaining_bytes) == (2**20, 2**20 - 4000)
    assert dump.peak_bytes is not None
    assert dump.peak_bytes >= 4000
    assert f"scope {scope.path}: 4.0 MiB more would exceed its budget of 1.0 MiB" in str(raised.value)
    assert isinstance(raised.value.__cause__, RuntimeError)
    lines = [frame.line for frame in traceback.extract_tb(raised.value.__cause__.__traceback__)]
    assert "torch.ones(2**20)" in lines
    assert raised.value.help


def test_row_32_a_refusal_that_the_program_swallowed_is_raised_at_the_exit(ledger: Ledger) -> None:
    def careless() -> None:
        with ResourceScope("request", budget="1 KiB"), contextlib.suppress(RuntimeError):
            torch.ones(1000)

    with pytest.raises(BudgetExceededError, match="exceeded 1 time,"):
        careless()


def test_row_32_budgets_nest_and_the_innermost_that_is_exceeded_refuses(ledger: Ledger) -> None:
    def nested(outer: str, inner: str) -> None:
        with ResourceScope("outer", budget=outer), ResourceScope("inner", budget=inner):
            torch.ones(1000)

    with pytest.raises(BudgetExceededError, match=r"scope root/outer#\d+: "):
        nested("2 KiB", "1 MiB")
    with pytest.raises(BudgetExceededError, match=r"scope root/outer/inner#\d+: "):
        nested("1 MiB", "2 KiB")


def test_row_32_what_children_own_counts_against_the_parents_budget(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceededError), ResourceScope("outer", budget="6 KiB") as outer, outer.child("one"):
        first = torch.ones(1000)
        with outer.child("two"):
            torch.ones(1000)
    del first


def test_row_32_a_budget_without_a_unit_is_refused() -> None:
    with pytest.raises(BadUnitError):
        ResourceScope("x", budget="512")


def test_row_33_a_scope_in_which_nothing_escaped_is_left_without_looking_for_holders(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    for looking in (
        "harness.scope.escaping.holders_of",
        "harness.scope.roles.Roles.hand_over",
        "harness.scope.closer.tensors_by_key",
    ):
        monkeypatch.setattr(looking, lambda *arguments, looking=looking, **named: looks.append(looking))

    for on_escape in ("report", "raise", "close"):
        with ResourceScope("idle", on_escape=on_escape):
            torch.ones(10)

    assert looks == []


def test_row_34_storages_on_a_device_belong_to_their_scope_by_device() -> None:
    with start_ledger(source="dispatch"), FakeTensorMode():
        kept = []
        with ResourceScope("model") as model:
            kept.append(torch.ones(1000, device="cuda:0"))
            host = torch.ones(10)

            dump = model.dump()
            del host

        assert dump.bytes == {"cuda:0": 4000, "cpu": 40}
        (escape,) = model.escapes
        assert (escape.device, escape.bytes) == ("cuda:0", 4000)
        kept.clear()


def test_row_34_a_budget_on_a_device_is_checked_at_operators(ledger: Ledger, devices: FakeDevices) -> None:
    devices.bytes = 1000
    scope = ResourceScope("request", budget="1 KiB")

    with pytest.raises(BudgetExceededError, match=r"over its budget of 1.0 KiB \(2.0 KiB on cuda:0\)") as raised, scope:
        torch.ones(2)
        devices.bytes += 2048
        torch.ones(2)

    assert scope.path in str(raised.value)


@pytest.mark.gpu
def test_row_34_on_a_real_device() -> None:
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device here")
    with start_ledger(source="dispatch"), ResourceScope("model") as model:
        held = torch.ones(1000, device="cuda")

        assert model.dump().bytes == {"cuda:0": 4000}
        assert model.dump().allocator_bytes["cuda:0"]["allocated"] >= 4000
        del held
