"""What an exception says of how a scenario ended."""

from __future__ import annotations

from harness.capture.exception_text import users_traceback_text
from harness.capture.fault_table import is_out_of_memory
from harness.errors import ScenarioError
from harness.model.recording import Ending

__all__ = ["ending_of"]


def ending_of(error: BaseException) -> Ending:
    """How it ended, with the traceback from the user's first frame on."""
    detail = users_traceback_text(error)
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else (0 if error.code is None else 1)
        return Ending(status="exited", code=code & 0xFF, detail=detail)  # as much of it as a process can end with
    if isinstance(error, ModuleNotFoundError):
        return Ending(status="raised", detail=f"{detail}\nInstall it: pip install {error.name or 'the package'}")
    if isinstance(error, ScenarioError):
        return Ending(status="raised", detail=f"{error}\n{error.help}")
    return Ending(status="out_of_memory" if is_out_of_memory(error) else "raised", detail=detail)
