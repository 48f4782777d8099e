"""A13: the exceptions of failed steps are stored, and with them what the steps had made.

Symptom: memory grows only on days when requests fail, by far more than the error messages take.

Why: an exception has a traceback, the traceback has the frames that it passed through, and a frame has all its local
    variables. Whoever keeps the exception keeps the tensors of the step that failed.

How it shows: leak, cause exception_traceback: ``ERRORS`` keeps exceptions, and through the frame of ``score`` one
    storage of 16 KiB a step, allocated there.

Fix: let the exception go when it is handled, and keep its text: ``repr(error)`` or ``traceback.format_exc()``.
"""

from __future__ import annotations

import torch

from harness import Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="The exceptions of failed steps are stored",
    pitfall="An exception holds its traceback, the traceback its frames, and a frame all its local variables.",
    fix="Keep the text of the error, not the exception.",
    tags=("memory",),
    expect=leak("exception_traceback"),
)

ERRORS: list[Exception] = []
MESSAGES: list[str] = []
REQUEST = torch.zeros(64, 64)


def score(request: torch.Tensor) -> float:
    scores = request.exp()
    total = scores.sum().item()
    if total > 0:  # always: every one of these requests fails
        raise ValueError("the scores must not be above 0")
    return total


def step(i: int) -> None:
    try:
        score(REQUEST)
    except ValueError as error:
        ERRORS.append(error)


def fixed_step(i: int) -> None:
    try:
        score(REQUEST)
    except ValueError as error:
        MESSAGES.append(repr(error))
        del MESSAGES[:-4]
