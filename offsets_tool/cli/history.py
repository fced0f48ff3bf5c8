"""`offsets-tool history`: what happened to groups, members and committed offsets, change by change."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import click

from offsets_tool.as_of.selection import NameFilter, Wanted
from offsets_tool.cli.absent_names import AbsentNames, nobody, passed_over
from offsets_tool.cli.filter_options import clock_of, offset_options, parse_wanted, range_options
from offsets_tool.cli.moment_options import coordinator_option
from offsets_tool.cli.nothing_shown import nothing_of
from offsets_tool.cli.opening import open_replay
from offsets_tool.cli.options import F, output_options
from offsets_tool.cli.render import default_format, note, output, write_caption, write_rows
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.errors import UsageError
from offsets_tool.events import Event
from offsets_tool.evidence.clock_places import tell_range
from offsets_tool.evidence.filters import Filters
from offsets_tool.evidence.moment_notes import gaps, place
from offsets_tool.evidence.moment_texts import Clock, parse_bound
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.evidence.times import shown_time, time_text
from offsets_tool.history.change_log import Happening, HappeningKind, tell
from offsets_tool.history.history import History
from offsets_tool.history.owners import NameOf
from offsets_tool.replay.changes import Change
from offsets_tool.rows import Row

TABLE = PrintedTable.of(
    Column.time("AT", 1),
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
    """Which happenings to show. Nothing is replayed differently for it."""

    wanted: Wanted
    range: Filters
    kinds: frozenset[str]
    members: NameFilter
    instances: NameFilter

    def holds(self, told: Happening) -> bool:
        """Whether to show it."""
        # Names first: a name that is missing from what is shown may be there outside of it.
        if not (self._is_about(told) and self._is_by(told)) or (self.kinds and told.kind not in self.kinds):
            return False
        within = self.range.range_of(told.log_partition)
        return within is not None and within.has(told.timestamp, told.log_offset)

    def _is_about(self, told: Happening) -> bool:
        if self.wanted.groups and told.group not in self.wanted.groups:
            return False
        if not self.wanted.topics:
            return True
        return (
            told.topic is not None
            and told.partition is not None
            and self.wanted.has_offset(told.topic, told.partition)
        )

    def _is_by(self, told: Happening) -> bool:
        if self.instances and told.instance_id not in self.instances:
            return False
        return not self.members or self.members.meet((told.member_id, *told.joined, *told.left))


def _history_options(command: F) -> F:
    """What to show beside --group, --topic and --partition."""
    for option in reversed(
        (
            offset_options,
            click.option(
                "--member",
                "members",
                multiple=True,
                metavar="ID",
                help="Only this member (or such a pattern), and what it owned.",
            ),
            click.option(
                "--instance",
                "instances",
                multiple=True,
                metavar="ID",
                help="Only this group.instance.id, whatever member it is, and what it owned.",
            ),
            click.option(
                "--kind",
                "kinds",
                multiple=True,
                type=click.Choice([kind.value for kind in HappeningKind]),
                help="Only changes of this kind.",
            ),
            range_options,
        )
    ):
        command = option(command)
    return command


@click.command("history", epilog=_EPILOG)
@source_options
@coordinator_option
@_history_options
@output_options
def history_command(*, format_: str | None, output_path: str | None, strict: bool, **options: Any) -> None:
    """Shows every change that LOG... holds: commits and rewinds, tombstones, transactions, generations, conversions, deletions.

    One row a change, partition by partition in the order of the log: what was before and after, and who owned the partition of
    an offset in which generation or epoch, by the assignments in force when it was committed (who committed is not in the
    log). The whole log is replayed, whatever is shown of it.
    """
    clock = clock_of(options)
    asked = _parse_asked(options, clock)
    chosen = format_ or default_format(output_path)
    table = TABLE.chosen(chosen, options)
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        said = tell_range(replay.evidence, asked.range, clock)
        moment = replay.run()
        for text in gaps(moment):
            note(text)
        with output(output_path, replay.evidence.files) as out:
            write_caption(out, chosen, said)
            shown = _shown(replay, asked)
            write_rows(out, map(_json_row if chosen == "jsonl" else _table_row, shown), chosen, table)
    for text in _absent(replay, asked):
        note(text)
    replay.finish()


def _shown(replay: EvidenceReplay, asked: Asked) -> Iterator[Happening]:
    for told in filter(asked.holds, happenings(replay)):
        replay.evidence.has_shown = True
        yield told


def _absent(replay: EvidenceReplay, asked: Asked) -> Iterator[str]:
    evidence = replay.evidence
    yield from AbsentNames(asked.wanted, evidence.sources, "", passed_over).notes(evidence.has_shown)
    if any(entry.records for entry in evidence.ledgers):
        # Without a record, the moment's own notes say so.
        filters = replace(asked.range, groups=asked.wanted.groups, topics=asked.wanted.topics)
        yield from nothing_of(filters, evidence, sorted(asked.kinds), "--kind")
    yield from nobody("--member", asked.members)
    yield from nobody("--instance", asked.instances)


def _parse_asked(options: Row, clock: Clock) -> Asked:
    since, until = (parse_bound(options[name], f"--{name}", clock) for name in ("since", "until"))
    wanted = parse_wanted(options)
    kinds = frozenset(options["kinds"])
    if wanted.topics and kinds and not kinds & {HappeningKind.OFFSETS, HappeningKind.ANOMALIES}:
        raise UsageError("--topic is about committed offsets: drop it, or ask for --kind offsets")
    members, instances = NameFilter(options["members"]), NameFilter(options["instances"])
    return Asked(wanted, Filters(since=since, until=until), kinds, members, instances)


def happenings(replay: EvidenceReplay) -> Iterator[Happening]:
    """Everything that happened, partition by partition."""
    for _, replayed in replay.once_more():
        yield from _told(replayed, replay.moment.names.name)


def _told(replayed: Iterator[tuple[Event, tuple[Change, ...]]], name_of: NameOf) -> Iterator[Happening]:
    history = History(name_of)
    for event, changes in replayed:
        history.observe_record(event.record.log_offset)
        for change in changes:
            if turns := history.turns(change):
                yield from tell(turns)
    yield from tell(history.flush_turns())


def _json_row(told: Happening) -> Row:
    return {"written_at": time_text(told.timestamp), **told._asdict()}


def _table_row(told: Happening) -> Row:
    about = told.member_id if told.kind is HappeningKind.MEMBERS else None
    if told.topic is not None:
        about = f"{told.topic}-{told.partition}"
    moved = f" (+{len(told.joined)} -{len(told.left)})" if told.joined or told.left else ""
    by = (
        told.instance_id
        or told.client_id
        or told.member_id
        or ("unknown" if told.is_owner_known is False else None)
    )
    return {
        "at": shown_time(told.timestamp),
        "log": place(told.log_partition, told.log_offset),
        "group": told.group,
        "about": about,
        "what": told.what + moved if told.note is None else f"anomaly: {told.note}",
        "before": _brief(told.before),
        "after": _brief(told.after),
        "by": by,
        "epoch": next(
            (e for e in (told.member_epoch, told.generation, told.group_epoch) if e is not None), None
        ),
    }


def _brief(facts: Row | None) -> str | None:
    """An offset as its number; of others what is different, without what is empty."""
    if facts is None:
        return None
    if "committed_offset" in facts:
        return str(facts["committed_offset"])
    said = {name: value for name, value in facts.items() if value not in (None, (), "")}
    return " ".join(f"{name}={','.join(v) if isinstance(v, tuple) else v}" for name, v in said.items())
