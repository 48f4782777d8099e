"""Pairs of versions that are known not to work together: a row each, with what happens and where it is written."""

from __future__ import annotations

import msgspec

__all__ = ["KNOWN_PAIRS", "KnownPair"]


class KnownPair(msgspec.Struct, frozen=True, kw_only=True):
    """torch before ``torch_before`` does not go with ``package`` from ``version`` on (``python``: the interpreter)."""

    torch_before: str
    package: str
    version: str
    what: str
    link: str


KNOWN_PAIRS: tuple[KnownPair, ...] = (
    KnownPair(
        torch_before="2.3",
        package="numpy",
        version="2",
        what="torch was built against NumPy 1, and `.numpy()` and `from_numpy()` fail",
        link="https://github.com/pytorch/pytorch/issues/107302",
    ),
    KnownPair(
        torch_before="2.4",
        package="python",
        version="3.12",
        what="torch.compile refuses this Python",
        link="https://github.com/pytorch/pytorch/issues/120233",
    ),
    KnownPair(
        torch_before="2.10",
        package="python",
        version="3.14",
        what="torch.compile refuses this Python",
        link="https://github.com/pytorch/pytorch/issues/169875",
    ),
    KnownPair(
        torch_before="2.9",
        package="setuptools",
        version="82",
        what="torch.utils.cpp_extension imports pkg_resources, which setuptools no longer has",
        link="https://github.com/nerfstudio-project/gsplat/pull/899",
    ),
)
