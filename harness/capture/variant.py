"""Records one variant of one scenario: which subjects it takes, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from harness._version import __version__
from harness.capture import wire
from harness.capture.client import ForkServer
from harness.capture.gathering import Gathering
from harness.capture.runner import run_subject
from harness.capture.scenario_file import ScenarioFile
from harness.capture.surroundings import surroundings
from harness.errors import CaptureError
from harness.model.environment import Environment, Tool
from harness.model.expectation import Expectation
from harness.model.holding import CutOrder
from harness.model.recording import Ending, Recording, Role, ScenarioFacts, SubjectRecord, Variant

__all__ = ["Curiosity", "NextStop", "Plan", "record_experiment", "record_variant"]

NextStop = Callable[[SubjectRecord], int]
"""Asked at each checkpoint with the record so far: how many steps to have done in all; none more means stop."""

Curiosity = Callable[[Sequence[SubjectRecord]], tuple[int, ...] | None]
"""Asked with the subjects so far, the present one last: the sites whose holders are wanted (none: only what else grew),
or None where nothing grows that anybody could hold."""

_FIRST_QUESTION = 8
"""Steps before the first question. Until then nobody knows how long a step takes, and so how many there is time for."""

_FOLLOWED_S, _WAITED_FOR_S = 0.3, 3.0
"""For how long gradients are followed: at most, and where a fault is announced that may come late."""

_DOING: dict[Role, str] = {
    "plain": "measuring",
    "ledger": "following tensors",
    "uncollected": "without the collector",
    "gradients": "following gradients",
    "cut": "cutting the suspect",
    "malloc": "weighing Python objects",
    "native": "taking native stacks",
    "repeated": "repeating one input",
    "reads": "looking for the read that crashed",
}


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How to record. *steps* None: as many as ``next_stop`` asks for; ``memory_limit_bytes``: may be added;
    ``gradients_s``: how long gradients are followed at most."""

    steps: int | None
    warmup: int
    timeout_s: float
    memory_limit_bytes: int | None
    seed: int
    fresh_interpreter: bool
    gradients_s: float = _FOLLOWED_S


def record_variant(
    server: ForkServer,
    scenario: ScenarioFile,
    variant: Variant,
    *,
    plan: Plan,
    next_stop: NextStop,
    holders_wanted: Curiosity,
    on_progress: Callable[[int, str], None],
) -> Recording:
    """Run the subjects that this variant needs and return all that they told.

    First the plain one, which is timed. Then one that follows tensors, unless the first ended badly: what breaks
    once breaks again. Then, where the collector had something to free or was kept from it, one that leaves it alone;
    and where backward ran, or a step raised, one that follows the gradients.
    """
    facts: ScenarioFacts | None = None
    environment: Environment | None = None
    subjects: list[SubjectRecord] = []

    def run(role: Role) -> SubjectRecord:
        nonlocal facts, environment
        ask = _Asking(plan, next_stop, holders_wanted, tuple(subjects), role)
        gathering, record = _run_role(server, scenario, variant, role, plan, ask, on_progress)
        facts, environment = facts or gathering.facts, environment or gathering.environment
        subjects.append(record)
        return record

    plain = run("plain")
    if plain.ending.status in ("ok", "out_of_memory"):
        run("ledger")
    if plain.ending.status == "ok" and _collector_matters(subjects):
        run("uncollected")
    if _gradients_matter(subjects, facts):
        raised = plain.ending.status == "raised"
        as_many = msgspec.structs.replace(
            plan,
            warmup=0,
            steps=plain.steps + raised,
            gradients_s=_WAITED_FOR_S if raised or _is_announced(facts, "fault", "gradient_wrong") else _FOLLOWED_S,
        )
        subjects.append(
            record_experiment(server, scenario, variant, "gradients", plan=as_many, on_progress=on_progress)
        )
    return Recording(
        tool=Tool(name="torch-leak-harness", version=__version__),
        environment=environment or surroundings(plan.seed),
        scenario=facts or _facts_from_source(scenario, variant),
        subjects=tuple(subjects),
    )


