"""Yields the rows of a partition's histories from all its replayed events, without saving any state.

Knows nothing of where events come from; history.history decides what a row is.
"""

from collections.abc import Iterable, Iterator

from offsets_tool.events import Event
from offsets_tool.history.history import History
from offsets_tool.history.owners import NameOf
from offsets_tool.history.rows import HistoryRow
from offsets_tool.replay.changes import Change


def replayed_rows(
    replayed: Iterable[tuple[Event, tuple[Change, ...]]], name_of: NameOf
) -> Iterator[HistoryRow]:
    """Yield all rows of the histories of one partition: those that ended in their order, then those that still hold."""
    history = History(name_of)
    for event, changes in replayed:
        history.observe_record(event.record.log_offset)
        for change in changes:
            yield from history.observe_change(change)
    yield from history.flush()
    yield from history.open_rows()
