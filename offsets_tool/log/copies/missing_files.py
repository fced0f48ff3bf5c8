"""Files that a copy of a log lacks: offsets between two of its segments, though nothing shows that a cleaner took them.

A segment begins where the one before it ended. A cleaner leaves gaps between segments, as it writes several into one, and so does
fetching from a leader that was cleaned; but then records are missing inside of segments too. Source: UnifiedLog.roll,
Cleaner.groupSegmentsBySize.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from offsets_tool.rows import Batch, Codec


class MissingOffsets(NamedTuple):
    """Offsets `start` up to but not including `end` that a missing file had."""

    start: int
    end: int


@dataclass(slots=True)
class FileExtent:
    """The offsets of a segment, from the base offset in its name to the end of its last batch, and its number of records."""

    base_offset: int
    end: int = 0
    records: int = 0
    is_counted: bool = True
    """Whether `records` are all: headers of compressed batches before magic 2 do not say how many they have."""

    def observe(self, batch: Batch) -> None:
        """Observe a batch of the segment by its header."""
        self.end = max(self.end, batch.last_offset + 1)
        self.records += batch.count
        self.is_counted = self.is_counted and (batch.magic > 1 or batch.codec is Codec.NONE)

    @property
    def is_cleaned(self) -> bool:
        """Whether records are missing inside of the segment, which means that the cleaner removed them."""
        return self.is_counted and self.base_offset + self.records < self.end


def missing_files(files: Iterable[FileExtent], cleaned_to: int | None) -> tuple[MissingOffsets, ...]:
    """Return the offsets that missing files had, given all segments of a copy and the first offset its cleaner had not reached.

    None are known of a copy that lacks records inside of a segment: it was cleaned, or has what its leader's cleaner had left.
    """
    found, rising = [], sorted(files, key=attrgetter("base_offset"))
    if any(file.is_cleaned for file in rising):
        return ()
    reached = max(cleaned_to or 0, rising[0].base_offset) if rising else 0
    for file in rising:
        if reached < file.base_offset:
            found.append(MissingOffsets(reached, file.base_offset))
        reached = max(reached, file.base_offset, file.end)
    return tuple(found)