def _run_role(
    server: ForkServer,
    scenario: ScenarioFile,
    variant: Variant,
    role: Role,
    plan: Plan,
    ask: _Asking,
    on_progress: Callable[[int, str], None],
    cut: CutOrder | None = None,
) -> tuple[Gathering, SubjectRecord]:
    job = wire.Job(
        path=str(scenario.path),
        name=scenario.name,
        variant=variant,
        role=role,
        warmup=plan.warmup,
        first_stop=ask.first_stop,
        seed=plan.seed,
        memory_limit_bytes=plan.memory_limit_bytes,
        watch_holders=ask.watch_holders,
        cut=cut,
        longest_s=plan.gradients_s,
    )
    try:
        return run_subject(
            server,
            job,
            decide=ask,
            timeout_s=plan.timeout_s,
            on_progress=lambda steps: on_progress(steps, _DOING[role]),
            fresh_interpreter=plan.fresh_interpreter or scenario.fresh_interpreter,
        )
    except CaptureError as error:
        if not error.server_died:
            raise
        gathering = Gathering(role=role, warmup=plan.warmup)
        return gathering, gathering.record(Ending(status="killed", detail=str(error)))


class _Asking:
    """Answers a subject's questions: whether to go on and, with a stop, who holds what grew."""

    def __init__(
        self,
        plan: Plan,
        next_stop: NextStop,
        holders_wanted: Curiosity,
        before: tuple[SubjectRecord, ...],
        role: Role,
    ) -> None:
        self._next_stop, self._holders_wanted, self._before, self._role = next_stop, holders_wanted, before, role
        self._all = plan.warmup + plan.steps if plan.steps is not None else None
        self.first_stop = _FIRST_QUESTION if self._all is None else min(self._all, max(_FIRST_QUESTION, plan.warmup))
        if role == "gradients" and self._all is not None:
            self.first_stop = self._all  # it asks nothing: it stops when its time is over
        self.watch_holders = role != "plain" and holders_wanted(before) is not None

    def __call__(self, gathering: Gathering) -> wire.Go:
        record = gathering.record()
        until = self._next_stop(record) if self._all is None else self._all
        if until > record.steps:
            return wire.Go(until=until)
        wanted = self._holders_wanted((*self._before, record)) if self._role != "plain" else None
        return wire.Go(until=0, look_at=wanted)


def record_experiment(
    server: ForkServer,
    scenario: ScenarioFile,
    variant: Variant,
    role: Literal["cut", "gradients", "malloc", "repeated", "reads"],
    *,
    plan: Plan,
    on_progress: Callable[[int, str], None],
    cut: CutOrder | None = None,
) -> SubjectRecord:
    """One more subject, that the first ones ask for; ``plan.steps`` should say how many. *cut* goes with that role."""
    ask = _Asking(plan, lambda record: 0, lambda subjects: None, (), role)
    if role == "malloc":  # the interpreter reads PYTHONMALLOC when it starts
        plan = msgspec.structs.replace(plan, fresh_interpreter=True)
    return _run_role(server, scenario, variant, role, plan, ask, on_progress, cut=cut)[1]


def _collector_matters(subjects: list[SubjectRecord]) -> bool:
    """Whether garbage came at several boundaries, or the collector was off, or objects were put beyond it."""
    for subject in subjects:
        garbage = subject.find("python.garbage")
        if garbage is not None and sum(1 for v in garbage.since(subject.warmup_steps).values if v) >= 3:
            return True
        if not subject.collector_enabled or subject.frozen_growth:
            return True
    return False


def _gradients_matter(subjects: list[SubjectRecord], facts: ScenarioFacts | None) -> bool:
    """Whether there are gradients to follow, an error that may be about them, or a fault that is waited for."""
    plain = subjects[0]
    if plain.ending.status == "raised":
        return plain.started
    some = _is_announced(facts, "fault", "gradient_wrong", "higher_peak") or any(
        subject.ran_backward for subject in subjects
    )
    return some and plain.ending.status == "ok"


def _is_announced(facts: ScenarioFacts | None, *kinds: str) -> bool:
    return facts is not None and facts.expected.kind in kinds


def _facts_from_source(scenario: ScenarioFile, variant: Variant) -> ScenarioFacts:
    """What the source says of itself, for a file that could not even be imported."""
    return ScenarioFacts(
        name=scenario.name,
        path=str(scenario.path),
        variant=variant,
        title=scenario.title,
        tags=scenario.tags,
        expected=scenario.expected if variant == "step" else Expectation(kind="stable"),
    )
