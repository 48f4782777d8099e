"""Names in torch's files."""

from __future__ import annotations

from pathlib import Path

from harness.doctor.named_in import named_in
from tests.unit.doctor.planted import write


def test_names_are_found_in_python_files_and_libraries_as_whole_words(tmp_path: Path) -> None:
    write(tmp_path, "a/config.py", "os.environ['TORCH_ONE']; 'TORCH_THREE_TIMES'")
    write(tmp_path, "lib/libtorch.so", b"\0TORCH_TWO\0")
    write(tmp_path, "empty.py", "")

    found = named_in(tmp_path, ("TORCH_ONE", "TORCH_TWO", "TORCH_THREE", "TORCH_FOUR"))

    assert found == {"TORCH_ONE", "TORCH_TWO"}
