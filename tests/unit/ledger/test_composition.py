"""The role of what was alive at a peak, by hand-made histories: keys are small numbers, and so are sites and bytes."""

from __future__ import annotations

import pytest

from harness.ledger.composition import Operation, RolePart, Sighting, compose
from harness.ledger.peak import Event, History
from harness.model.peak import TensorRole

HERE, ELSEWHERE = 7, 8
SITE = 5


def born(key: int, size: int, *, site: int = SITE, thread: int = HERE) -> Event:
    return (key, size, site, thread)


def died(key: int, size: int, *, site: int = SITE, thread: int = HERE) -> Event:
    return (key, -size, site, thread)


def history(*events: Event, older: tuple[tuple[int, int], ...] = (), first: int = 100) -> History:
    """*older* were there before the first event; what is alive at the end follows from the events."""
    alive = {key: (size, SITE) for key, size in older}
    for key, size, site, _ in events:
        if size > 0:
            alive[key] = (size, site)
        else:
            alive.pop(key, None)
    return History(first=first, events=events, alive=tuple((key, *value) for key, value in alive.items()))


def forward(first: int, *read: int, end: int | None = None) -> Operation:
    return Operation(first, end or first + 1, "forward", read)


def by_role(
    told: History, operations: tuple[Operation, ...] = (), sightings: tuple[Sighting, ...] = ()
) -> dict[TensorRole, int]:
    roles: dict[TensorRole, int] = {}
    for part in compose(told, operations, sightings, thread=HERE):
        roles[part.role] = roles.get(part.role, 0) + part.bytes
    return roles


def test_a_training_step_is_taken_apart() -> None:
    parameter, batch, hidden, flowing, gradient, scratch = range(1, 7)
    told = history(
        born(batch, 10),  # 100
        born(hidden, 200),  # 101
        born(flowing, 2000),  # 102
        born(gradient, 30_000),  # 103: the peak
        died(flowing, 2000),
        died(hidden, 200),
        born(scratch, 7),  # 106
        died(scratch, 7),
        older=((parameter, 30_000),),
    )
    operations = (
        forward(100),
        forward(101, batch, parameter),
        Operation(102, 103, "backward", ()),
        Operation(103, 104, "backward", ()),
        Operation(106, 108, "optimizer", ()),
    )

    assert by_role(told, operations, (Sighting(101, parameter, "parameter"), Sighting(106, gradient, "gradient"))) == {
        "parameter": 30_000,
        "gradient": 30_000,
        "backward temporary": 2000,
        "activation": 200,
        "input": 10,
    }


def test_without_evidence_everything_is_other() -> None:
    assert by_role(history(born(1, 10), older=((2, 5),))) == {"other": 15}


def test_a_part_is_all_of_one_role_and_one_site() -> None:
    told = history(born(1, 10), born(2, 10), born(3, 50, site=6))

    assert compose(told, (Operation(100, 102, "backward", ()),), (), thread=HERE) == (
        RolePart(role="other", site=6, bytes=50, storages=1),
        RolePart(role="backward temporary", site=SITE, bytes=20, storages=2),
    )


def test_only_what_was_alive_at_the_peak_counts() -> None:
    told = history(born(1, 10), died(1, 10), born(2, 30), died(2, 30), born(3, 20))

    assert by_role(told, (), (Sighting(101, 1, "gradient"), Sighting(103, 2, "buffer"), Sighting(105, 3, "input"))) == {
        "buffer": 30
    }


def test_a_step_that_only_frees_has_its_peak_before_the_first_event() -> None:
    assert by_role(history(died(1, 10), older=((1, 10),)), (), (Sighting(100, 1, "gradient"),)) == {"gradient": 10}


def test_a_sighting_is_of_the_storage_that_lived_at_that_address_then() -> None:
    told = history(born(1, 10), died(1, 10), born(1, 10), older=((9, 1),))

    assert by_role(told, (), (Sighting(102, 1, "gradient"),)) == {"other": 11}  # nothing lived there at 102


def test_a_parameter_that_is_also_in_a_state_is_a_parameter() -> None:
    seen = (Sighting(101, 1, "optimizer state"), Sighting(101, 1, "parameter"), Sighting(101, 1, "activation"))

    assert by_role(history(born(1, 10)), (), seen) == {"parameter": 10}


def test_what_was_found_at_the_end_of_the_step_tells_what_was_computed_from_it() -> None:
    told = history(born(2, 10), older=((1, 5),))

    assert by_role(told, (forward(100, 1),), (Sighting(101, 1, "buffer"),)) == {"buffer": 5, "activation": 10}


def test_a_batch_that_is_prepared_for_the_model_is_input_and_what_never_meets_a_model_is_computed() -> None:
    raw, scaled, result, other_result = 1, 2, 3, 4
    model = 9
    told = history(born(scaled, 20), born(result, 300), born(other_result, 4000), older=((raw, 1), (model, 50_000)))
    operations = (forward(100, raw), forward(101, scaled, model), forward(102, raw))

    assert by_role(told, operations, (Sighting(103, model, "parameter"),)) == {
        "parameter": 50_000,
        "input": 21,
        "activation": 4300,
    }


def test_a_factorys_tensor_is_input_only_if_something_is_computed_from_it() -> None:
    told = history(born(1, 10), born(2, 200), born(3, 3000))

    assert by_role(told, (forward(100), forward(101), forward(102, 1))) == {
        "input": 10,
        "other": 200,
        "activation": 3000,
    }


@pytest.mark.parametrize("role", ["gradient", "optimizer state"])
def test_an_update_by_hand_computes_no_activations(role: TensorRole) -> None:
    told = history(born(3, 10), older=((1, 5), (2, 5)))
    seen = (Sighting(100, 1, role), Sighting(100, 2, "parameter"))

    assert by_role(told, (forward(100, 1, 2),), seen)["other"] == 10


def test_what_another_thread_allocates_meanwhile_is_not_the_operators() -> None:
    told = history(born(1, 10), born(2, 200, thread=ELSEWHERE))

    assert by_role(told, (Operation(100, 102, "backward", ()),)) == {"backward temporary": 10, "other": 200}


def test_an_operator_reads_what_lived_when_it_began() -> None:
    # The operator frees what it was given and makes its result at the same address.
    told = history(died(1, 10), born(1, 10), older=((1, 10), (2, 500)))

    assert by_role(told, (forward(100, 1, 2, end=102),), (Sighting(100, 2, "parameter"),)) == {
        "parameter": 500,
        "input": 10,
    }
