"""What runs the native ledger under sanitizers: see ``scripts/sanitize.sh``."""
