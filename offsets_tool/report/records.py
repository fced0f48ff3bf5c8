"""The appendix of a page: the records that it names, each decoded, with its bytes and its position."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from markupsafe import Markup

from offsets_tool.events import Event
from offsets_tool.report.bounds import RECORDS_SIZE, within
from offsets_tool.report.links import record_anchor
from offsets_tool.report.texts import event_text, hex_dump
from offsets_tool.review.citations import Citations

_AROUND: Final = 900
"""Characters of markup around what a record says."""


class ShownRecord(NamedTuple):
    """One log offset of the appendix, with its records: several where copies differ."""

    place: str
    anchor: str
    events: list["ShownEvent"]

    @property
    def size(self) -> int:
        """How many characters it takes in the page."""
        return sum(len(each.text) + len(each.key) + len(each.value) + _AROUND for each in self.events)


class ShownEvent(NamedTuple):
    """One record in the form that one source has."""

    event: Event
    kind: str
    text: Markup
    key: Markup
    value: Markup

    @property
    def where(self) -> str:
        """The position of the record's batch in its file, as the end of a phrase; empty for a record without a batch."""
        batch = self.event.record.batch
        return "" if batch is None else f", in the batch at byte {batch.position:,}"


def shown_records(cited: Citations) -> list[ShownRecord]:
    """Return the records that a page has room for, in the order of the log; the most important are chosen first."""
    chosen = within(_all(cited), lambda each: each.size, RECORDS_SIZE)
    return sorted(chosen, key=lambda each: _order(each.place))


def _all(cited: Citations) -> Iterator[ShownRecord]:
    for place, events in cited.records.items():
        yield ShownRecord(place, record_anchor(place), [_shown(each) for each in events])


def _order(place: str) -> tuple[int, int]:
    number, _, log_offset = place.rpartition(":")
    return int(number or -1), int(log_offset)


def _shown(event: Event) -> ShownEvent:
    record = event.record
    return ShownEvent(event, _kind(event), event_text(event), hex_dump(record.key), hex_dump(record.value))


def _kind(event: Event) -> str:
    if event.control is not None:
        return f"{event.control.type} marker"
    kind = event.key.type.name if event.key else f"type {event.type_id}"
    return f"{kind}, tombstone" if event.tombstone else kind
