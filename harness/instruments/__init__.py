"""What reads numbers inside the measured process. One instrument a file; ``INSTRUMENTS`` is all of them."""

from harness.instruments.accelerator import Accelerator
from harness.instruments.children import Children
from harness.instruments.heap import Heap
from harness.instruments.process import ProcessMemory, UniqueMemory
from harness.instruments.protocol import Instrument, TellsBeginnings
from harness.instruments.pyobjects import PythonBlocks, PythonBytes
from harness.instruments.resources import Resources

__all__ = ["INSTRUMENTS", "Instrument", "TellsBeginnings"]

INSTRUMENTS: tuple[type[Instrument], ...] = (
    ProcessMemory,
    UniqueMemory,
    Heap,
    PythonBlocks,
    PythonBytes,
    Resources,
    Children,
    Accelerator,
)
