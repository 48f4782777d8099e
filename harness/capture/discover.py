"""Turns what was asked for (nothing, files, folders, names, ``file.py::fixed_step``) into scenarios, running none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from harness.capture.bundled import bundled_folder, bundled_path, near_names
from harness.capture.scenario_file import ScenarioFile
from harness.capture.scenario_source import SourceLook, look
from harness.errors import UsageError
from harness.model.recording import Variant
from harness.model.report import Problem

__all__ = ["discover"]

_LIST_HELP = "`harness list` shows the bundled scenarios."
_NAME_HELP = "Rename it; or, where the locale is what cannot read it, run again with PYTHONUTF8=1."
_STEP_HELP = "A scenario is a Python file with a module-level function: def step(i): ...  It is called once a step."


_LARGEST = 64 << 20


class _Places(msgspec.Struct, frozen=True, kw_only=True):
    """Resolved once a call: asking the file system again for each of 300 files would cost more than parsing."""

    bundled: Path
    bundled_root: Path
    here: str


def discover(
    targets: Sequence[str], *, variant: Literal["step", "fixed_step", "both"] = "both"
) -> tuple[tuple[ScenarioFile, ...], tuple[Problem, ...]]:
    """The scenarios that *targets* lead to, each once, in the order asked for; and what led to none, with help.

    A path wins over a bundled scenario's name. A folder is searched to its depth in sorted order; one without any
    scenario gives nothing, and is no problem. Raises nothing for anything that lies on disk; :class:`UsageError` where
    the working directory does not.
    """
    found: dict[str, ScenarioFile] = {}
    problems: list[Problem] = []
    bundled = bundled_folder()
    places = _Places(bundled=bundled, bundled_root=bundled.resolve(), here=_working_folder())
    for target in targets or (str(bundled),):
        for result in _in_target(target, variant, places):
            if isinstance(result, Problem):
                problems.append(result)
                continue
            key = os.path.realpath(result.path)
            first = found.setdefault(key, result)
            both = tuple(v for v in _variants("both") if v in (*first.variants, *result.variants))
            found[key] = msgspec.structs.replace(first, variants=both)
    return tuple(found.values()), tuple(problems)


def _working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise UsageError(
            "the folder that you are in was removed", help="Go to one that is there (cd), and run this again."
        ) from error


def _in_target(target: str, variant: str, places: _Places) -> Iterator[ScenarioFile | Problem]:
    path, asked = target, variant
    if not os.path.lexists(path) and "::" in target:
        path, _, asked = target.rpartition("::")
        if asked not in _variants("both"):
            message = f"{_shown(target)}: {_shown(asked)!r} is no variant"
            yield Problem(target=_shown(target), message=message, help="Write ::step or ::fixed_step, or neither.")
            return
    if not os.path.lexists(path):
        path = bundled_path(path, places.bundled) or path
    if os.path.isdir(path):
        yield from _in_folder(path, asked, places)
    elif os.path.isfile(path):
        yield _named_file(path, target, asked, places)
    elif os.path.lexists(path):
        what = "a link that leads nowhere" if not os.path.exists(path) else "neither a file nor a folder"
        yield Problem(target=_shown(target), message=f"{_shown(target)}: {what}", help=_STEP_HELP)
    else:
        yield _missing(target, path, places.bundled)


def _in_folder(folder: str, asked: str, places: _Places) -> Iterator[ScenarioFile | Problem]:
    errors: list[OSError] = []
    for where, folders, files in os.walk(folder, onerror=errors.append):
        folders[:] = sorted(name for name in folders if not _is_skipped(os.path.join(where, name)))
        for name in sorted(files):
            path = os.path.join(where, name)
            if name.endswith(".py") and not name.startswith(".") and os.path.isfile(path):
                seen = _look_at(path)
                if isinstance(seen, Problem):
                    yield seen
                elif kept := _kept(seen, asked):
                    yield _scenario(path, seen, kept, places)
    for error in errors:
        shown = _shown(error.filename)
        yield Problem(target=shown, message=f"{shown}: cannot be read: {error.strerror}", help="Check its permissions.")


def _is_skipped(folder: str) -> bool:
    name = os.path.basename(folder)
    # A virtual environment is other people's code, thousands of files of it.
    return name.startswith(".") or name == "__pycache__" or os.path.isfile(os.path.join(folder, "pyvenv.cfg"))


def _named_file(path: str, target: str, asked: str, places: _Places) -> ScenarioFile | Problem:
    shown = _shown(target)
    if not path.endswith(".py"):
        return Problem(
            target=shown, message=f"{shown}: not a Python file (its name does not end in .py)", help=_STEP_HELP
        )
    seen = _look_at(path)
    if isinstance(seen, Problem):
        return seen
    if not seen.variants and not seen.stars:
        return Problem(target=shown, message=f"{shown}: has no module-level function called step", help=_STEP_HELP)
    kept = _kept(seen, asked)
    if not kept:
        return Problem(
            target=shown,
            message=f"{shown}: has no {asked}",
            help="fixed_step is optional: the same work as step, without the fault. Leave out the variant to run step.",
        )
    return _scenario(path, seen, kept, places)


def _kept(seen: SourceLook, asked: str) -> tuple[Variant, ...]:
    """A file needs a ``step``; what a broken file has, or a star import brings, is for the subject to find out."""
    if seen.broken:
        return seen.variants
    has = seen.variants or (("step",) if seen.stars else ())
    return tuple(v for v in _variants(asked) if v in has) if "step" in has or seen.stars else ()


def _variants(asked: str) -> tuple[Variant, ...]:
    both: tuple[Variant, ...] = ("step", "fixed_step")
    return both if asked == "both" else tuple(v for v in both if v == asked)


def _look_at(path: str) -> SourceLook | Problem:
    shown = _shown(path)
    try:
        path.encode()
        if (size := os.stat(path).st_size) > _LARGEST:
            return Problem(
                target=shown,
                message=f"{shown}: {size >> 20} MiB is too large for a scenario",
                help=f"At most {_LARGEST >> 20} MiB. Put data in files of its own.",
            )
        seen = look(Path(path).read_bytes())
    except UnicodeEncodeError:
        return Problem(target=shown, message=f"{shown}: its name is not valid UTF-8", help=_NAME_HELP)
    except OSError as error:
        return Problem(
            target=shown, message=f"{shown}: cannot be read: {error.strerror}", help="Check its permissions."
        )
    if seen.unreadable:
        return Problem(
            target=shown, message=f"{shown}: {seen.unreadable}", help="Save it as UTF-8 text, or name another."
        )
    return seen


def _scenario(path: str, seen: SourceLook, kept: tuple[Variant, ...], places: _Places) -> ScenarioFile:
    absolute = Path(os.path.normpath(os.path.join(places.here, path)))
    real = Path(os.path.realpath(absolute))
    bundled = real.is_relative_to(places.bundled_root)
    if bundled:
        shown = f"scenarios/{real.relative_to(places.bundled_root).as_posix()}"
    else:
        shown = (absolute.relative_to(places.here) if absolute.is_relative_to(places.here) else absolute).as_posix()
    return ScenarioFile(
        name=absolute.stem,
        path=absolute,
        shown_path=shown,
        variants=kept,
        title=seen.title,
        tags=seen.tags,
        expected=seen.expected,
        bundled=bundled,
        fresh_interpreter=seen.fresh_interpreter,
    )


def _missing(target: str, path: str, bundled: Path) -> Problem:
    shown = _shown(target)
    near = near_names(path, bundled)
    guess = f"Did you mean {' or '.join(_shown(name) for name in near)}? " if near else ""
    return Problem(
        target=shown, message=f"{shown!r}: no such file, folder or bundled scenario", help=guess + _LIST_HELP
    )


def _shown(path: str) -> str:
    """*path* as text that can be written as UTF-8: bytes that are none become escapes."""
    return os.fsencode(path).decode(errors="backslashreplace")
