"""The behaviours' rows 25 to 28: one collector a context, gradients that are nothing when they should be, and no
backward that would be silently wrong."""

from __future__ import annotations

import asyncio
import gc
import math
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from harness.errors import GradientContextError, GradientError, UsageError
from harness.gradients import GradientCollector, NonFinite, OnExit, StaleGradient


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def hooks_on(parameter: torch.Tensor) -> int:
    kinds = ("_backward_hooks", "_post_accumulate_grad_hooks")
    return sum(len(getattr(parameter, kind, None) or ()) for kind in kinds)


# Row 25


def test_row_25_a_second_collector_inside_the_first_is_refused_and_changes_nothing() -> None:
    weight = leaf()
    with GradientCollector(weight, on_exit="keep") as first:
        torch.set_grad_enabled(False)

        with pytest.raises(GradientContextError) as caught, GradientCollector(weight, on_exit="zero"):
            pytest.fail("it was entered")

        assert not torch.is_grad_enabled()
        assert f"entered at {__file__}:" in str(caught.value)
        assert "Leave the first" in caught.value.help
        torch.set_grad_enabled(True)
        first.backward(weight.sum())

    assert weight.grad is not None
    assert weight.grad.tolist() == [1, 1, 1]


def test_row_25_a_refused_collector_does_not_keep_the_next_one_out() -> None:
    weight = leaf()
    with GradientCollector(weight, on_exit="keep") as first:
        with pytest.raises(GradientContextError):
            first.__enter__()
        first.backward(weight.sum())

    with first, pytest.raises(GradientContextError), GradientCollector(weight, on_exit="keep"):
        pass
    with GradientCollector(weight, on_exit="keep") as next_one:
        next_one.backward(weight.sum())


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_row_25_grad_mode_is_on_inside_and_as_it_was_afterwards(before: bool, inside: bool) -> None:
    weight = leaf()
    with torch.set_grad_enabled(before):
        with GradientCollector(weight, on_exit="none") as collector:
            assert torch.is_grad_enabled()
            collector.backward((weight * weight).sum())
            torch.set_grad_enabled(inside)

        assert torch.is_grad_enabled() is before


def body_raises(collector: GradientCollector, weight: torch.Tensor) -> None:
    raise KeyError("mine")


def backward_is_refused(collector: GradientCollector, weight: torch.Tensor) -> None:
    collector.backward(weight * 2)


def backward_raises(collector: GradientCollector, weight: torch.Tensor) -> None:
    loss = weight.exp().sum()
    collector.backward(loss)
    collector.backward(loss)


def exit_check_fails(collector: GradientCollector, weight: torch.Tensor) -> None:
    collector.backward((weight * math.nan).sum())


@pytest.mark.parametrize("body", [body_raises, backward_is_refused, backward_raises, exit_check_fails])
@pytest.mark.parametrize("before", [True, False])
def test_row_25_grad_mode_is_restored_on_every_way_out(
    before: bool, body: Callable[[GradientCollector, torch.Tensor], None]
) -> None:
    weight = leaf()
    collector = GradientCollector(weight, on_exit="none")

    with torch.set_grad_enabled(before):
        with pytest.raises((KeyError, RuntimeError)), collector:
            body(collector, weight)

        assert torch.is_grad_enabled() is before
    assert weight.grad is None
    assert hooks_on(weight) == 0


def test_row_25_each_thread_has_a_collector_of_its_own() -> None:
    def train(i: int) -> float:
        weight = leaf()
        with torch.no_grad(), GradientCollector(weight, on_exit="keep") as collector:
            collector.backward((weight * i).sum())
        assert weight.grad is not None
        return float(weight.grad[0])

    with GradientCollector(leaf(), on_exit="keep"), ThreadPoolExecutor(4) as pool:
        # With copies of this context, in which a collector is active: not in those threads.
        futures = [pool.submit(copy_context().run, train, i) for i in range(8)]

        assert [future.result() for future in futures] == [float(i) for i in range(8)]


