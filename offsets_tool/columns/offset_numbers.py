"""Columns of committed offsets as numbers; those of a group stand together: they are a slice, which costs nothing.

Knows no sums; texts are numbers too, which stand for their places in a list.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.wire.text import from_shown

IN_ORDER: Final = ("from_log_offset", "commit_log_offset")
"""What rows of a group are sorted by; those that are equal in both have no sums."""
_NUMBERS: Final = (
    "from_log_offset",
    "commit_log_offset",
    "from_timestamp",
    "commit_timestamp",
    "committed_offset",
)
_TEXTS: Final = ("topic", "topic_id", "begin_cause", "end_cause")


class CodedTexts(NamedTuple):
    """A column of texts: for each row the place of its text, -1 for null."""

    codes: Array
    texts: list[str]
    """The texts as they were decoded, each once; some may be of no row."""

    @classmethod
    def of(cls, column: pa.DictionaryArray) -> "CodedTexts":
        """Return the texts of a column."""
        codes = pc.fill_null(column.indices, -1).to_numpy()
        return cls(codes, [from_shown(text) for text in column.dictionary.to_pylist()])

    def slice(self, rows: slice) -> "CodedTexts":
        """Return the texts of some rows."""
        return CodedTexts(self.codes[rows], self.texts)

    def texts_at(self, rows: Array) -> list[str | None]:
        """Return the texts of some rows, None for null."""
        return [None if code < 0 else self.texts[code] for code in self.codes[rows].tolist()]

    def distinct(self) -> set[str]:
        """Return the texts that rows have."""
        counts = np.bincount(self.codes + 1, minlength=1)
        return {self.texts[code - 1] for code in np.flatnonzero(counts).tolist() if code}


class OffsetNumbers(NamedTuple):
    """The columns of committed offsets by which groups are summed up."""

    numbers: Mapping[str, Array]
    partitions: Array
    is_effective: Array
    metadata_bytes: Array
    topics: CodedTexts
    topic_ids: CodedTexts
    begin_causes: CodedTexts
    end_causes: CodedTexts

    @classmethod
    def of(cls, column: Callable[[str], pa.Array]) -> "OffsetNumbers":
        """Return columns of OffsetHistoryRow, given by their names; texts of names and causes are dictionary-encoded."""
        numbers = {name: column(name).to_numpy() for name in _NUMBERS}
        numbers["delta"] = pc.fill_null(column("delta"), 0).to_numpy()
        return cls(
            numbers,
            column("partition").to_numpy(),
            column("is_effective").to_numpy(zero_copy_only=False),
            pc.binary_length(column("metadata")).to_numpy(),
            *(CodedTexts.of(column(name)) for name in _TEXTS),
        )

    @property
    def is_in_order(self) -> bool:
        """Whether each row is behind the one before by its places in the log: no two are at the same."""
        first, second = (self.numbers[name] for name in IN_ORDER)
        rises = (first[1:] > first[:-1]) | ((first[1:] == first[:-1]) & (second[1:] > second[:-1]))
        return bool(rises.all())

    def slice(self, begin: int, end: int) -> "OffsetNumbers":
        """Return the numbers of the rows from `begin` to `end`."""
        rows = slice(begin, end)
        numbers = {name: each[rows] for name, each in self.numbers.items()}
        arrays = (self.partitions[rows], self.is_effective[rows], self.metadata_bytes[rows])
        coded = (self.topics, self.topic_ids, self.begin_causes, self.end_causes)
        return OffsetNumbers(numbers, *arrays, *(each.slice(rows) for each in coded))
