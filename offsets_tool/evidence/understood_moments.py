"""Notes how the text of a moment was understood, where that is not plain: the place 12:31 looks like a time of day too.

A place that looks like a time is refused where the evidence has no such place. It reads the partition only up to the first record
that is as far: no place that looks like a time is beyond offset 59. moment_texts knows which texts look like a time.
"""

from collections.abc import Iterator

from offsets_tool.errors import UsageError
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.filters import Filters
from offsets_tool.evidence.moments.moment_texts import Bound, Clock, OffsetInLog, with_day
from offsets_tool.evidence.partition_logs import uncounted
from offsets_tool.evidence.sources import Source


def note_moment(evidence: Evidence, bound: Bound, option: str, clock: Clock) -> str | None:
    """Note what the text of an option was taken for, where that is not plain; return it too where it is a place.

    UsageError for a place that looks like a time of day, if the evidence has no such place.
    """
    if bound.note is not None:
        evidence.note(bound.note)
    if bound.clock_text is None:
        return None
    place = bound.places[0]
    lacking = _lacking(place, evidence.sources)
    as_time = f"as a time of day it lacks the day; write {with_day(bound.clock_text, clock)}"
    where = f"offset {place.log_offset} of partition {place.log_partition}"
    if lacking is not None:
        raise UsageError(f"{option} {bound.clock_text}: as a place it is {where}, {lacking}; {as_time}")
    said = f"{option} {bound.clock_text} is {where}, not a time of day"
    evidence.note(f"{said}; for a time write {with_day(bound.clock_text, clock)}")
    return said


def note_range(evidence: Evidence, filters: Filters, clock: Clock) -> list[str]:
    """Note what --since and --until were taken for, and which places are not here; return those that look like times of day.

    UsageError as of `note_moment`.
    """
    bounds = (("--since", filters.since), ("--until", filters.until))
    said = [note_moment(evidence, bound, option, clock) for option, bound in bounds]
    for text in _elsewhere(filters, evidence.sources):
        evidence.note(text)
    return [text for text in said if text is not None]


def _elsewhere(filters: Filters, sources: list[Source]) -> Iterator[str]:
    """Yield a note for each place whose partition no source has; none where archives are, whose rows alone say their partition."""
    if any(source.log_partition is None and source.is_archive for source in sources):
        return
    here = {source.log_partition for source in sources}
    unnumbered = "; --log-partition tells the number of files that do not say it" if None in here else ""
    for option, bound in (("--since", filters.since), ("--until", filters.until)):
        for number, log_offset in bound.places:
            if number not in here:
                yield f"{option} {number}:{log_offset}: partition {number} is not in this evidence{unnumbered}"


def _lacking(place: OffsetInLog, sources: list[Source]) -> str | None:
    """Return why the evidence does not have the place; None if it does."""
    end = _end(place, sources)
    if end is None:
        return "which is not in this evidence"
    return None if end >= place.log_offset else f"which ends at {end} in this evidence"


def _end(place: OffsetInLog, sources: list[Source]) -> int | None:
    """Return the offset after the last record of the place's partition, or any beyond the place; None without the partition."""
    end = None
    for source in sources:
        if source.log_partition not in (None, place.log_partition):
            continue
        if source.log_partition is not None:
            end = end or 0
        for event in uncounted(source):
            if event.record.log_partition == place.log_partition:
                end = max(end or 0, event.record.log_offset + 1)
            if end is not None and end >= place.log_offset:
                return end
    return end
