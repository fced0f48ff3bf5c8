"""Notes on why a command shows nothing, where no missing name explains it.

Compares the options with the ledgers of the evidence. Notes on missing names come from absent_names.
"""

from collections.abc import Iterable, Iterator

from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.filters import Filters
from offsets_tool.time_texts import shown_time


def nothing_of(filters: Filters, evidence: Evidence, kinds: Iterable[str], option: str) -> Iterator[str]:
    """Yield notes on why a command that shows records or changes shows none; nothing where it has shown some.

    `filters` have the range that was asked for; `kinds` are the values of `option`, which also chooses records or changes.
    """
    if evidence.has_shown:
        return
    if not any(entry.records for entry in evidence.ledgers):
        # A partition that is missing as a whole has a note already.
        yield from ["this evidence has no record at all"] if evidence.ledgers else []
        return
    backwards = list(_backwards(filters))
    yield from backwards or (*_times(filters, evidence), *_log_offsets(filters, evidence))
    if asked := ", ".join(kinds):
        is_more = any((*filters.wanted, filters.since.is_given, filters.until.is_given))
        of = "of what the other options leave, none" if is_more else "none here"
        yield f"nothing is shown: {of} matches {option} {asked}"


def _backwards(filters: Filters) -> Iterator[str]:
    since, until = filters.since, filters.until
    first, last = (dict(bound.places) for bound in (since, until))
    ends = [(first[number], last[number]) for number in first.keys() & last.keys()]
    if since.time is not None and until.time is not None:
        ends.append((since.time, until.time))
    if any(begin >= end for begin, end in ends):
        yield "nothing is shown: --since is not before --until"


def _times(filters: Filters, evidence: Evidence) -> Iterator[str]:
    if filters.since.time is filters.until.time is None:
        return
    first = [entry.min_timestamp for entry in evidence.ledgers if entry.min_timestamp is not None]
    last = [entry.max_timestamp for entry in evidence.ledgers if entry.max_timestamp is not None]
    if first and last:
        yield f"nothing is shown: the records here are from {shown_time(min(first))} to {shown_time(max(last))}"


def _log_offsets(filters: Filters, evidence: Evidence) -> Iterator[str]:
    for number in sorted(filters.log_partitions()):
        of = [entry for entry in evidence.ledgers if entry.log_partition == number]
        first = [entry.first_offset for entry in of if entry.first_offset is not None]
        last = [entry.last_offset for entry in of if entry.last_offset is not None]
        if first and last:
            yield f"nothing is shown: partition {number} is here from offset {min(first)} to {max(last)}"


def nothing_at_moment(moment: Snapshot, what: str, where: str) -> Iterator[str]:
    """Yield a note that there is no `what` at a moment, for a command that shows nothing though no name was asked for.

    `where` names the moment, with a space before it.
    """
    has_records = any(p.coverage.first_offset is not None for p in moment)
    begins_later = moment.as_of.time is not None and moment.newest_timestamp is None
    # Where the log has no record, or none yet, the notes on the moment say so already.
    if has_records and not begins_later:
        yield f"nothing is shown: there is no {what}{where}"
