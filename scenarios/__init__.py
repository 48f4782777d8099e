"""The bundled scenarios, one pitfall a file: installed as ``harness.scenarios``, run by ``harness run NAME``."""