def test_row_25_one_collector_is_not_entered_by_two_threads_at_once() -> None:
    weight = leaf()
    with ThreadPoolExecutor(1) as pool, GradientCollector(weight, on_exit="none") as collector:
        with pytest.raises(GradientContextError, match="entered already"):
            pool.submit(collector.__enter__).result()
        collector.backward(weight.sum())

    assert weight.grad is None


def test_row_25_tasks_that_overlap_each_have_one_and_leave_grad_mode_as_it_was() -> None:
    modes: list[bool] = []

    async def train(turns: int) -> None:
        with GradientCollector(leaf(), on_exit="keep"):
            for _ in range(turns):
                await asyncio.sleep(0)
                modes.append(torch.is_grad_enabled())

    async def main() -> None:
        await asyncio.gather(train(1), train(3), train(2))

    with torch.no_grad():
        asyncio.run(main())

        assert not torch.is_grad_enabled()
    assert modes == [True] * 6


def test_row_25_tasks_and_threads_that_start_inside_a_tasks_block_have_their_own() -> None:
    def train() -> bool:
        with GradientCollector(leaf(), on_exit="keep"):
            return torch.is_grad_enabled()

    async def task() -> bool:
        return train()

    async def main() -> tuple[bool, bool]:
        with GradientCollector(leaf(), on_exit="keep"):
            return await asyncio.create_task(task()), await asyncio.to_thread(train)

    assert asyncio.run(main()) == (True, True)


def test_row_25_a_collector_around_an_event_loop_is_active_in_its_tasks() -> None:
    async def train() -> None:
        with GradientCollector(leaf(), on_exit="keep"):
            pass

    with GradientCollector(leaf(), on_exit="keep"), pytest.raises(GradientContextError, match="already"):
        asyncio.run(train())


def test_row_25_another_context_of_the_thread_gives_back_the_mode_that_it_found() -> None:
    def train() -> None:
        with GradientCollector(leaf(), on_exit="keep"):
            assert torch.is_grad_enabled()

    with GradientCollector(leaf(), on_exit="keep"), torch.no_grad():
        Context().run(train)

        assert not torch.is_grad_enabled()


def test_row_25_inference_mode_is_refused_because_no_graph_would_be_recorded() -> None:
    with torch.inference_mode():
        with pytest.raises(GradientContextError, match="inference mode"), GradientCollector(leaf(), on_exit="keep"):
            pytest.fail("it was entered")

        assert not torch.is_grad_enabled()


def test_row_25_a_collector_left_in_another_thread_says_so_and_leaves_that_threads_mode() -> None:
    collector = GradientCollector(leaf(), on_exit="keep")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(collector.__enter__).result()
        with torch.no_grad(), pytest.raises(GradientContextError, match="left in another thread"):
            try:
                collector.__exit__(None, None, None)
            finally:
                assert not torch.is_grad_enabled()


# Row 26


def test_row_26_what_happens_to_gradients_at_the_end_has_to_be_said() -> None:
    with pytest.raises(TypeError, match="on_exit"):
        GradientCollector(leaf())  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="'clear' is unknown") as caught:
        GradientCollector(leaf(), on_exit="clear")  # type: ignore[arg-type]

    assert "fail_if_stale" in caught.value.help


@pytest.mark.parametrize(
    ("on_exit", "expected"), [("keep", [1, 1, 1]), ("zero", [0, 0, 0]), ("none", None), ("fail_if_stale", [1, 1, 1])]
)
def test_row_26_gradients_are_afterwards_what_on_exit_says(on_exit: OnExit, expected: list[int] | None) -> None:
    weight = leaf()

    with GradientCollector(weight, on_exit=on_exit) as collector:
        collector.backward(weight.sum())

    assert (weight.grad.tolist() if weight.grad is not None else None) == expected


@pytest.mark.parametrize("through", ["collector", "torch"])
def test_row_26_gradients_added_up_within_a_block_are_found_with_their_factor(through: str) -> None:
    weight = leaf()

    with (
        pytest.raises(GradientError) as caught,
        GradientCollector([("weight", weight)], on_exit="fail_if_stale") as collector,
    ):
        for _ in range(3):
            collector.backward(weight.sum()) if through == "collector" else weight.sum().backward()

    assert caught.value.fault == "gradients_not_zeroed"
    assert caught.value.parameter == "weight"
    assert caught.value.factor == 3
    assert str(caught.value) == (
        "gradients are the sum of 3 backward passes since they were last set to nothing: 3 times what they should be "
        "(weight)"
    )
    assert weight.grad is not None
    assert weight.grad.tolist() == [3, 3, 3]


