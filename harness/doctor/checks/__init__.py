"""What is looked at: one subject a file, a pure function of the surroundings to answers; ``CHECKS`` is all of them."""

from __future__ import annotations

from collections.abc import Callable

from harness.doctor.checks.archives import check_archives
from harness.doctor.checks.caches import check_caches
from harness.doctor.checks.custom_library import check_custom_libraries
from harness.doctor.checks.device import check_device
from harness.doctor.checks.glibc import check_glibc
from harness.doctor.checks.instruments import check_instruments
from harness.doctor.checks.ledger import check_ledger
from harness.doctor.checks.libraries import check_libraries
from harness.doctor.checks.malloc import check_malloc
from harness.doctor.checks.malloc_settings import check_malloc_settings
from harness.doctor.checks.memory import check_memory
from harness.doctor.checks.native_stacks import check_native_stacks
from harness.doctor.checks.shared_memory import check_shared_memory
from harness.doctor.checks.threads import check_threads
from harness.doctor.checks.torch_allocator import check_torch_allocator
from harness.doctor.checks.torch_build import check_torch_build
from harness.doctor.checks.variables import check_variables
from harness.doctor.checks.versions import check_versions
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check

__all__ = ["CHECKS"]

CHECKS: tuple[tuple[str, tuple[Callable[[Surroundings], tuple[Check, ...]], ...]], ...] = (
    ("measuring", (check_ledger, check_instruments, check_native_stacks)),
    ("torch", (check_torch_build, check_device, check_versions)),
    ("libraries", (check_libraries, check_glibc, check_custom_libraries)),
    ("memory", (check_malloc, check_malloc_settings, check_torch_allocator, check_memory, check_shared_memory)),
    ("processors", (check_threads,)),
    ("files", (check_caches, check_archives)),
    ("variables", (check_variables,)),
)
"""Groups as they are shown: what decides whether anything can be measured comes first."""
