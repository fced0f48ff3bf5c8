"""Notes on why a command shows nothing, where no missing name explains it.

Compares the options with the ledgers of the evidence. Notes on missing names come from absent_names.
"""

from collections.abc import Iterable, Iterator, Sequence

from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.filters import Filters, offsets_here, span_text, unreached
from offsets_tool.log.ledger import LedgerEntry


def nothing_of(
    filters: Filters,
    evidence: Evidence,
    kinds: Iterable[str],
    option: str,
    files: Sequence[LedgerEntry] | None = None,
) -> Iterator[str]:
    """Yield notes on why a command that shows records or changes shows none; nothing where it has shown some.

    `filters` have the range that was asked for; `kinds` are the values of `option`, which also chooses records or changes;
    `files` are those of the evidence, where their times are not what single records say.
    """
    if evidence.has_shown:
        return
    if not any(entry.records for entry in evidence.ledgers):
        # A partition that is missing as a whole has a note already.
        yield from ["this evidence has no record at all"] if evidence.ledgers else []
        return
    yield from _elsewhere(filters, evidence.ledgers if files is None else files)
    if asked := ", ".join(kinds):
        is_more = any((*filters.wanted, filters.since.is_given, filters.until.is_given))
        of = "of what the other options leave, none" if is_more else "none here"
        yield f"nothing is shown: {of} matches {option} {asked}"


def _elsewhere(filters: Filters, files: Sequence[LedgerEntry]) -> Iterator[str]:
    """Yield where the records are, for a range of which nothing is shown; `finish` tells of one without a record."""
    if not (filters.since.is_given or filters.until.is_given) or unreached(filters, files):
        return
    span = span_text(files)
    if span and (filters.since.time is not None or filters.until.time is not None):
        yield f"nothing is shown: {span}"
    for text in offsets_here(filters, files):
        yield f"nothing is shown: {text}"


def nothing_at_moment(moment: Snapshot, what: str, where: str) -> Iterator[str]:
    """Yield a note that there is no `what` at a moment, for a command that shows nothing though no name was asked for.

    `where` names the moment, with a space before it.
    """
    has_records = any(p.coverage.first_offset is not None for p in moment)
    begins_later = moment.as_of.time is not None and moment.newest_timestamp is None
    # Where the log has no record, or none yet, the notes on the moment say so already.
    if has_records and not begins_later:
        is_unread = any(p.unread_records for p in moment)
        yield f"nothing is shown: there is no {what}{' that is known' if is_unread else ''}{where}"