def test_row_26_gradients_added_up_over_blocks_are_found_with_their_factor() -> None:
    weight = leaf()
    optimizer = torch.optim.SGD([weight], lr=0.1)
    collector = GradientCollector({"weight": weight}, on_exit="keep")
    for _ in range(4):
        with collector:
            collector.backward(weight.sum())
        optimizer.step()

    assert collector.stale == (
        StaleGradient(parameter="weight", passes=4, factor=4.0, at_least=False, from_before=False),
    )


@pytest.mark.parametrize("clear", ["none", "zero", "module", "replaced"])
def test_row_26_gradients_that_are_set_to_nothing_between_raise_nothing(clear: str) -> None:
    model = torch.nn.Linear(3, 1)
    for _ in range(3):
        with GradientCollector(model, on_exit="fail_if_stale") as collector:
            for _ in range(2):
                collector.backward(model(torch.ones(3)))
                for parameter in model.parameters():
                    if clear == "none":
                        parameter.grad = None
                    elif clear == "zero" and parameter.grad is not None:
                        parameter.grad.zero_()
                    elif clear == "replaced":
                        parameter.grad = torch.zeros_like(parameter)
                if clear == "module":
                    model.zero_grad()

        assert collector.stale == ()


def test_row_26_a_gradient_that_is_clipped_between_is_still_the_same_sum() -> None:
    weight = leaf()

    with (
        pytest.raises(GradientError, match="sum of 2 backward passes"),
        GradientCollector(weight, on_exit="fail_if_stale") as collector,
    ):
        collector.backward(weight.sum())
        torch.nn.utils.clip_grad_norm_([weight], 0.1)
        collector.backward(weight.sum())


def test_row_26_accumulation_on_purpose_is_said_and_raises_nothing_until_it_is_too_much() -> None:
    weight = leaf()
    collector = GradientCollector(weight, on_exit="fail_if_stale", accumulate=2)
    for _ in range(2):
        with collector:
            collector.backward(weight.sum() / 2)

    with (
        pytest.raises(GradientError, match=r"of 4 .* where 2 are accumulated on purpose: 2 times") as caught,
        collector,
    ):
        for _ in range(2):
            collector.backward(weight.sum() / 2)

    assert caught.value.factor == 2


def test_row_26_a_sum_that_is_set_to_nothing_at_last_was_too_large_all_the_same() -> None:
    weight = leaf()

    with GradientCollector(weight, on_exit="none") as collector:
        for _ in range(5):
            collector.backward(weight.sum())
        weight.grad = None

    assert [stale.factor for stale in collector.stale] == [5]


def test_row_26_a_backward_outside_of_any_collector_is_counted_as_at_least_one() -> None:
    weight = leaf()
    weight.sum().backward()

    with (
        pytest.raises(GradientError, match="the sum of at least 2 backward passes"),
        GradientCollector(weight, on_exit="fail_if_stale") as collector,
    ):
        collector.backward(weight.sum())


def test_row_26_a_gradient_zeroed_and_filled_outside_does_not_keep_its_old_count() -> None:
    weight = leaf()
    collector = GradientCollector(weight, on_exit="keep")
    with collector:
        for _ in range(5):
            collector.backward(weight.sum())
    assert weight.grad is not None
    weight.grad.zero_()
    weight.sum().backward()

    with collector:
        collector.backward(weight.sum())

    assert [(stale.passes, stale.at_least) for stale in collector.stale] == [(2, True)]


def test_row_26_an_older_gradient_of_a_parameter_that_this_block_does_not_use_is_stale() -> None:
    used, unused = leaf(), leaf()
    unused.sum().backward()

    with (
        pytest.raises(GradientError, match="nothing in the block replaced them") as caught,
        GradientCollector({"used": used, "unused": unused}, on_exit="fail_if_stale") as collector,
    ):
        collector.backward(used.sum())

    assert caught.value.parameters == ("unused",)
    assert collector.untouched == ("unused",)


