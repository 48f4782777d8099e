"""Turns a scenario file into functions to call, inside the subject."""

from __future__ import annotations

import importlib.util
import inspect
import os
import reprlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, cast

import msgspec

from harness.errors import ScenarioError
from harness.model.expectation import Expectation
from harness.model.recording import ScenarioFacts, Variant
from harness.scenario import Scenario

__all__ = ["LoadedScenario", "accepting_a_number", "check_that_it_ran", "load"]

_LONGEST_SCENARIO = 100_000
_RUN_NOTHING = (
    ("a coroutine", inspect.iscoroutinefunction),
    ("an asynchronous generator", inspect.isasyncgenfunction),
    ("a generator", inspect.isgeneratorfunction),
)
_RUN_IT = "asyncio.run(work(i)), or a loop over the generator"


class LoadedScenario(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario ready to run. ``step`` takes the step's number, whatever the file's own signature is."""

    facts: ScenarioFacts
    step: Callable[[int], object]
    setup: Callable[[], object] | None
    teardown: Callable[[], object] | None


def load(path: str, name: str, variant: Variant) -> LoadedScenario:
    """Import the file and look at what it offers. Whatever the file raises comes through; a file that cannot be
    a scenario raises :class:`ScenarioError`."""
    module = _import(path)
    said = _said(module, path)
    return LoadedScenario(
        facts=ScenarioFacts(
            name=name,
            path=path,
            variant=variant,
            title=said.title,
            pitfall=said.pitfall,
            fix=said.fix,
            tags=said.tags,
            expected=said.expect if variant == "step" else Expectation(kind="stable"),
            items_per_step=_items_per_step(module, path),
        ),
        step=_step(module, variant, path),
        setup=_optional(module, "setup", path),
        teardown=_optional(module, "teardown", path),
    )


def _said(module: ModuleType, path: str) -> Scenario:
    """The file's SCENARIO, its fields looked at too: nothing kept its author from writing ``title=3``."""
    said = getattr(module, "SCENARIO", None)
    if said is None:
        return Scenario()
    if not isinstance(said, Scenario):
        raise ScenarioError(
            f"{path}: SCENARIO is a {type(said).__name__}, not a harness.Scenario",
            help="Write SCENARIO = harness.Scenario(title=..., expect=...), or leave it out.",
        )
    try:
        plain = msgspec.to_builtins(said)
        said = msgspec.convert(plain, Scenario)
    except (msgspec.ValidationError, TypeError) as error:
        raise ScenarioError(
            f"{path}: SCENARIO cannot be read: {error}",
            help="title, pitfall and fix are strings, tags a tuple of strings, and expect is leak(...) or its like.",
        ) from error
    if (length := len(repr(plain))) > _LONGEST_SCENARIO:
        raise ScenarioError(
            f"{path}: SCENARIO holds {length} characters", help=f"At most {_LONGEST_SCENARIO}: it is shown in reports."
        )
    return said


def _import(path: str) -> ModuleType:
    """The module under the file's stem, so that workers the scenario spawns can import it again."""
    stem = os.path.splitext(os.path.basename(path))[0]
    sys.path.insert(0, os.path.dirname(path))
    name = stem if stem not in sys.modules else f"{stem}_scenario"  # a file called queue.py must not replace queue
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _step(module: ModuleType, variant: Variant, path: str) -> Callable[[int], object]:
    function = getattr(module, variant, None)
    if not callable(function):
        what = "has no" if function is None else f"has a {type(function).__name__} called"
        raise ScenarioError(
            f"{path}: {what} {variant}",
            help=f"A scenario is a file with a function: def {variant}(i): ...  It is called once a step, i from 0.",
        )
    _check_that_calling_runs_it(function, variant, path)
    return accepting_a_number(function, variant, path)


def _check_that_calling_runs_it(function: Callable[..., Any], name: str, path: str) -> None:
    for called in (function, type(function).__call__):  # the second for an object whose __call__ is one
        for kind, is_one in _RUN_NOTHING:
            if is_one(called):
                raise ScenarioError(
                    f"{path}: {name} is {kind} function, and calling it would run nothing",
                    help=f"Make {name} a plain function that runs it: {_RUN_IT}.",
                )


def check_that_it_ran(result: object, variant: str, path: str) -> None:
    """:class:`ScenarioError` where calling the step only made a coroutine, which is then never awaited."""
    if inspect.iscoroutine(result) or inspect.isasyncgen(result):
        if inspect.iscoroutine(result):
            result.close()  # or Python warns that nobody awaited it
        raise ScenarioError(
            f"{path}: {variant} returned a {type(result).__name__}, and nothing of that was run",
            help=f"Make {variant} run it: {_RUN_IT}.",
        )


def accepting_a_number(function: Callable[..., Any], variant: str, path: str) -> Callable[[int], object]:
    """*function* as one that takes the step's number; :class:`ScenarioError` where it needs more than that."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function  # a builtin tells nothing of itself; the call will
    try:
        signature.bind(0)
    except TypeError:
        try:
            signature.bind()
        except TypeError:
            raise ScenarioError(
                f"{path}: {variant}{signature} needs more than the number of the step",
                help=f"Write def {variant}(i): ... or def {variant}(): ... and prepare the rest in setup().",
            ) from None
        return lambda i: function()
    return function


def _optional(module: ModuleType, name: str, path: str) -> Callable[[], object] | None:
    function = getattr(module, name, None)
    if function is None:
        return None
    if not callable(function):
        raise ScenarioError(
            f"{path}: {name} is a {type(function).__name__}, not a function",
            help=f"{name} is called once; rename the variable, or write def {name}(): ...",
        )
    _check_that_calling_runs_it(function, name, path)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return cast("Callable[[], object]", function)
    try:
        signature.bind()
    except TypeError:
        raise ScenarioError(
            f"{path}: {name}{signature} needs arguments, and is called without any",
            help=f"Write def {name}(): ... and keep what it needs in the module.",
        ) from None
    return cast("Callable[[], object]", function)


def _items_per_step(module: ModuleType, path: str) -> int | None:
    items = getattr(module, "ITEMS_PER_STEP", None)
    if items is None:
        return None
    if isinstance(items, bool) or not isinstance(items, int) or not 1 <= items < 2**63:
        raise ScenarioError(
            f"{path}: ITEMS_PER_STEP is {reprlib.repr(items)}",
            help="It is how many samples a step handles: a whole number from 1.",
        )
    return items
