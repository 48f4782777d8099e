"""What a scenario's source text tells without being run: what it binds, and what its ``SCENARIO`` says in literals."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from harness import scenario
from harness.errors import ScenarioError
from harness.model.expectation import Expectation
from harness.model.recording import Variant

__all__ = ["SourceLook", "look"]

_VARIANTS: tuple[Variant, ...] = ("step", "fixed_step")
_MENTIONS_STEP = re.compile(rb"\bstep\b")
_LONGEST_PARSED = 4 << 20
"""A parsed file takes up to 400 times its size, and here no limit on memory holds."""
_DEFINES = re.compile(rb"^(?:(?:async )?def |class )?(step|fixed_step)\b\s*[(=:]", re.MULTILINE)
_EXPECTATIONS = {
    make.__name__: make
    for make in (
        scenario.stable, scenario.leak, scenario.look_alike, scenario.fault, scenario.slower,
        scenario.higher_peak, scenario.more_allocations, scenario.gradient_wrong,
    )
}  # fmt: skip
_NEVER_CALLABLE = (
    ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp,
    ast.GeneratorExp, ast.Compare, ast.UnaryOp,
)  # fmt: skip
"""``step = 0`` is how many training scripts count: it makes none of them a scenario."""


class SourceLook(msgspec.Struct, frozen=True, kw_only=True):
    """What a look told: the ``variants`` that the module binds, and what its ``SCENARIO`` says.

    ``broken`` where Python cannot parse it; ``unreadable`` says why it is no text at all; ``stars`` is
    True where a star import may bind more than can be seen here.
    """

    variants: tuple[Variant, ...] = ()
    stars: bool = False
    broken: bool = False
    unreadable: str | None = None
    title: str = ""
    tags: tuple[str, ...] = ()
    expected: Expectation = Expectation(kind="stable")
    fresh_interpreter: bool = False


def look(source: bytes) -> SourceLook:
    """Look at a file's bytes. Nothing of it is run, and no text makes this raise.

    A file that cannot be parsed and mentions ``step`` counts as having one: the subject will say what is wrong with it.
    One of more than 4 MiB is looked through for definitions, not parsed.
    """
    if b"\0" in source:
        return SourceLook(unreadable="it holds zero bytes: it is no text")
    if not _MENTIONS_STEP.search(source) and b"import *" not in source and b"import*" not in source:
        return SourceLook()
    if len(source) > _LONGEST_PARSED:
        defined = {name.decode() for name in _DEFINES.findall(source)}
        return SourceLook(variants=tuple(variant for variant in _VARIANTS if variant in defined))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape in the user's text is not ours to report
            module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if "codec can't decode" in str(error) or "unknown encoding" in str(error):
            return SourceLook(unreadable=f"it is not text in the encoding that it declares, or in UTF-8 ({error})")
        return SourceLook(broken=True, variants=("step",) if _MENTIONS_STEP.search(source) else ())
    statements = tuple(_module_level(module.body))
    bound = {name for statement in statements for name in _bound_by(statement)}
    return SourceLook(
        variants=tuple(variant for variant in _VARIANTS if variant in bound),
        stars="*" in bound,
        **_said(statements),
    )


def _module_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that importing the file can run, those inside if, try, with and loops among them."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If) and _is_not_for_importers(statement.test):
            yield from _module_level(statement.orelse)
        elif isinstance(statement, (ast.If, ast.Try, ast.TryStar, ast.With, ast.For, ast.While, ast.Match)):
            for part in ("body", "orelse", "finalbody"):
                yield from _module_level(getattr(statement, part, ()))
            for branch in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                yield from _module_level(branch.body)


def _is_not_for_importers(test: ast.expr) -> bool:
    if isinstance(test, ast.Compare):
        return isinstance(test.left, ast.Name) and test.left.id == "__name__" and isinstance(test.ops[0], ast.Eq)
    return _name_of(test) == "TYPE_CHECKING"


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _names_in(target, statement.value)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield from _names_in(statement.target, statement.value)


def _names_in(target: ast.expr, value: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name) and not isinstance(value, _NEVER_CALLABLE):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        pairs = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        values = value.elts if pairs else [value] * len(target.elts)  # type: ignore[attr-defined] # pairs says so
        for element, its_value in zip(target.elts, values, strict=True):
            yield from _names_in(element, its_value)


def _said(statements: Iterable[ast.stmt]) -> dict[str, Any]:
    """The literal arguments of the last ``SCENARIO = Scenario(...)``; what is computed is left to the subject."""
    said: dict[str, Any] = {}
    for statement in statements:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        value = getattr(statement, "value", None)
        if not any(isinstance(target, ast.Name) and target.id == "SCENARIO" for target in targets):
            continue
        if isinstance(value, ast.Call) and _name_of(value.func) == "Scenario":
            for keyword in value.keywords:
                said |= _literal_field(keyword)
    return said


def _literal_field(keyword: ast.keyword) -> dict[str, Any]:
    if keyword.arg == "expect":
        expected = _expectation(keyword.value)
        return {} if expected is None else {"expected": expected}
    types = {"title": str, "tags": tuple[str, ...], "fresh_interpreter": bool}
    if keyword.arg not in types:
        return {}
    try:
        return {keyword.arg: msgspec.convert(ast.literal_eval(keyword.value), types[keyword.arg])}
    except (ValueError, TypeError, RecursionError, msgspec.ValidationError):
        return {}


def _expectation(value: ast.expr) -> Expectation | None:
    make = _EXPECTATIONS.get(_name_of(value.func)) if isinstance(value, ast.Call) else None
    if make is None or not isinstance(value, ast.Call):
        return None
    try:
        arguments = [ast.literal_eval(argument) for argument in value.args]
        named = {keyword.arg or "**": ast.literal_eval(keyword.value) for keyword in value.keywords}
        return make(*arguments, **named)
    except (ValueError, TypeError, ScenarioError):
        return None  # the subject will meet the same words and say what is wrong with them


def _name_of(expression: ast.expr) -> str:
    """The last name of ``leak`` or ``harness.leak``; empty for anything else."""
    return str(getattr(expression, "id", getattr(expression, "attr", "")))
