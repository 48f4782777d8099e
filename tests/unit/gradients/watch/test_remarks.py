"""What is no fault and is worth saying: graphs that are made for nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch

from harness import GradientWatch

MODEL = torch.nn.Linear(4, 1)
X = torch.ones(2, 4)


def test_a_graph_that_is_made_in_each_step_and_never_used_is_told_with_its_thread_and_line() -> None:
    with GradientWatch() as watch:
        for _ in range(2):
            with torch.no_grad(), ThreadPoolExecutor(1, thread_name_prefix="answers") as pool:
                pool.submit(lambda: MODEL(X)).result()
            watch.step()

    (remark,) = watch.remarks
    assert remark.startswith("gradients are on in answers_0: linear at line 19 makes a graph")
    assert watch.faults == ()


def test_a_graph_that_backward_uses_and_inference_without_gradients_are_not() -> None:
    with GradientWatch() as training:
        for _ in range(2):
            MODEL(X).sum().backward()
            training.step()
    with GradientWatch() as inference, torch.no_grad():
        for _ in range(2):
            MODEL(X)
            inference.step()

    assert training.remarks == ()
    assert inference.remarks == ()
