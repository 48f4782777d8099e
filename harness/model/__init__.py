"""Frozen facts: what is measured, what was recorded, what was judged, what is reported. No behaviour lives here."""
