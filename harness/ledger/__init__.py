"""The record of every live tensor storage: bytes, device, site, birth step. One protocol, several sources."""

from harness.ledger.protocol import Ledger, Live, Mark, Refusal, SiteState, Survivor
from harness.ledger.start import start_ledger

__all__ = ["Ledger", "Live", "Mark", "Refusal", "SiteState", "Survivor", "start_ledger"]