def test_row_26_an_exception_of_the_block_goes_on_its_way_with_the_finding_as_a_note() -> None:
    weight = leaf()

    with (
        pytest.raises(KeyError) as caught,
        GradientCollector(weight, on_exit="fail_if_stale") as collector,
    ):
        collector.backward(weight.sum())
        collector.backward(weight.sum())
        raise KeyError("mine")

    assert any("sum of 2 backward passes" in note for note in caught.value.__notes__)


def test_row_26_a_backward_inside_a_backward_is_no_pass_of_its_own() -> None:
    linear = torch.nn.Linear(3, 3)
    batch = torch.ones(3, requires_grad=True)

    with GradientCollector(linear, on_exit="fail_if_stale") as collector:
        once = checkpoint(linear, batch, use_reentrant=True)
        collector.backward(checkpoint(linear, once, use_reentrant=True).sum())

    assert collector.stale == ()


def test_row_26_sparse_gradients_are_counted_too() -> None:
    table = torch.nn.Embedding(4, 2, sparse=True)

    with (
        pytest.raises(GradientError, match="sum of 2 backward passes"),
        GradientCollector(table, on_exit="fail_if_stale") as collector,
    ):
        for _ in range(2):
            collector.backward(table(torch.tensor([1])).sum())


# Row 27


@pytest.mark.parametrize("on_exit", ["zero", "none"])
def test_row_27_only_the_named_parameters_are_set_to_nothing(on_exit: OnExit) -> None:
    named, other = leaf(), leaf()

    with GradientCollector(named, on_exit=on_exit) as collector:
        collector.backward((named * other).sum())

    assert other.grad is not None
    assert other.grad.tolist() == [1, 2, 3]
    assert named.grad is None or named.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("on_exit", ["zero", "none"])
def test_row_27_gradients_that_are_not_finite_are_named_and_none_stays_behind(on_exit: OnExit) -> None:
    good, bad = leaf(), leaf(0.0, 1.0, 0.0)

    with (
        pytest.raises(GradientError) as caught,
        GradientCollector({"good": good, "bad": bad}, on_exit=on_exit) as collector,
    ):
        collector.backward(good.sum() + bad.log().sum())

    assert caught.value.fault == "non_finite_gradient"
    assert caught.value.parameters == ("bad",)
    assert str(caught.value) == "the gradients of these parameters are NaN or infinite: bad (2 of 3 numbers)"
    for parameter in (good, bad):
        assert parameter.grad is None or parameter.grad.tolist() == [0, 0, 0]


def test_row_27_zero_writes_over_the_gradient_where_it_is_and_none_lets_it_be() -> None:
    weight = leaf()
    kept: list[torch.Tensor] = []
    for on_exit in ("zero", "none"):
        with GradientCollector(weight, on_exit=on_exit) as collector:
            collector.backward(weight.sum())
            assert weight.grad is not None
            kept.append(weight.grad)

    assert kept[0] is kept[1]  # zeroed in place, and filled again
    assert kept[1].tolist() == [1, 1, 1]
    assert weight.grad is None


def test_row_27_zero_leaves_no_graph_and_no_nan_after_a_gradient_that_has_a_graph() -> None:
    weight = leaf()
    with pytest.raises(GradientError, match="3 of 3"), GradientCollector(weight, on_exit="zero"):
        weight.grad = (weight * math.nan).exp()

    assert weight.grad is not None
    assert (weight.grad.tolist(), weight.grad.requires_grad) == ([0, 0, 0], False)


def test_row_27_before_a_step_the_check_can_be_asked_for() -> None:
    weight = leaf(math.inf)

    with GradientCollector({"weight": weight}, on_exit="keep") as collector:
        collector.backward((weight * weight).sum())

        assert collector.non_finite() == (NonFinite(parameter="weight", non_finite=1, elements=1),)
        with pytest.raises(GradientError, match="weight"):
            collector.check_finite()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.complex64])
