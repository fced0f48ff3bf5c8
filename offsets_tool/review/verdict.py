"""The verdict on an evidence: its groups, the worst first, findings about no group, and the limits of both."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot
from offsets_tool.evidence.findings.finding import LogFindings
from offsets_tool.findings.rows import Finding, Severity
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.coverage import RecordsReach
from offsets_tool.rows import Row
from offsets_tool.story.limits import coverage_sentences
from offsets_tool.story.sentence import when
from offsets_tool.story.shapes import NO_EVENTS, group_events
from offsets_tool.story.verdict import (
    GroupLag,
    Matter,
    Ranked,
    group_headline,
    log_headline,
    matters,
    ranked_group,
    ranking,
)

_NOTICES: Final = 5
"""How many kinds of notices are told where there is nothing worse."""


class OtherGroups(NamedTuple):
    """Groups of which only the findings are known, because reading the state of each would take too long."""

    number: int = 0
    findings: Sequence[Finding] = ()
    """Those of the worst group first."""


class Verdict(NamedTuple):
    """The findings of an evidence by group, and what they rest on."""

    ranked: list[Ranked]
    """The groups that are wanted, the worst first: all but the `others`."""
    of_log: list[Finding]
    """Findings about no group."""
    coverage: list[str]
    """From where on the evidence is complete, in sentences."""
    others: OtherGroups = OtherGroups()
    """Groups that rank behind these."""
    reach: RecordsReach = RecordsReach()
    """Whether the records reach the range that was asked for."""

    @property
    def groups(self) -> int:
        """How many wanted groups the evidence has."""
        return len(self.ranked) + self.others.number

    @property
    def findings(self) -> list[Finding]:
        """All findings, those about no group first."""
        of_groups = (each for ranked in self.ranked for each in ranked.findings)
        return [*self.of_log, *of_groups, *self.others.findings]

    @property
    def headline(self) -> str:
        """The verdict on the whole log, in one sentence."""
        return log_headline(self.findings, self.groups, self.reach.unreached())

    def headline_of(self, ranked: Ranked) -> str:
        """Return the verdict on one of the groups, in one sentence."""
        return group_headline(
            ranked.group, ranked.findings, self.reach.of([ranked.log_partition]).unreached()
        )

    def headlines(self, wanted: Wanted) -> list[str]:
        """Return the verdict on each group that was asked for by name; on the whole log where none was."""
        if not wanted.groups:
            return [self.headline]
        return [self.headline_of(each) for each in self.ranked]


def loud_and_quiet(findings: Iterable[Finding]) -> tuple[list[Matter], list[Finding]]:
    """Return the matters that have sentences, and the notices that are only counted; without other matters, some notices too."""
    every = matters(findings)
    loud = [each for each in every if each.severity != Severity.NOTICE] or every[:_NOTICES]
    return loud, [finding for matter in every if matter not in loud for finding in matter.findings]


def verdict_of(found: LogFindings, moment: Snapshot, asked: ReviewAsked) -> Verdict:
    """Return the verdict on wanted groups at the moment of the findings; where these know ends, with how far groups are behind."""
    lags, words = _lags(found.with_lag), moment_words(moment)
    ranked = ranking(
        ranked_group(
            rows,
            filter(asked.shows, findings),
            words,
            found.bytes_of(rows),
            lags.get(rows.group),
            events=group_events(rows, asked.wanted) if asked.wanted.groups else NO_EVENTS,
        )
        for rows, findings in found.groups(asked.wanted)
    )
    here = {each.log_partition for each in ranked if asked.wanted.groups}
    reach = RecordsReach(found.ledgers, asked.range).of(here)
    partitions = [each for each in moment if not here or each.log_partition in here]
    return Verdict(
        ranked,
        findings_here(found.of_log, asked, here),
        reach.coverage(coverage_sentences(partitions)),
        reach=reach,
    )


def moment_words(moment: Snapshot, here: PartitionSnapshot | None = None) -> str:
    """Return a phrase that names a moment at the begin of a sentence; `here` is the log partition that the sentence is about."""
    as_of = moment.as_of
    if moment.is_after_records:
        return f"At the end of the records, {when(moment.newest_timestamp)}"
    if as_of.time is not None:
        return f"At {when(as_of.time)}"
    if not as_of.is_end:
        return f"At {here.log_partition}:{here.end}" if here is not None else "At that moment"
    return f"At the end of the log, {when(moment.newest_timestamp)}"


def findings_here(
    of_log: Iterable[Finding], asked: ReviewAsked, here: Collection[int | None]
) -> list[Finding]:
    """Return the findings about no group that a verdict shows; `here` are the log partitions of the wanted groups.

    These are all in the range where no group is named, else those about these log partitions.
    """
    is_anywhere = not asked.wanted.groups
    return [each for each in of_log if asked.is_within(each) and (is_anywhere or each.log_partition in here)]


def _lags(rows: Iterable[Row]) -> dict[str, GroupLag]:
    """Return how far groups are behind, by offsets with their lag."""
    by_group: dict[str, list[Row]] = {}
    for row in rows:
        if row["lag"] is not None or row["beyond_end"]:
            by_group.setdefault(row["group"], []).append(row)
    return {group: _lag(of_group) for group, of_group in by_group.items()}


def _lag(rows: list[Row]) -> GroupLag:
    lags = [row["lag"] for row in rows if row["lag"] is not None]
    beyond = {f"{row['topic']}-{row['partition']}": row["beyond_end"] for row in rows if row["beyond_end"]}
    return GroupLag(sum(lags) if lags else None, len(lags), tuple(beyond), max(beyond.values(), default=0))
