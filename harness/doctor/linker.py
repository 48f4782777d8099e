"""Which file the loader takes for a library's name, and what is then missing: ``ldd -v`` without running anything.

Order of the search as in ld.so(8): RPATH of the library and of those that loaded it, unless it has a RUNPATH;
LD_LIBRARY_PATH; RUNPATH; the cache; the default folders. A file for another machine is passed over, and remembered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from harness.doctor.elf import ElfError, ElfFile, read_elf
from harness.doctor.ld_cache import read_ld_cache
from harness.doctor.surroundings import Surroundings

__all__ = ["Linked", "Linker", "Missing", "MissingVersion"]


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """``wanted_by`` asks for the library ``name``; ``other`` says what is wrong with a file of that name."""

    name: str
    wanted_by: Path
    other: str = ""


class MissingVersion(msgspec.Struct, frozen=True, kw_only=True):
    """``provider`` is there and does not define ``version``, which ``wanted_by`` was linked against."""

    version: str
    wanted_by: Path
    provider: Path


class Linked(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was found, by the name that was asked for, and what was not."""

    files: dict[str, ElfFile]
    missing: tuple[Missing, ...]
    versions: tuple[MissingVersion, ...]


class Linker:
    """The loader of these surroundings."""

    def __init__(self, here: Surroundings) -> None:
        self._root = here.root
        self._machine = here.machine
        self._paths = [Path(p) for p in here.environ.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":") if p]
        self._cache = read_ld_cache(here.root / "etc/ld.so.cache")
        multiarch = f"{here.machine}-linux-gnu"
        names = ("lib64", "usr/lib64", f"lib/{multiarch}", f"usr/lib/{multiarch}", "lib", "usr/lib", "usr/local/lib")
        self._defaults = [here.root / name for name in names]

    def link(self, starts: Sequence[Path], *, loaded: Iterable[Path] = ()) -> Linked:
        """*starts* with all that they need. *loaded* are folders whose libraries are in the process already.

        Raises :class:`ElfError` for one of *starts* that is no library, is damaged, or is for another machine; OSError
        for one that cannot be read.
        """
        files: dict[str, ElfFile] = {}
        missing: list[Missing] = []
        waiting: deque[tuple[ElfFile, tuple[Path, ...]]] = deque()
        for start in starts:
            files[start.name] = self._read(start)
            waiting.append((files[start.name], ()))
        while waiting:
            file, inherited = waiting.popleft()
            rpath = () if file.runpath else (*self._expanded(file.rpath, file), *inherited)
            folders = (*rpath, *self._paths, *self._expanded(file.runpath, file), *loaded)
            for name in file.needed:
                if name in files:
                    continue
                found, other = self._find(name, folders)
                if found is None:
                    missing.append(Missing(name=name, wanted_by=file.path, other=other))
                    continue
                files[name] = found
                waiting.append((found, rpath))
        return Linked(files=files, missing=tuple(missing), versions=tuple(_missing_versions(files)))

    def find(self, name: str) -> tuple[ElfFile | None, str]:
        """The file that *name* alone (as in LD_PRELOAD) leads to; else None, and what is wrong with one that is there.

        A name with a slash in it is a path.
        """
        if "/" in name:
            return self._usable(self._root / name.lstrip("/") if name.startswith("/") else Path(name))
        return self._find(name, self._paths)

    def _find(self, name: str, folders: Iterable[Path]) -> tuple[ElfFile | None, str]:
        if "/" in name:
            return self.find(name)
        other = ""
        for path in self._candidates(name, folders):
            found, wrong = self._usable(path)
            if found is not None:
                return found, ""
            other = other or wrong
        return None, other

    def _candidates(self, name: str, folders: Iterable[Path]) -> Iterator[Path]:
        yield from (folder / name for folder in folders)
        yield from (self._root / path.lstrip("/") for path in self._cache.get(name, ()))
        yield from (folder / name for folder in self._defaults)

    def _usable(self, path: Path) -> tuple[ElfFile | None, str]:
        try:
            return self._read(path), ""
        except FileNotFoundError:
            return None, ""
        except ElfError as error:
            return None, str(error)
        except OSError as error:
            return None, f"{path}: {error.strerror}"

    def _read(self, path: Path) -> ElfFile:
        try:
            file = read_elf(path)
        except ElfError as error:
            raise ElfError(f"{path}: {error}") from None
        if (file.machine, file.bits) != (self._machine, 64):
            raise ElfError(f"{path} is for {file.machine} ({file.bits} bit), and this is {self._machine}")
        return file

    def _expanded(self, folders: Iterable[str], file: ElfFile) -> tuple[Path, ...]:
        origin = str(file.path.resolve().parent)
        expanded = []
        for folder in folders:
            for name, value in (("ORIGIN", origin), ("LIB", "lib64"), ("PLATFORM", self._machine)):
                folder = folder.replace(f"${name}", value).replace(f"${{{name}}}", value)
            expanded.append(Path(folder))
        return tuple(expanded)


def _missing_versions(files: dict[str, ElfFile]) -> Iterator[MissingVersion]:
    """As the loader has it: a library that defines no versions at all is taken for right."""
    for file in files.values():
        for need in file.needs:
            provider = files.get(need.library)
            if provider is None or need.weak or not provider.defines or need.version in provider.defines:
                continue
            yield MissingVersion(version=need.version, wanted_by=file.path, provider=provider.path)
