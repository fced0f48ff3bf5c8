"""Notes on what options ask for and a command does not show: why not, and what to ask instead.

A name may be mistyped, belong to another partition of the log, or to another time: an empty answer alone does not say which. The
evidence is read a second time to find out, only if there is such a name. Where none explains it, options are compared with ledgers.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import chain
from typing import Final

from offsets_tool.as_of.selection import NameFilter, Wanted, exact_text, is_pattern
from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.as_of.views_describe import appears_later
from offsets_tool.cli.texts import quoted
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.filters import Filters, offsets_here, span_text, unreached
from offsets_tool.evidence.moments.moment_notes import number_text, offset_text
from offsets_tool.evidence.nearest import nearest
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.evidence.source_names import SourceNames
from offsets_tool.evidence.sources import Source
from offsets_tool.history.rows import GroupEndCause, GroupHistoryRow
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.placement import Homes, find_homes, partition_for
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.time_texts import shown_time
from offsets_tool.wire.text import from_shown, in_cell

_NAMED: Final = 3
"""How many names get a note of their own where a pattern matches many."""

_NOBODY: Final = "nothing in this evidence has this name"

WhyNot = Callable[[str, SourceNames], str]
"""From a group that the evidence has to a sentence that says why the command shows nothing of it."""


class AbsentNames:
    """The names in a command's options, and notes on those that it does not show."""

    def __init__(
        self, wanted: Wanted, sources: list[Source], where: str, why: WhyNot, partitions: int | None = None
    ) -> None:
        """Take the wanted names; `where` names the moment, as in " at that moment", or is empty; `partitions` is --partitions."""
        self._wanted = wanted
        self._sources = sources
        self._where = where
        self._why = why
        self._partitions = partitions

    @cached_property
    def _here(self) -> SourceNames:
        return SourceNames(self._sources)

    def notes(self, is_shown: bool) -> Iterator[str]:
        """Yield all notes, one sentence each; `is_shown` says whether the command showed anything at all."""
        yield from self.groups()
        yield from self.topics()
        names = (*self._wanted.groups.texts, *self._wanted.topics.texts)
        if names and not is_shown and not self._wanted.groups.missing and not self._wanted.topics.missing:
            yield from self._together()
        yield from self.others()

    def others(self) -> Iterator[str]:
        """Yield a note for each text that is a name and, read as a pattern, matches other names too."""
        yield from _also_others(self._wanted.groups, "group")
        yield from _also_others(self._wanted.topics, "topic")

    def groups(self) -> Iterator[str]:
        """Yield a note for each text of --group that matches no group that is shown."""
        for text in self._wanted.groups.missing:
            yield from self._group(text)

    def topics(self) -> Iterator[str]:
        """Yield a note for each text of --topic that matches no topic that is shown."""
        topics = self._wanted.topics
        for text in topics.missing:
            if any(topics.means(text, topic) for topic in self._here.topics):
                of = " of the group(s) asked for" if self._wanted.groups else ""
                yield (
                    f"topic '{text}' is in this evidence, but nothing{of} is committed for it{self._where}; "
                    "ask for it with fewer options"
                )
            else:
                yield f"topic '{text}' is not there{self._where}: {_NOBODY}{_near(text, self._here.topics)}"

    def _group(self, text: str) -> Iterator[str]:
        meant = [group for group in self._here.groups if self._wanted.groups.means(text, group)]
        for group in sorted(meant)[:_NAMED]:
            yield self._why(group, self._here)
        if len(meant) > _NAMED:
            yield f"{len(meant) - _NAMED} more group(s) that '{text}' matches are not shown either"
        if not meant:
            home = "" if is_pattern(text) else f"; {self._home(text)}"
            yield f"group '{text}' is not there{self._where}: {_NOBODY}{_near(text, self._here.groups)}{home}"

    def _home(self, text: str) -> str:
        name = from_shown(text)
        if self._partitions is None:
            homes = find_homes(name, self._here.partition_counts(), len(self._here.groups))
        else:
            homes = Homes(
                {self._partitions: partition_for(name, self._partitions)}, "as many as --partitions says"
            )
        places = list(dict.fromkeys(homes.of.values()))
        here = [number for number in places if number in self._here.log_partitions]
        which = "which is in" if len(here) == len(places) else f"of which {_either(here)} is in"
        is_here = f"{which if here else 'which is not in'} this evidence"
        return (
            f"of {_either(homes.of)} partitions it lives in {_either(places)}, {is_here} ({homes.shown_by})"
        )

    def _together(self) -> Iterator[str]:
        """Yield a note where the evidence has all the names, but no record that matches all of them at once."""
        partition, topics = self._wanted.partition, self._wanted.topics
        for topic, known in self._here.topics.items():
            if partition is not None and topic in topics and partition not in known:
                yield f"topic {quoted(topic)} has no partition {partition} in this evidence: it has {_span(known)}"
                return
        spoken = [
            f"group {quoted(g)} from {_stretch(g, self._here)}"
            for g in self._here.groups
            if g in self._wanted.groups
        ]
        of = f": there is {', '.join(spoken[:_NAMED])}" if spoken else ""
        yield f"nothing{self._where} matches all that was asked for together{of}; ask for less"


