"""Which ledger works here."""

from __future__ import annotations

from pathlib import Path

from harness.doctor.checks.ledger import check_ledger
from harness.doctor.probe import DeviceFacts, LedgerFacts
from tests.unit.doctor.planted import a_probe, healthy, only


def test_both_ledgers_work(tmp_path: Path) -> None:
    checks = check_ledger(healthy(tmp_path))

    assert [(check.name, check.status) for check in checks] == [("native ledger", "ok"), ("dispatch ledger", "ok")]


def test_beside_an_accelerator_the_one_that_sees_its_tensors_is_told(tmp_path: Path) -> None:
    cuda = DeviceFacts(accelerator="cuda", names=(), capabilities=(), driver_cuda=None, why_not=None)

    _, dispatch = check_ledger(healthy(tmp_path, probe=a_probe(devices=cuda)))

    assert dispatch.says.endswith("; it is taken here, since it sees cuda tensors too")


def test_a_native_ledger_that_was_not_built_is_a_note_with_the_reason(tmp_path: Path) -> None:
    facts = LedgerFacts(native="its extension is not there", dispatch=None)

    native, dispatch = check_ledger(healthy(tmp_path, probe=a_probe(ledger=facts)))

    assert (native.status, dispatch.status) == ("note", "ok")
    assert native.says == "does not work here: its extension is not there"
    assert "C compiler" in native.help


def test_the_native_ledger_is_not_looked_for_outside_of_linux(tmp_path: Path) -> None:
    facts = LedgerFacts(native="no extension", dispatch=None)

    native, _ = check_ledger(healthy(tmp_path, system="Darwin", probe=a_probe(ledger=facts)))

    assert native.status == "not_here"


def test_a_dispatch_ledger_that_miscounts_is_a_problem(tmp_path: Path) -> None:
    facts = LedgerFacts(native=None, dispatch="a storage of 1000 bytes was seen as 0")

    _, dispatch = check_ledger(healthy(tmp_path, probe=a_probe(ledger=facts)))

    assert dispatch.status == "problem"
    assert "seen as 0" in dispatch.says


def test_a_self_test_that_kills_its_process_is_a_problem_with_the_signal(tmp_path: Path) -> None:
    probe = a_probe(ledger=None, errors={"ledger": "the process died of SIGSEGV"})

    check = only(check_ledger(healthy(tmp_path, probe=probe)))

    assert (check.status, "SIGSEGV" in check.says) == ("problem", True)


def test_without_torch_there_is_no_ledger_and_no_second_problem(tmp_path: Path) -> None:
    probe = a_probe(torch=None, ledger=None, errors={"ledger": "ModuleNotFoundError: No module named 'torch'"})

    assert only(check_ledger(healthy(tmp_path, probe=probe))).status == "not_here"
