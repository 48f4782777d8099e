"""Scoped ownership of tensors: nested, named scopes that own what is allocated inside them and hand over explicitly."""

from harness.scope.closed_tensor import ClosedTensor, Closure
from harness.scope.null import NullScope
from harness.scope.outliving import Escape, Released
from harness.scope.resource_scope import ResourceScope, batches, current, root
from harness.scope.scope_dump import ScopeDiff, ScopeDump, SiteShare, diff
from harness.scope.tree import OpenScope, open_scopes

__all__ = [
    "ClosedTensor",
    "Closure",
    "Escape",
    "NullScope",
    "OpenScope",
    "Released",
    "ResourceScope",
    "ScopeDiff",
    "ScopeDump",
    "SiteShare",
    "batches",
    "current",
    "diff",
    "open_scopes",
    "root",
]
