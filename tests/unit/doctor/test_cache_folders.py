"""Where caches are."""

from __future__ import annotations

from pathlib import Path

from harness.doctor.cache_folders import cache_folders
from tests.unit.doctor.planted import healthy


def test_without_variables_they_are_in_the_home_and_among_the_temporary_files(tmp_path: Path) -> None:
    found = {
        cache.variable: cache.folder.relative_to(tmp_path).as_posix() for cache in cache_folders(healthy(tmp_path))
    }

    assert found == {
        "TMPDIR": "tmp",
        "XDG_CACHE_HOME": "home/.cache",
        "TORCH_HOME": "home/.cache/torch",
        "TORCH_EXTENSIONS_DIR": "home/.cache/torch_extensions",
        "TORCHINDUCTOR_CACHE_DIR": "tmp/torchinductor_me",
        "TRITON_CACHE_DIR": "home/.triton/cache",
        "HF_HOME": "home/.cache/huggingface",
    }


def test_a_variable_moves_its_folder_and_those_that_follow_it(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": "/big", "HF_HOME": "~/hf", "HF_HUB_CACHE": "/hub", "TRITON_HOME": "/t"}

    found = {cache.variable: cache for cache in cache_folders(healthy(tmp_path, environ=environ))}

    assert found["TORCH_HOME"].folder == Path("/big/torch")
    assert found["HF_HOME"].folder == tmp_path / "home/hf"
    assert found["HF_HUB_CACHE"].folder == Path("/hub")
    assert found["TRITON_CACHE_DIR"].folder == Path("/t/.triton/cache")
    assert (found["HF_HOME"].is_set, found["TORCH_HOME"].is_set) == (True, False)
