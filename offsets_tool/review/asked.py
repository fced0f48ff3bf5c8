"""The scope of a review: groups and topics by name, and a range of times or log offsets. The whole log is replayed anyway."""

from collections.abc import Sequence
from typing import NamedTuple

from offsets_tool.as_of.selection import Range, Wanted
from offsets_tool.evidence.filters import EVERYTHING, Filters, wanted_of
from offsets_tool.evidence.moments.moment_texts import Clock, parse_bound
from offsets_tool.findings.rows import Finding
from offsets_tool.rebalances.rows import RebalanceRow
from offsets_tool.rows import NO_TIMESTAMP
from offsets_tool.story.sentence import Sentence
from offsets_tool.story.story import Within


class ReviewAsked(NamedTuple):
    """The names and the range by which a review chooses findings and sentences."""

    wanted: Wanted = Wanted()
    range: Filters = EVERYTHING
    """Only its range counts; names are those of `wanted`."""

    @property
    def is_of_log(self) -> bool:
        """Whether the review is about the whole log: no option names a group or topic."""
        return not self.wanted.groups and not self.wanted.topics

    def shows(self, finding: Finding) -> bool:
        """Return whether a finding is about wanted groups and topics, and held at some time of the range."""
        return self.is_about(finding) and self.is_within(finding)

    def is_about(self, finding: Finding) -> bool:
        """Return whether a finding is about wanted groups and topics, at any time."""
        if self.wanted.groups and finding.group not in self.wanted.groups:
            return False
        if self.wanted.topics and finding.topic not in self.wanted.topics:
            return False
        return self.wanted.partition is None or finding.partition in (None, self.wanted.partition)

    def is_within(self, finding: Finding) -> bool:
        """Return whether a finding held at some time of the range, whatever it is about."""
        within = self.range.range_of(finding.log_partition)
        return within is not None and _overlaps(within, finding)

    def within(self, log_partition: int | None) -> Within:
        """Return a function that says whether a record of a log partition, by its time and offset, is in the range."""
        found = self.range.range_of(log_partition)
        return (lambda at, log_offset: False) if found is None else found.has

    def shows_rebalance(self, row: RebalanceRow) -> bool:
        """Return whether a rebalance is of a wanted group or topic, and began or ended in the range."""
        # Names first: a note on a missing name must not name one that only the range leaves out.
        if self.wanted.topics and not self.wanted.topics.meet(row.topics):
            return False
        within = self.range.range_of(row.log_partition)
        if within is None:
            return False
        ends = ((row.from_at, row.from_log_offset), (row.to_at, row.to_log_offset))
        return any(
            log_offset is not None and within.has(NO_TIMESTAMP if at is None else at, log_offset)
            for at, log_offset in ends
        )

    def shows_sentence(self, sentence: Sentence) -> bool:
        """Return whether a sentence about no group is in the range."""
        at = NO_TIMESTAMP if sentence.at is None else sentence.at
        return self.within(sentence.log_partition)(at, sentence.log_offset)


def asked_about(
    clock: Clock,
    *,
    group: str | Sequence[str] | None = None,
    topic: str | Sequence[str] | None = None,
    partition: int | None = None,
    since: str | None = None,
    until: str | None = None,
) -> ReviewAsked:
    """Return the ReviewAsked for texts of options, with times in the zone of `clock`; UsageError for an unreadable one."""
    given = [() if text is None else (text,) for text in (since, until)]
    bounds = [parse_bound(text, name, clock) for text, name in zip(given, ("since", "until"), strict=True)]
    groups, topics = ((each,) if isinstance(each, str) else tuple(each or ()) for each in (group, topic))
    return ReviewAsked(wanted_of(groups, topics, partition), Filters(since=bounds[0], until=bounds[1]))


def _overlaps(within: Range, finding: Finding) -> bool:
    """Return whether a finding overlaps the range in offsets and time; one without an end still lasts."""
    since, until = within.times
    begins = finding.to_at if finding.from_at is None else finding.from_at
    is_timed = since is not None or until is not None
    if is_timed and begins is None:
        return False
    is_late = until is not None and begins is not None and begins >= until
    is_over = since is not None and finding.to_at is not None and finding.to_at < since
    return not (is_late or is_over) and Range(offsets=within.offsets).has(0, finding.log_offset)
