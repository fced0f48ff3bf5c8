"""Sentences on what happened: to one group with its state, or to all groups and log partitions in the order of time."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.evidence.findings.finding import GroupFindings, LogFindings
from offsets_tool.findings.rows import Finding
from offsets_tool.findings.sentences import named
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.coverage import RecordsReach
from offsets_tool.review.verdict import moment_words
from offsets_tool.server_log.join import ServerLog
from offsets_tool.story.broker_loads import with_loads
from offsets_tool.story.limits import coverage_sentences, unsaid
from offsets_tool.story.sentence import Sentence
from offsets_tool.story.shapes import GroupEvents, group_events
from offsets_tool.story.state import state_sentences
from offsets_tool.story.story import GroupStory
from offsets_tool.story.timeline import in_time, of_log


class ExplainedGroup(NamedTuple):
    """The story of one group, its state at a moment, and the limits of both."""

    group: str
    log_partition: int | None
    events: GroupEvents
    """When it committed and rebalanced."""
    story: list[Sentence]
    state: list[str]
    coverage: list[str]
    unsaid: str

    @property
    def title(self) -> str:
        """The title of the story, in one line."""
        number = self.log_partition
        of = "" if number is None else f"partition {number} of __consumer_offsets, "
        return f"What happened to group {named(self.group)} ({of}times in UTC)"


def explained_group(
    found: LogFindings, group: GroupFindings, moment: Snapshot, asked: ReviewAsked
) -> ExplainedGroup:
    """Return the story of a group of `found` up to a moment, of the wanted topics, with its state and limits.

    The range of `asked` cuts nothing off: where no record is from it, the limits do not call the records complete.
    """
    rows, wanted, server_log = group.rows, asked.wanted, found.server_log
    reach = RecordsReach(found.ledgers, asked.range).of([rows.log_partition])
    here = [each for each in moment if each.log_partition == rows.log_partition]
    return ExplainedGroup(
        rows.group,
        rows.log_partition,
        group_events(rows, wanted),
        with_loads(GroupStory(rows, group.findings, wanted, server_log=server_log).sentences(), server_log),
        list(state_sentences(rows, moment_words(moment, here[0] if here else None), wanted)),
        reach.coverage(coverage_sentences(here)),
        unsaid(bool(server_log)),
    )


def timeline_of(found: LogFindings, asked: ReviewAsked, *, is_whole: bool = False) -> list[Sentence]:
    """Return the sentences on all wanted groups in the range, in the order of time; with `is_whole` each commit has its own."""
    stories = _stories(found, asked, is_whole=is_whole)
    return with_loads(in_time(stories), found.server_log)


def _stories(found: LogFindings, asked: ReviewAsked, *, is_whole: bool) -> Iterator[list[Sentence]]:
    if asked.is_of_log:
        yield log_story(found.of_log, asked)
    for group in found.groups(asked.wanted):
        yield group_story(group, asked, found.server_log, is_whole=is_whole)


def log_story(findings: Iterable[Finding], asked: ReviewAsked) -> list[Sentence]:
    """Return the findings about no group that are in the range, as sentences."""
    return [each for each in of_log(findings) if asked.shows_sentence(each)]


def group_story(
    found: GroupFindings, asked: ReviewAsked, server_log: ServerLog, *, is_whole: bool = False
) -> list[Sentence]:
    """Return the sentences on one group in the range, in the order of the log."""
    rows, findings = found
    within = asked.within(rows.log_partition)
    story = GroupStory(rows, findings, asked.wanted, within=within, is_whole=is_whole, server_log=server_log)
    return story.sentences()
