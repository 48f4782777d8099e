"""One more subject, under memray with native stacks: for growth that is neither tensors nor Python objects."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import NoReturn

from harness.capture import wire
from harness.capture.client import ForkServer
from harness.capture.gathering import Gathering
from harness.capture.runner import run_subject
from harness.capture.scenario_file import ScenarioFile
from harness.capture.variant import Plan
from harness.errors import CaptureError
from harness.model.recording import Ending, SubjectRecord, Variant

__all__ = ["record_native"]


def record_native(
    server: ForkServer,
    scenario: ScenarioFile,
    variant: Variant,
    *,
    plan: Plan,
    on_progress: Callable[[int, str], None],
) -> SubjectRecord:
    """Run the subject ``native``. Whatever fails is in its record: the verdict is there already.

    memray's file lies in a temporary folder of this process, so that it goes also where the subject is killed."""
    with tempfile.TemporaryDirectory(prefix="harness-native-", ignore_cleanup_errors=True) as folder:
        job = wire.Job(
            path=str(scenario.path),
            name=scenario.name,
            variant=variant,
            role="native",
            warmup=plan.warmup,
            first_stop=plan.warmup,
            seed=plan.seed,
            memory_limit_bytes=plan.memory_limit_bytes,
            native_folder=folder,
        )
        try:
            _, record = run_subject(
                server,
                job,
                decide=_never_asked,
                timeout_s=plan.timeout_s,
                on_progress=lambda steps: on_progress(steps, "taking native stacks"),
                fresh_interpreter=plan.fresh_interpreter or scenario.fresh_interpreter,
            )
        except CaptureError as error:
            record = Gathering(role="native", warmup=plan.warmup).record(Ending(status="killed", detail=str(error)))
    return record


def _never_asked(gathering: Gathering) -> NoReturn:
    raise AssertionError(f"the subject {gathering} asks no questions")
