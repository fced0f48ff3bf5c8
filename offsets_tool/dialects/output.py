"""The output of a formatter or decoder for one record, and the interface between the command line and the dialects."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from offsets_tool.rows import Batch, LogRecord


class Output(NamedTuple):
    """`text` is what Kafka writes to stdout, byte for byte; `error` is what its exception says, None where it throws none."""

    text: bytes = b""
    error: str | None = None
    is_harmless: bool = False
    """Kafka says it on stderr, and yet nothing is wrong: gaps between offsets, which compaction leaves."""


NOTHING = Output()


class Printed(NamedTuple):
    """The texts that a decoder puts after `key:` and `payload:` of a dumped record; None where the word itself is missing."""

    key: str | None = None
    payload: str | None = None


class Formatter(Protocol):
    """One of Kafka's message formatters, in one release, for data records: control records never reach a formatter."""

    def text(self, text: str) -> str:
        """Return a name, or metadata, as it stands in the line of an offset commit."""

    def format(self, record: LogRecord) -> Output:
        """Return the exact bytes that Kafka writes for a record, or its error; never raises for what the record holds."""


class Printer(NamedTuple):
    """The functions that print each record, and each batch before its records; they depend on nothing else.

    `text` is how names and metadata are written in the lines of offset commits. `batch` also says whether the batch's records are
    printed after it; it is None where nothing is printed of batches.
    """

    record: Callable[[LogRecord], Output]
    text: Callable[[str], str]
    batch: Callable[[Batch], tuple[Output, bool]] | None = None