def test_row_27_a_large_finite_gradient_is_finite_in_any_type(dtype: torch.dtype) -> None:
    weight = torch.ones(3, dtype=dtype, requires_grad=True)

    with GradientCollector(weight, on_exit="none") as collector:
        collector.backward((weight * 6e4).real.sum() if dtype.is_complex else (weight * 6e4).sum())

    assert weight.grad is None


# Row 28


def test_row_28_a_loss_of_several_elements_is_refused_before_backward_runs() -> None:
    weight = leaf()

    with GradientCollector({"weight": weight}, on_exit="none") as collector:
        with pytest.raises(GradientError) as caught:
            collector.backward(weight * 2)

        assert weight.grad is None
    assert (caught.value.fault, caught.value.parameter) == ("non_scalar_loss", "weight")
    assert "has 3 elements (shape (3,))" in str(caught.value)
    assert "differ by the factor 3" in caught.value.help


def test_row_28_an_explicit_gradient_says_how_the_elements_are_weighed() -> None:
    weight = leaf()

    with GradientCollector(weight, on_exit="keep") as collector:
        collector.backward(weight * 2, torch.tensor([1.0, 0.0, 3.0]))

    assert weight.grad is not None
    assert weight.grad.tolist() == [2, 0, 6]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (1, 1, 1)])
def test_row_28_one_element_of_any_shape_is_accepted(shape: tuple[int, ...]) -> None:
    weight = leaf()

    with GradientCollector(weight, on_exit="keep") as collector:
        collector.backward(weight.sum().reshape(shape))

    assert weight.grad is not None
    assert weight.grad.tolist() == [1, 1, 1]


def test_row_28_a_parameter_that_is_the_loss_itself_is_accepted() -> None:
    weight = leaf(2.0)

    with GradientCollector(weight, on_exit="keep") as collector:
        collector.backward(weight)

    assert weight.grad is not None
    assert weight.grad.tolist() == [1]


