"""Training loops for the watch: ten with one planted fault each, and healthy ones that look as if they had one.

Each maker gives a function that runs one step; none of them is among the bundled scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss
from torch.utils.checkpoint import checkpoint

__all__ = ["HEALTHY", "MUTATED", "Step"]

Step = Callable[[], None]

BATCH = torch.Generator().manual_seed(7)


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=BATCH)


def training(model: nn.Module, loss_of: Callable[[], torch.Tensor], rate: float = 0.01) -> Step:
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)

    def step() -> None:
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()

    return step


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
        self.classify = nn.Linear(4 * 3 * 3, 3)

    def forward(self, images: torch.Tensor) -> Any:
        return self.classify(self.features(images).flatten(1))


IMAGES, CLASSES = numbers(8, 1, 8, 8), torch.arange(8) % 3


def convolution_detached() -> Step:
    model = Cnn()

    def loss() -> torch.Tensor:
        maps = model.features(IMAGES).data
        return cross_entropy(model.classify(maps.flatten(1)), CLASSES)

    return training(model, loss)


def convolution_under_inference_mode() -> Step:
    model = Cnn()

    def loss() -> torch.Tensor:
        with torch.inference_mode():
            maps = model.features(IMAGES).flatten(1)
        return cross_entropy(model.classify(maps.clone()), CLASSES)

    return training(model, loss)


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.tags = nn.Linear(8, 4)
        self.spare = nn.Linear(8, 4)

    def forward(self, sentences: torch.Tensor) -> Any:
        return self.tags(self.lstm(self.words(sentences))[0])


SENTENCES = torch.arange(32).reshape(4, 8) % 20
TAGS = torch.arange(32).reshape(4, 8) % 4


def head_never_used() -> Step:
    model = Tagger()
    return training(model, lambda: cross_entropy(model(SENTENCES).flatten(0, 1), TAGS.flatten()))


def head_whose_result_is_dropped() -> Step:
    model = Tagger()

    def loss() -> torch.Tensor:
        hidden = model.lstm(model.words(SENTENCES))[0]
        model.spare(hidden)
        return cross_entropy(model.tags(hidden).flatten(0, 1), TAGS.flatten())

    return training(model, loss)


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.experts = [nn.Linear(4, 4), nn.Linear(4, 4)]
        self.mix = nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> Any:
        return self.mix(torch.cat([expert(x).tanh() for expert in self.experts], dim=1))


ROWS, VALUES = numbers(16, 4), numbers(16, 1)


def experts_in_a_plain_list() -> Step:
    model = Experts()
    return training(model, lambda: mse_loss(model(ROWS), VALUES))


def gate_of_zeros() -> Step:
    body, gate, head = nn.Linear(4, 4), torch.zeros(4), nn.Linear(4, 1)
    model = nn.ModuleList([body, head])
    return training(model, lambda: mse_loss(head(body(ROWS) * gate), VALUES))


def saturated_sign() -> Step:
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    model = nn.ModuleList([body, head])
    return training(model, lambda: mse_loss(head(body(ROWS).sign()), VALUES))


def rates_that_overflow() -> Step:
    model = nn.Linear(4, 1)
    return training(model, lambda: (300 * model(ROWS)).exp().mean())


def root_at_zero() -> Step:
    model = nn.Linear(4, 1)
    distances = torch.zeros(16, 4)  # the derivative of a root at 0 is infinite

    def loss() -> torch.Tensor:
        squares = (model.weight * distances).square().sum(dim=1)
        return squares.sqrt().mean()

    return training(model, loss)


def targets_of_another_rank() -> Step:
    model = nn.Linear(4, 1)
    targets = VALUES.flatten()
    return training(model, lambda: (model(ROWS) - targets).abs().mean())


MUTATED: tuple[tuple[Callable[[], Step], str, str, tuple[str, ...]], ...] = (
    # the program, the fault, its reason, beginnings of the names of the parameters that it is about
    (convolution_detached, "null_gradient", "detached", ("model.features",)),
    (convolution_under_inference_mode, "null_gradient", "inference_mode", ("model.features",)),
    (head_never_used, "null_gradient", "not_used", ("model.spare",)),
    (head_whose_result_is_dropped, "null_gradient", "not_in_loss", ("model.spare",)),
    (experts_in_a_plain_list, "null_gradient", "not_registered", ("model.experts[",)),
    (gate_of_zeros, "zero_gradient", "zero_factor", ("body", "model.0")),
    (saturated_sign, "zero_gradient", "flat", ("body", "model.0")),
    (rates_that_overflow, "non_finite_gradient", "forward", ("model",)),
    (root_at_zero, "non_finite_gradient", "backward", ("model.weight",)),
    (targets_of_another_rank, "shape_mismatch", "silent", ()),
)


def healthy_convolution() -> Step:
    model = Cnn()
    return training(model, lambda: cross_entropy(model(IMAGES), CLASSES))


def healthy_transformer_with_a_mask() -> Step:
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    sequences = numbers(4, 6, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(6)
    return training(model, lambda: model(sequences, src_mask=mask, is_causal=True).square().mean())


def healthy_recurrent_net() -> Step:
    model = Tagger()
    del model.spare
    return training(model, lambda: cross_entropy(model(SENTENCES).flatten(0, 1), TAGS.flatten()))


def healthy_adversaries() -> Step:
    makes, judges = nn.Linear(2, 4), nn.Linear(4, 1)
    makes_step, judges_step = torch.optim.SGD(makes.parameters(), 0.01), torch.optim.SGD(judges.parameters(), 0.01)
    noise = numbers(16, 2)

    def step() -> None:
        judges_step.zero_grad()
        made = makes(noise)
        (judges(made.detach()).mean() - judges(ROWS).mean()).backward()
        judges_step.step()
        makes_step.zero_grad()
        (-judges(made).mean()).backward()
        makes_step.step()

    return step


def healthy_fine_tuning() -> Step:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    model[0].requires_grad_(requires_grad=False)
    return training(model, lambda: mse_loss(model(ROWS), VALUES))


def healthy_experts_in_turn() -> Step:
    experts = nn.ModuleList([nn.Linear(4, 1), nn.Linear(4, 1)])
    turn = [0]

    def loss() -> torch.Tensor:
        turn[0] += 1
        return mse_loss(experts[turn[0] % 2](ROWS), VALUES)

    return training(experts, loss)


def healthy_accumulation() -> Step:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step() -> None:
        optimizer.zero_grad()
        for rows, values in zip(ROWS.chunk(4), VALUES.chunk(4), strict=True):
            (mse_loss(model(rows), values) / 4).backward()
        optimizer.step()

    return step


def healthy_low_rank_adapter() -> Step:
    base, down, up = nn.Linear(4, 4), nn.Linear(4, 2, bias=False), nn.Linear(2, 4, bias=False)
    base.requires_grad_(requires_grad=False)
    nn.init.zeros_(up.weight)  # the first step's gradient of the other one is zero, and that is how it is done
    model = nn.ModuleList([base, down, up])
    return training(model, lambda: (base(ROWS) + up(down(ROWS))).square().mean())


def healthy_teacher() -> Step:
    student = nn.Linear(4, 2)
    teacher = deepcopy(student)

    def loss() -> torch.Tensor:
        with torch.no_grad():
            wanted = teacher(ROWS).argmax(dim=1)
        return cross_entropy(student(ROWS + 0.1), wanted)

    return training(student, loss)


def healthy_checkpoint() -> Step:
    first, second = nn.Linear(4, 8), nn.Linear(8, 1)
    model = nn.ModuleList([first, second])

    def loss() -> torch.Tensor:
        hidden = checkpoint(lambda rows: first(rows).tanh(), ROWS, use_reentrant=False)
        return mse_loss(second(hidden), VALUES)

    return training(model, loss)


def healthy_pairs() -> Step:
    model = nn.Linear(4, 1)

    def loss() -> torch.Tensor:
        places: torch.Tensor = model(ROWS)
        return (places - places.T).square().mean()  # all pairs, on purpose

    return training(model, loss)


def healthy_skipped_overflow() -> Step:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    turn = [0]

    def step() -> None:
        optimizer.zero_grad()
        turn[0] += 1
        scale = float("inf") if turn[0] == 2 else 1.0  # as a gradient scaler finds its scale
        (mse_loss(model(ROWS), VALUES) * scale).backward()
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        if all(bool(gradient.isfinite().all()) for gradient in gradients):
            optimizer.step()

    return step


def healthy_closure() -> Step:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=2)

    def closure() -> float:
        optimizer.zero_grad()
        loss = mse_loss(model(ROWS), VALUES)
        loss.backward()
        return loss.item()

    return lambda: optimizer.step(closure)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2


def healthy_function_of_its_own() -> Step:
    model = nn.Linear(4, 1)
    return training(model, lambda: mse_loss(Doubled.apply(model(ROWS)), VALUES))  # type: ignore[no-untyped-call]


def healthy_update_by_hand() -> Step:
    weight = nn.Parameter(numbers(4, 1))

    def step() -> None:
        mse_loss(ROWS @ weight, VALUES).backward()
        with torch.no_grad():
            assert weight.grad is not None
            weight.sub_(0.01 * weight.grad)
            weight.grad = None

    return step


def healthy_ragged_batch() -> Step:
    model = nn.Linear(4, 1)

    def loss() -> torch.Tensor:
        ragged = torch.nested.as_nested_tensor([ROWS[:2], ROWS[2:7]], layout=torch.jagged)
        return torch.cat(list(model(ragged).unbind())).square().mean()

    return training(model, loss)


HEALTHY: tuple[Callable[[], Step], ...] = (
    healthy_convolution,
    healthy_transformer_with_a_mask,
    healthy_recurrent_net,
    healthy_adversaries,
    healthy_fine_tuning,
    healthy_experts_in_turn,
    healthy_accumulation,
    healthy_low_rank_adapter,
    healthy_teacher,
    healthy_checkpoint,
    healthy_pairs,
    healthy_skipped_overflow,
    healthy_closure,
    healthy_function_of_its_own,
    healthy_update_by_hand,
    healthy_ragged_batch,
)


@contextmanager
def seeded() -> Iterator[None]:
    """Weights that are the same in each run, and nobody else's seed changed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
