"""`offsets-tool history`: what happened to groups, members and committed offsets, change by change."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Final, NamedTuple

import click

from offsets_tool.as_of.selection import NameFilter, Wanted
from offsets_tool.cli.filter_options import clock_of, offset_options, parse_range, parse_wanted, range_options
from offsets_tool.cli.moment_options import coordinator_option, copies_options
from offsets_tool.cli.not_shown import AbsentNames, nobody, nothing_of, passed_over
from offsets_tool.cli.opening import open_replay
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note_all
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.cli.texts import json_text
from offsets_tool.errors import UsageError
from offsets_tool.evidence.filters import Filters
from offsets_tool.evidence.listener import CommandStep, items_during
from offsets_tool.evidence.moments.moment_notes import gaps, offset_text
from offsets_tool.evidence.moments.moment_texts import Clock
from offsets_tool.evidence.partition_histories import PartitionHistories
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.history.change_log import Happening, HappeningKind, LinesAsked
from offsets_tool.rebalances.members import client_name
from offsets_tool.replay.changes import OffsetOf
from offsets_tool.rows import Row
from offsets_tool.time_texts import shown_time, time_text

TABLE = PrintedTable.of(
    Column.time("WRITTEN-AT", 1),
    Column.word("LOG", 6),
    Column.name("GROUP", 2),
    Column.name("ABOUT", 4),
    Column.text("WHAT", 3),
    Column.text("BEFORE", 7),
    Column.text("AFTER", 5),
    Column.name("BY", 8),
    Column.number("EPOCH", 9),
)

_EPILOG = """
\b
Examples:
  offsets-tool history /var/lib/kafka/data --group orders --since 2026-11-20T22:00:00Z
  offsets-tool history __consumer_offsets-12 --group orders --topic payments --partition 3
  offsets-tool history backup.tar.gz | jq 'select(.what == "rewind")'
  offsets-tool history /var/lib/kafka/data --instance worker-7 --kind members
