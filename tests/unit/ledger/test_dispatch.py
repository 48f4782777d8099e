"""What only the dispatch ledger does: it names the operator."""

from __future__ import annotations

import torch

from harness.ledger.dispatch import DispatchLedger


def test_a_site_names_the_operator_that_allocated() -> None:
    with DispatchLedger().start() as ledger:
        kept = torch.ones(3).add(1)

        site = ledger.storage_keys()[ledger.key_of(kept)]

        assert ledger.frames(site)[0] == "aten::add"
