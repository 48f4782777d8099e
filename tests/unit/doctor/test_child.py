"""The process that imports torch: here as it is, on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.doctor.probe import Probe, probe


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    missing = tmp_path_factory.mktemp("libraries") / "gone.so"
    return probe([missing], environ=os.environ)


def test_every_stage_is_answered_by_a_torch_that_works(told: Probe) -> None:
    import torch

    assert told.errors == {}
    assert told.torch is not None
    assert told.torch.version == str(torch.__version__)
    assert told.torch.path == str(Path(torch.__file__).parent)


def test_a_ledger_is_found_to_work(told: Probe) -> None:
    assert told.ledger is not None
    assert told.ledger.dispatch is None


def test_instruments_are_named_and_most_of_them_read(told: Probe) -> None:
    from harness.instruments import INSTRUMENTS

    assert told.instruments is not None
    assert list(told.instruments) == [str(kind.name) for kind in INSTRUMENTS]
    assert told.instruments["heap"] is None


def test_a_library_that_cannot_be_loaded_has_the_loaders_reason(told: Probe) -> None:
    assert told.libraries is not None
    ((path, why_not),) = told.libraries.items()
    assert path.endswith("gone.so")
    assert "cannot open shared object file" in str(why_not)
