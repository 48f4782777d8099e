"""The record of every live tensor storage: bytes, device, site, birth step. One protocol, several sources."""

from harness.ledger.protocol import Ledger, Live, Mark, ScopeUse, SiteState, Survivor
from harness.ledger.start import start_ledger, why_not_native

__all__ = ["Ledger", "Live", "Mark", "ScopeUse", "SiteState", "Survivor", "start_ledger", "why_not_native"]
