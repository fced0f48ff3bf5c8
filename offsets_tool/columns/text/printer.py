"""The seam between the lane and whoever knows what is printed: a dialect of Kafka's, or our own JSON lines."""

from collections.abc import Callable
from typing import NamedTuple

from offsets_tool.dialects.output import Output
from offsets_tool.rows import Batch, LogRecord


class Printer(NamedTuple):
    """The functions that print each record, and each batch before its records; they depend on nothing else.

    `batch` also says whether the batch's records are printed after it; it is None where nothing is printed of batches.
    """

    record: Callable[[LogRecord], Output]
    batch: Callable[[Batch], tuple[Output, bool]] | None = None