def _either(numbers: Iterable[int]) -> str:
    return " or ".join(map(str, numbers))


def _near(text: str, names: Collection[str]) -> str:
    near = nearest(text, names)
    return f"; nearest: {', '.join(map(quoted, near))}" if near else ""


def _stretch(group: str, here: SourceNames) -> str:
    at = here.groups[group]
    return f"{offset_text(at.log_partition, at.first)} to {offset_text(at.log_partition, at.last)}"


def _span(partitions: set[int]) -> str:
    return str(min(partitions)) if len(partitions) == 1 else f"{min(partitions)} to {max(partitions)}"


def _also_others(names: NameFilter, kind: str) -> Iterator[str]:
    """Yield a note for each text that is a name and also matches others, as a pattern or as a table would show them."""
    for text in names.texts:
        meant = [name for name in names.looked_for if names.means(text, name)]
        if len(meant) > 1 and not is_pattern(text):
            yield (
                f"{kind} {text} is there, and tables show another name the same way, which matches too; "
                f"write {in_cell(text)} for it alone"
            )
        elif text in meant and len(meant) > 1:
            yield (
                f"{kind} '{text}' is there, and as a pattern it matches {len(meant) - 1} other(s) too; "
                f"write '{exact_text(text)}' for it alone"
            )


def nobody(option: str, names: NameFilter) -> Iterator[str]:
    """Yield a note for each text of --member or --instance that matches no record among those that the other options choose."""
    for text in names.missing:
        yield f"{option} '{text}': no member of what is asked for has this name{_near(text, names.looked_for)}"


def passed_over(group: str, here: SourceNames) -> str:
    """Return a note that a group has records, but that the options of a command that shows records leave all of them out."""
    return (
        f"group {quoted(group)} has records from {_stretch(group, here)}, and the other options leave all of them out; "
        "widen those options"
    )


def why_not_at_moment(replay: EvidenceReplay) -> WhyNot:
    """Return a function that says why a moment does not show a group: deleted before, created later, or in a partition left out."""
    where = moment_phrase(replay.snapshot)

    @cache
    def deletions(there: EvidenceReplay) -> dict[str, GroupHistoryRow]:
        rows = chain.from_iterable(histories.rows(GroupHistoryRow) for histories in there.histories())
        return {row.group: row for row in rows if row.end_cause == GroupEndCause.DELETED}

    def why(group: str, here: SourceNames) -> str:
        at = here.groups[group]
        there = replay.reading({at.log_partition})
        moment = there.snapshot
        is_named = moment.as_of.ends is None or at.log_partition in moment.as_of.ends
        if any(group in p.state.groups for p in moment):
            return f"group {quoted(group)} is there{where}, but has nothing that this command shows of it"
        absent = f"group {quoted(group)} is not there{where}"
        if not is_named:
            return f"{absent}: partition {number_text(at.log_partition)}, where it lives, counts as empty; name its end too"
        if (gone := deletions(there).get(group)) is not None:
            return f"{absent}: it was deleted at {_end(gone)}; choose an earlier {replay.option}"
        if (later := appears_later(moment, group)) is not None:
            return f"{absent}: its first record is {offset_text(*later)}; choose a later {replay.option}"
        return f"{absent}: its records, {_stretch(group, here)}, leave nothing; `offsets-tool history` shows what happened"

    return why


def _end(row: GroupHistoryRow) -> str:
    assert row.to_log_offset is not None and row.to_timestamp is not None
    return f"{offset_text(row.log_partition, row.to_log_offset)} ({shown_time(row.to_timestamp) or 'no timestamp'})"


def absent_at_moment(replay: EvidenceReplay, wanted: Wanted, what: str, *, is_shown: bool) -> Iterator[str]:
    """Yield the notes of a command that shows a moment: on names without rows, or that the log has no `what` at all."""
    where = moment_phrase(replay.snapshot)
    yield from AbsentNames(wanted, replay.evidence.all_sources, where, why_not_at_moment(replay)).notes(
        is_shown
    )
    if not (is_shown or wanted.groups or wanted.topics):
        yield from nothing_at_moment(replay.snapshot, what, where)


def absent_in_range(
    replay: EvidenceReplay, asked: ReviewAsked, what: str, kinds: Iterable[str] = (), option: str = ""
) -> Iterator[str]:
    """Yield notes on why no `what` is shown: names without any, a range or `kinds` that leave all out, or a log without any.

    `kinds` are the values of `option`, which also chooses.
    """
    chosen, is_shown = list(kinds), replay.evidence.has_shown
    is_narrow = asked.range.is_active or bool(chosen)
    yield from absent_at_moment(replay, asked.wanted, what, is_shown=is_shown or is_narrow)
    # Where the log has no record, the notes on the moment say so already.
    if is_narrow and any(entry.records for entry in replay.evidence.ledgers):
        filters = replace(asked.range, groups=asked.wanted.groups, topics=asked.wanted.topics)
        yield from nothing_of(filters, replay.evidence, chosen, option, replay.dated_ledgers())


def moment_phrase(moment: Snapshot) -> str:
    """Return a phrase that names a moment at the end of a sentence, with a space before it: " at that moment"."""
    return " at the end of this log" if moment.as_of.is_end else " at that moment"


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