"""


class Asked(NamedTuple):
    """The options that choose which happenings are shown; they do not limit what is replayed."""

    wanted: Wanted
    range: Filters
    kinds: frozenset[str]
    members: NameFilter
    instances: NameFilter

    def shows(self, happening: Happening | memoryview) -> bool:
        """Return whether the options choose this happening, as those of lines; remember which names occur in the log at all."""
        if isinstance(happening, memoryview):
            return True
        # Names before kinds and ranges: a note on a missing name must not name one that only the range leaves out.
        offset = happening.group, happening.topic, happening.partition
        if not (is_about(offset, self.wanted) and self._is_by(happening)):
            return False
        if self.kinds and happening.kind not in self.kinds:
            return False
        within = self.range.range_of(happening.log_partition)
        return within is not None and within.has(happening.timestamp, happening.log_offset)

    def wanted_in(self, log_partition: int | None) -> "_Wanted":
        """Return what the options may choose of a log partition."""
        return _Wanted(self, log_partition)

    def _is_by(self, happening: Happening) -> bool:
        if self.instances and happening.instance_id not in self.instances:
            return False
        names = (happening.member_id, *happening.joined, *happening.left)
        return not self.members or self.members.meet(names)


def is_about(offset: tuple[str | None, str | None, int | None], wanted: Wanted) -> bool:
    """Return whether names choose what happened to a group, or to an offset of it in a topic and partition.

    They remember which of them occur.
    """
    group, topic, partition = offset
    if wanted.groups and group not in wanted.groups:
        return False
    if not wanted.topics:
        return True
    return topic is not None and partition is not None and wanted.has_offset(topic, partition)


_MOST_KEPT: Final = 32 << 20
"""So many bytes of lines are kept, at most."""
_OF_ONE: Final = 16 << 10
"""A change of a group, and a happening that is no line, count as so many: they take longer than lines of as many bytes."""


class _Wanted:
    """What may be shown of a log partition: of other commits and groups, no happenings need be made."""

    def __init__(self, asked: Asked, log_partition: int | None) -> None:
        self.asked = asked
        self.log_partition = log_partition
        self.room: int | None = None
        """How many bytes of what is shown are wanted still; None for any number."""
        of = asked.wanted
        # A name that only a tombstone of nothing has is not met.
        self._names = Wanted(NameFilter(of.groups.texts), NameFilter(of.topics.texts), of.partition)

    @property
    def is_any_wanted(self) -> bool:
        return self.room is None or self.room > 0

    def take(self, size: int) -> None:
        if self.room is not None:
            self.room -= size

    def wants_group(self, group: str) -> bool:
        is_wanted = self.asked.wanted.has_group(group)
        self.take(_OF_ONE * is_wanted)
        return is_wanted

    def wants_offset(self, offset: OffsetOf) -> bool:
        is_of_kind = not self.asked.kinds or HappeningKind.OFFSETS in self.asked.kinds
        if not (is_of_kind or self.asked.members or self.asked.instances):
            return False
        return is_about(offset, self._names)

    def meet(self, offset: OffsetOf) -> None:
        is_about(offset, self.asked.wanted)

    @property
    def wants_all_records(self) -> bool:
        # Which members and instances occur is said of the whole log.
        return bool(self.asked.members or self.asked.instances or not self.asked.range.is_active)

    def wants_record(self, timestamp: int, log_offset: int) -> bool:
        if self.wants_all_records:
            return True
        within = self.asked.range.range_of(self.log_partition)
        return within is not None and within.has(timestamp, log_offset)


@click.command("history", epilog=_EPILOG)
@source_options
@copies_options
@coordinator_option
@offset_options
@click.option(
    "--member",
    "members",
    multiple=True,
    metavar="ID",
    help="Only this member, and what it owned; an id or a pattern, as for --group.",
)
@click.option(
    "--instance",
    "instances",
    multiple=True,
    metavar="ID",
    help="Only this group.instance.id, whatever member it is, and what it owned.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice([kind.value for kind in HappeningKind]),
    help="Only changes of this kind.",
)
@range_options
@output_options
def history_command(*, format_: str | None, output_path: str | None, strict: bool, **options: Option) -> None:
    """Show every change that LOG... holds: commits and rewinds, tombstones, transactions, generations, conversions, deletions.

    One row a change, partition by partition in the order of the log: the values before and after it and, for an offset, the
    owner of its partition, by the assignments in force when it was committed (the log does not say who committed). The
    whole log is replayed even where options choose a part of it.
    """
    clock = clock_of(options)
    asked = _parse_asked(options, clock)
    chosen = format_ or default_format(output_path)
    table = TABLE.chosen(chosen, options)
    with open_replay(options, strict=strict, output_path=output_path, is_of_groups=True) as replay:
        replay.note_range(asked.range, clock)
        happenings = HappeningsShown(asked, is_printed=chosen == "jsonl").all(replay)
        note_all(gaps(replay.snapshot))
        replay.show(_rows(replay, happenings, chosen), chosen, table, output_path)
    note_all(_absent(replay, asked))
    replay.finish(asked.range)


def _rows(
    replay: EvidenceReplay, happenings: Iterable[Happening | memoryview], format_: str
) -> Iterator[Row | memoryview]:
    """Yield rows for a format; for JSON lines, commits may be text already."""
    row_of = _json_row if format_ == "jsonl" else _table_row
    for happening in happenings:
        replay.evidence.has_shown = True
        yield happening if isinstance(happening, memoryview) else row_of(happening)


def _absent(replay: EvidenceReplay, asked: Asked) -> Iterator[str]:
    evidence = replay.evidence
    yield from AbsentNames(asked.wanted, evidence.all_sources, "", passed_over).notes(evidence.has_shown)
    if any(entry.records for entry in evidence.ledgers):
        # Where the log has no record, the notes on the moment say so already.
        filters = replace(asked.range, groups=asked.wanted.groups, topics=asked.wanted.topics)
        yield from nothing_of(filters, evidence, sorted(asked.kinds), "--kind")
    yield from nobody("--member", asked.members)
    yield from nobody("--instance", asked.instances)


def _parse_asked(options: Row, clock: Clock) -> Asked:
    wanted = parse_wanted(options)
    kinds = frozenset(options["kinds"])
    if wanted.topics and kinds and not kinds & {HappeningKind.OFFSETS, HappeningKind.ANOMALIES}:
        raise UsageError("--topic is about committed offsets: drop it, or ask for --kind offsets")
    members, instances = NameFilter(options["members"]), NameFilter(options["instances"])
    return Asked(wanted, parse_range(options, clock), kinds, members, instances)


class HappeningsShown:
    """What the options choose of log partitions, of the reading that says what rules and names of topics hold; unless it is much.

    Much would fill memory or a disk: lines take more than the log. Of that, the first come sooner of a second reading.
    """

    def __init__(self, asked: Asked, *, is_printed: bool) -> None:
        """Keep nothing so far; where it `is_printed`, commits may be JSON lines."""
        self._asked = asked
        # Whether a member is asked for is known of a happening only.
        are_lines = is_printed and not (asked.members or asked.instances)
        self._lines = LinesAsked(_json_row, json_text, time_text) if are_lines else None
        self._room = _MOST_KEPT

    def kept(self, histories: PartitionHistories) -> list[Happening | memoryview] | None:
        """Return what is chosen of a partition, in the order of the log; None if it is too much."""
        wanted = self._asked.wanted_in(histories.partition.log_partition)
        chosen: list[Happening | memoryview] = []
        wanted.room = self._room
        for happening in histories.happenings(wanted, self._lines):
            wanted.take(happening.nbytes if isinstance(happening, memoryview) else _OF_ONE)
            if self._asked.shows(happening):
                chosen.append(happening)
        self._room = wanted.room
        return chosen if wanted.is_any_wanted else None

    def all(self, replay: EvidenceReplay) -> Iterator[Happening | memoryview]:
        """Run the replay; return what is chosen of all partitions, one after the other. What was too much is read once more."""
        kept = replay.ask(self.kept)
        if None not in kept:
            return chain.from_iterable(filter(None, kept))
        parts = zip(kept, replay.histories(), strict=True)
        return chain.from_iterable(
            self._again(histories) if rows is None else rows for rows, histories in parts
        )

    def _again(self, histories: PartitionHistories) -> Iterator[Happening | memoryview]:
        wanted = self._asked.wanted_in(histories.partition.log_partition)
        happenings = items_during(CommandStep.REPLAY, histories.happenings(wanted, self._lines))
        return filter(self._asked.shows, happenings)


def _json_row(happening: Happening) -> Row:
    return {"written_at": time_text(happening.timestamp), **happening._asdict()}


def _table_row(happening: Happening) -> Row:
    about = happening.member_id if happening.kind is HappeningKind.MEMBERS else None
    if happening.topic is not None:
        about = f"{happening.topic}-{happening.partition}"
    joined, left = len(happening.joined), len(happening.left)
    moved = f" (+{joined} -{left})" if joined or left else ""
    owner = client_name(happening.instance_id, happening.client_id, happening.member_id)
    epochs = (happening.member_epoch, happening.generation, happening.group_epoch)
    return {
        "written_at": shown_time(happening.timestamp),
        "log": offset_text(happening.log_partition, happening.log_offset),
        "group": happening.group,
        "about": about,
        "what": happening.what + moved if happening.note is None else f"anomaly: {happening.note}",
        "before": _brief(happening.before),
        "after": _brief(happening.after),
        "by": owner or ("unknown" if happening.is_owner_known is False else None),
        "epoch": next((epoch for epoch in epochs if epoch is not None), None),
    }


def _brief(facts: Row | None) -> str | None:
    """Return the fields of a happening as one line: an offset as its number, others as `name=value`; empty ones are left out."""
    if facts is None:
        return None
    if "committed_offset" in facts:
        return str(facts["committed_offset"])
    given = {name: value for name, value in facts.items() if value not in (None, (), "")}
    return " ".join(f"{name}={','.join(v) if isinstance(v, tuple) else v}" for name, v in given.items())
