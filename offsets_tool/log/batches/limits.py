"""How much one batch may hold: what a broker can have written, however much more its bytes claim.

Kafka bounds a batch as it lies in the log (`message.max.bytes`, 1 MiB unless it was raised), not what it inflates to; a few hundred
bytes may claim gigabytes or millions of records. Knows nothing about batches but their size.
"""

from typing import Final, NamedTuple

MAX_BATCH_BYTES: Final = 32 << 20
"""32 times Kafka's default for `message.max.bytes`, and far more than any group's metadata has."""

_ALWAYS: Final = 1 << 20
"""What any batch may inflate to: Kafka's default for `message.max.bytes`."""

_HIGHEST_RATIO: Final = 2000
"""Twice what the members of a group reach that all subscribe to the same thousands of topics: within MAX_BATCH_BYTES their own ids
keep it there. Only zstd gets so far: gzip ends at 1032, LZ4 at 255."""

_USUAL_RATIO: Final = 4
"""What a batch may have that is itself as long as the limit: so much a broker was told to accept."""

RECORDS_PER_BYTE: Final = 8
"""Tombstones of a topic's partitions, in their order, take a byte each where they are compressed best: each has its own offset."""

FEWEST_RECORDS: Final = 1 << 16
"""What a limit that somebody asked for leaves in any case, so that a batch that the compiled lane holds is within every limit."""

_SMALLEST_RECORD: Final = 64
"""Bytes of a record with a short key, on the average of many."""


_USUAL_CELL: Final = 4096
"""Bytes of a record with a long value, on the average of a column of an archive."""


class Limits(NamedTuple):
    """Bounds of one batch: `batch_bytes` is what it may inflate to; with `is_asked`, the user's bound, it holds for any size."""

    batch_bytes: int = MAX_BATCH_BYTES
    is_asked: bool = False

    def content(self, size: int) -> int:
        """Return the most bytes that a batch of `size` bytes in the log may inflate to."""
        most = max(self.batch_bytes, _USUAL_RATIO * size)
        return most if self.is_asked else min(most, max(_ALWAYS, _HIGHEST_RATIO * size))

    def column(self, size: int, rows: int) -> int:
        """Return the most bytes that a column of `rows` rows, of `size` bytes in an archive, may inflate to."""
        return max(self.batch_bytes, _HIGHEST_RATIO * size, _USUAL_CELL * rows)

    def records(self, size: int) -> int:
        """Return the most records, or headers of records, that a batch of `size` bytes in the log may have."""
        most = max(FEWEST_RECORDS, max(self.batch_bytes, size) // _SMALLEST_RECORD)
        return most if self.is_asked else min(most, RECORDS_PER_BYTE * size)


LIMITS: Final = Limits()
"""The limits that hold unless the user asks for others."""

REMEDY: Final = "which no broker is known to write: --max-batch-bytes reads it all the same"