def no_grad_loss(w: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return w.sum()


def inference_loss(w: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return w.sum()


def loss_of_another(w: torch.Tensor) -> torch.Tensor:
    return (w.detach() * leaf()).sum()


@pytest.mark.parametrize(
    ("loss_of", "reason"),
    [
        (lambda w: w.sum().detach(), "the loss has no graph"),
        (lambda w: torch.ones(()), "the loss has no graph"),
        (no_grad_loss, "the loss has no graph"),
        (inference_loss, "made under torch.inference_mode()"),
        (lambda w: w.sum().long(), "the loss is of torch.int64"),
        (loss_of_another, "the loss's graph does not lead to it"),
        (lambda w: leaf(5.0), "the loss's graph does not lead to it"),
        (lambda w: w.sum().item(), "the loss is of type float"),
    ],
)
def test_row_28_a_loss_without_a_way_to_any_parameter_is_refused_with_the_reason(
    loss_of: Callable[[torch.Tensor], torch.Tensor], reason: str
) -> None:
    weight = leaf()

    with GradientCollector({"weight": weight}, on_exit="keep") as collector, pytest.raises(GradientError) as caught:
        collector.backward(loss_of(weight))

    assert (caught.value.fault, caught.value.parameter) == ("null_gradient", "weight")
    assert "weight" in str(caught.value)
    assert reason in str(caught.value)
    assert weight.grad is None


def test_row_28_gradients_turned_off_inside_the_block_are_the_reason_that_is_given() -> None:
    weight = leaf()

    with GradientCollector(weight, on_exit="keep") as collector:
        torch.set_grad_enabled(False)
        with pytest.raises(GradientError, match="turned off here, inside the collector's block"):
            collector.backward(weight.sum())


def test_row_28_parameters_that_are_frozen_are_named_with_that_reason() -> None:
    model = torch.nn.Linear(3, 1).requires_grad_(False)

    with GradientCollector(model, on_exit="keep") as collector:
        loss = model(torch.ones(3)) * leaf(1.0)
        with pytest.raises(GradientError, match="weight and bias: it does not require a gradient"):
            collector.backward(loss)


def test_row_28_a_parameter_that_is_no_leaf_is_named_even_where_others_are_reached() -> None:
    ready, scaled = leaf(), leaf() * 0.1

    with GradientCollector({"ready": ready, "scaled": scaled}, on_exit="keep") as collector:
        loss = (ready * scaled).sum()
        with pytest.raises(GradientError, match="scaled: it is no leaf but the result of MulBackward0") as caught:
            collector.backward(loss)

    assert caught.value.parameters == ("scaled",)
    assert ready.grad is None


def test_row_28_a_parameter_unfrozen_inside_the_block_is_followed() -> None:
    weight = torch.ones(3)

    with GradientCollector(weight, on_exit="keep") as collector:
        weight.requires_grad_()
        collector.backward(weight.sum())

        assert collector.untouched == ()


def test_row_28_one_way_to_one_parameter_is_enough_and_the_others_are_listed() -> None:
    used, unused = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)

    with GradientCollector(torch.nn.ModuleDict({"a": used, "b": unused}), on_exit="none") as collector:
        collector.backward(used(torch.ones(3)))

    assert collector.untouched == ("b.weight", "b.bias")


def test_row_28_a_way_hidden_in_a_reentrant_checkpoint_is_not_refused() -> None:
    linear = torch.nn.Linear(3, 1)

    with GradientCollector(linear, on_exit="keep") as collector:
        collector.backward(checkpoint(linear, torch.ones(3, requires_grad=True), use_reentrant=True))

    assert linear.weight.grad is not None


def test_row_28_looking_for_a_way_needs_no_recursion_and_runs_no_unpack_hook() -> None:
    other, weight = leaf(), leaf()
    unpacked: list[int] = []

    def unpack(tensor: torch.Tensor) -> torch.Tensor:
        unpacked.append(1)
        return tensor

    with GradientCollector(weight, on_exit="keep") as collector:
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
            deep = other
            for _ in range(20_000):
                deep = deep * deep  # two edges a node: 2 ** 20,000 ways
            loss = deep.sum()
        with pytest.raises(GradientError, match="does not lead to it"):
            collector.backward(loss)

    assert unpacked == []


def test_row_28_an_error_that_is_kept_holds_no_graph() -> None:
    weight = leaf()
    with GradientCollector(weight, on_exit="keep") as collector:
        product = weight * 2
        held = weakref.ref(product)
        errors = []
        try:
            collector.backward(product)
        except GradientError as error:
            errors.append(error)
        del product
        frames = errors[0].__traceback__
        assert frames is not None
        errors[0].__traceback__ = frames.tb_next  # without this test's own frame

        assert held() is None


def test_row_28_backward_outside_of_the_block_is_refused() -> None:
    weight = leaf()
    collector = GradientCollector(weight, on_exit="keep")

    with pytest.raises(GradientContextError, match="outside of its block"):
        collector.backward(weight.sum())
    with collector:
        pass
    with pytest.raises(GradientContextError, match="outside of its block"):
        collector.backward(weight.sum())


# What it is given, and what it holds


def test_parameters_go_by_the_names_that_they_are_given_with() -> None:
    weight, bias = leaf(), leaf()
    for given, expected in (
        (torch.nn.Linear(1, 1), ("weight", "bias")),
        ((pair for pair in [("w", weight), ("b", bias)]), ("w", "b")),
        ({"w": weight, "tied": weight}, ("w",)),
        ([weight, bias], ("parameters[0]", "parameters[1]")),
        (weight, ("parameters[0]",)),
    ):
        assert GradientCollector(given, on_exit="keep").untouched == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "no parameter"),
        (iter(()), "no parameter"),
        ([1.0], r"parameters\[0\] is of type float"),
        (3, "cannot be of type int"),
        ([("w", torch.ones(1)), ("w", torch.ones(1))], "two parameters are called w"),
    ],
)
def test_what_is_no_parameter_is_refused_at_once(given: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        GradientCollector(given, on_exit="keep")  # type: ignore[arg-type]


def test_a_collector_keeps_no_parameter_and_no_hook() -> None:
    weight = leaf()
    dead = weakref.ref(weight)
    collector = GradientCollector(weight, on_exit="keep")
    with collector:
        collector.backward(weight.exp().sum())
    assert hooks_on(weight) == 0

    gc.disable()
    try:
        del weight

        assert dead() is None
    finally:
        gc.enable()
    assert collector.untouched == ()
