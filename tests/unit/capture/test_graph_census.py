"""Which survivors a graph holds, and how many nodes there are."""

from __future__ import annotations

import torch

from harness.capture.graph_census import take_census
from harness.ledger.dispatch import DispatchLedger


def test_a_growing_chain_of_scalars_is_counted_by_its_nodes() -> None:
    weight = torch.ones(3, requires_grad=True)
    total = torch.zeros(())
    before = take_census().nodes

    for _ in range(10):
        total = total + (weight * 2).sum()

    assert take_census().nodes - before >= 30


def test_storages_that_only_a_graph_holds_are_told_from_those_a_list_holds() -> None:
    weight = torch.ones(4, 4, requires_grad=True)
    with DispatchLedger().start() as ledger:
        ledger.mark()
        kept_nodes = [(weight @ weight).sigmoid().sum().grad_fn for _ in range(3)]
        kept_tensors = [torch.zeros(7) for _ in range(3)]

        sites = {state.site: ledger.frames(state.site)[0] for state in ledger.changed_sites()}
        census = take_census(ledger.storage_keys(), key_of=ledger.key_of)

    held = {sites[site]: count for site, count in census.in_graph.items()}
    assert len(kept_nodes) == len(kept_tensors) == 3
    assert held.get("aten::sigmoid") == 3
    assert "aten::zeros" not in held
