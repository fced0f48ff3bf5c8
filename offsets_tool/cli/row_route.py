"""Evidence replayed by rows through the fast lane, where it can be had and pays: what comes of it is the same, only sooner.

Nobody can watch the events of such a replay: commands that show a state take this route, those that tell a history do not.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from offsets_tool.as_of.snapshot import Moment
from offsets_tool.cli.reading import Reading
from offsets_tool.columns.lane.availability import why_not
from offsets_tool.evidence.sources import Source

if TYPE_CHECKING:
    from offsets_tool.columns.reading import RowsRead


ROWS_FROM = 4 << 20
"""Bytes of segments from which loading the lane pays."""


def rows_pay(sources: list[Source]) -> bool:
    """Whether all is segments, and the lane is to be had and worth loading."""
    segments = all(source.segment is not None for source in sources)
    return segments and sum(source.size for source in sources) >= ROWS_FROM and why_not() is None


class RowRoute:
    """One pass by rows over the sources of a reading."""

    def __init__(self, reading: Reading, *, counted: bool = True) -> None:
        """`counted=False` when the ledgers have the records already."""
        from offsets_tool.columns.reading import RowReader  # noqa: PLC0415 - with Arrow, where it pays

        self._reading = reading
        self._counted = counted
        self._reader = RowReader()

    def again(self) -> "RowRoute":
        """The same sources once more."""
        return RowRoute(self._reading, counted=False)

    def rows(self, source: Source) -> "Iterator[RowsRead]":
        """The rows of a segment."""
        return self._reading.rows(source, self._reader, counted=self._counted)

    def replay(
        self, moment: Moment, log_partition: int | None, begins: int, reads: "Iterator[RowsRead]"
    ) -> None:
        """Replays one partition."""
        from offsets_tool.columns.replay.snapshot import replay_read  # noqa: PLC0415 - likewise

        replay_read(moment, log_partition, reads, begins=begins)
