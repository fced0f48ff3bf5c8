"""The layout of the tables that compiled code fills: int64, one line for each field, one column for each batch or record.

A table's capacity is fixed, so that a cell's address is its field's and its column's number. Places of keys, values and metadata
are bytes of the buffer that the records were read from: the file, or the chunk's decompressed content.
"""

from enum import IntEnum
from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import load_cell, store_cell
from offsets_tool.log.batches.limits import FEWEST_RECORDS

CAPACITY: Final = FEWEST_RECORDS
"""Batches or records of one chunk. A batch of more records is the reference's."""

CHUNK_BYTES: Final = 8 << 20
"""Batches of one chunk are no more once they have so many bytes, as they lie in the file and decompressed: memory stays flat
where values are large."""

LONGEST_BATCH: Final = 64 << 20
"""A batch of more bytes, in the file or decompressed, is the reference's: so no column of a chunk goes beyond Arrow's 2 GiB, though
JSON may take twenty times the bytes of its value."""

LINE_GAP: Final = 40
"""Cells between the lines of a table. Were a line a power of two long, the same column of all fields would compete for one place in
the caches."""

_LINE: Final = CAPACITY + LINE_GAP


class BatchField(IntEnum):
    """Fields of a batch: headers of magic 2 whose checksum is right."""

    POSITION = 0
    SIZE = 1
    BASE_OFFSET = 2
    LAST_OFFSET = 3
    ATTRIBUTES = 4
    BASE_TIMESTAMP = 5
    MAX_TIMESTAMP = 6
    PRODUCER_ID = 7
    PRODUCER_EPOCH = 8
    BASE_SEQUENCE = 9
    PARTITION_LEADER_EPOCH = 10
    CRC = 11
    COUNT = 12
    BODY_START = 13
    BODY_END = 14


class AttributeBit(IntEnum):
    """Bits of a batch's ATTRIBUTES."""

    CODEC = 7
    LOG_APPEND_TIME = 8
    TRANSACTIONAL = 16
    CONTROL = 32
    DELETE_HORIZON = 64


class RecordField(IntEnum):
    """Fields of a record, and of the commit that it is."""

    BATCH = 0
    LOG_OFFSET = 1
    TIMESTAMP = 2
    KEY = 3
    VALUE_START = 4
    VALUE_SIZE = 5
    KIND = 6
    VALUE_VERSION = 7
    COMMITTED_OFFSET = 8
    LEADER_EPOCH = 9
    METADATA_START = 10
    METADATA_SIZE = 11
    COMMIT_TIMESTAMP = 12
    EXPIRE_TIMESTAMP = 13
    TOPIC_ID = 14


class RecordKind(IntEnum):
    """The kinds of record that the lane tells apart."""

    REFERENCE = 0
    """The reference decoder reads it: another kind, a version or a text that the lane leaves alone."""
    COMMIT = 1
    """An offset commit, read completely."""
    TOMBSTONE = 2
    """A null value."""
    MARKER = 3
    """COMMIT or ABORT: VALUE_VERSION has the type's number, LEADER_EPOCH the coordinator's epoch."""
    JSON = 4
    """Another kind, whose value a program has printed; known only while a chunk's rows are made."""


NO_KEY: Final = -1


def has_any(attributes: Array, bits: AttributeBit) -> Array:
    """Return which batches have some of these bits, given the ATTRIBUTES of each, or whether one has, given its own."""
    # NumPy asks an enum how it takes part in a sum, and widens numbers for it; a plain number costs a fifth.
    found: Array = attributes & int(bits) != 0
    return found


def new_table(fields: type[IntEnum]) -> Array:
    """Return a table of batches or records, a line for each of `fields`, whose cells are not set."""
    return np.empty((len(fields), _LINE), np.int64)


get: Final = load_cell(_LINE)
"""`get(table, field, column)`: a cell of the table at this address."""

put: Final = store_cell(_LINE)
"""`put(table, field, column, value)`: sets it."""
