"""`offsets-tool assignments`: who owns each partition, at a moment or over time, and whether the assignor gave it so."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import click

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.as_of.views_groups import group_rows, why_unknown
from offsets_tool.cli.filter_options import group_option, parse_wanted
from offsets_tool.cli.moment_options import moment_options
from offsets_tool.cli.not_shown import absent_at_moment
from offsets_tool.cli.opening import OpenReplay, open_replay
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note_all
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.cli.texts import quoted
from offsets_tool.errors import UsageError
from offsets_tool.evidence.answers.assignments import assignments_of, audits_of
from offsets_tool.evidence.moments.moment_notes import offset_text
from offsets_tool.rows import Row
from offsets_tool.time_texts import shown_time, time_text


def _at(name: str) -> Any:
    """Return a function of a row that gives the time in its field `name`, of epoch milliseconds, as text."""
    return lambda row: shown_time(row[name])


def _number(row: Row) -> int | None:
    """Return the generation of a classic group, or the epoch of a target assignment."""
    number: int | None = row["assignment_epoch"] if row["generation"] is None else row["generation"]
    return number


OWNERS = PrintedTable.of(
    Column.name("GROUP", 1),
    Column.name("TOPIC", 2, lambda row: row["topic"] or f"subtopology {row['subtopology']}"),
    Column.number("PARTITION", 3),
    Column.name("CLIENT", 5, "client_id"),
    Column.name("HOST", 6, "client_host"),
    Column.name("INSTANCE", 8, "instance_id"),
    Column.name("MEMBER", 4, "member_id"),
    Column.time("FROM", 7, _at("from_timestamp")),
    Column.number("GENERATION", 9),
    Column.number("EPOCH", 10, "member_epoch"),
    Column.word("LOG", 11, lambda row: offset_text(row["log_partition"], row["from_log_offset"])),
)
OVER_TIME = PrintedTable.of(
    Column.name("GROUP", 1),
    Column.name("TOPIC", 2, lambda row: row["topic"] or f"subtopology {row['subtopology']}"),
    Column.number("PARTITION", 3),
    Column.time("FROM", 5, _at("from_timestamp")),
    Column.time("TO", 6, _at("to_timestamp")),
    Column.word("END", 7, "end_cause"),
    Column.name("MEMBER", 4, "member_id"),
    Column.name("CLIENT", 8, "client_id"),
    Column.name("HOST", 9, "client_host"),
    Column.name("INSTANCE", 10, "instance_id"),
    Column.number("GENERATION", 11),
    Column.number("EPOCH", 12, "member_epoch"),
    Column.word("LOG", 13, lambda row: offset_text(row["log_partition"], row["from_log_offset"])),
)
AUDITS = PrintedTable.of(
    Column.name("GROUP", 1),
    Column.time("AT", 6, _at("timestamp")),
    Column.number("EPOCH", 5, _number),
    Column.name("ASSIGNOR", 3),
    Column.word("AGREEMENT", 2),
    Column.sentence("WHY", 4, "detail"),
    Column.number("MEMBERS", 7),
    Column.number("PARTITIONS", 8),
    Column.word("BASIS", 10),
    Column.word("LOG", 9, lambda row: offset_text(row["log_partition"], row["log_offset"])),
)
_TIMES = {"from_timestamp": "from_at", "to_timestamp": "to_at", "timestamp": "at"}

_EPILOG = """
\b
Examples:
  offsets-tool assignments /var/lib/kafka/data --group orders --as-of 2026-11-20T22:00:00Z
  offsets-tool assignments /var/lib/kafka/data --topic payments --partition 3 --over-time
  offsets-tool assignments /var/lib/kafka/data --audit --over-time | jq 'select(.agreement == "differs")'
"""


@click.command("assignments", epilog=_EPILOG)
@source_options
@moment_options
@group_option
@click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC",
    help="Only partitions of this topic; a name or a pattern, as for --group.",
)
@click.option("--partition", type=int, metavar="P", help="Only this partition of --topic.")
@click.option(
    "--over-time",
    is_flag=True,
    help="Show all owners that there were up to the moment, each from when to when, and not the last alone.",
)
@click.option(
    "--audit",
    "is_audit",
    is_flag=True,
    help="Hold each group's last assignment, or with --over-time all of them, against what its assignor gives.",
)
@output_options
def assignments_command(
    *, format_: str | None, output_path: str | None, strict: bool, **options: Option
) -> None:
    """Show the owner of each partition in LOG..., at the end or --as-of a moment, and since when.

    A partition that a member has still to give up is its own until then. With --audit, a row for each assignment instead. Its
    `agreement` is equal (range, roundrobin, sticky and cooperative-sticky were computed again), consistent (what the log does not
    determine has the properties that the assignor guarantees), differs, or undecided; `basis` and `detail` say what it rests on.
    Other clients than Java's may assign differently under the same names.
    """
    wanted = parse_wanted(options)
    asked = _parse_asked(options, wanted)
    chosen = format_ or default_format(output_path)
    table = asked.table.chosen(chosen, options)
    with open_replay(options, strict=strict, output_path=output_path, is_of_groups=True) as replay:
        rows = asked.rows(replay, wanted)
        replay.show(map(_json_row, rows) if chosen == "jsonl" else rows, chosen, table, output_path)
    note_all(
        (
            *_unknown(replay.snapshot, wanted),
            *absent_at_moment(replay, wanted, "assignment", is_shown=bool(rows)),
        )
    )
    replay.finish()


class AssignmentsAsked(NamedTuple):
    """What the options --audit and --over-time ask for."""

    is_audit: bool
    is_over_time: bool

    @property
    def table(self) -> PrintedTable:
        """The columns of the table that these options ask for."""
        return AUDITS if self.is_audit else OVER_TIME if self.is_over_time else OWNERS

    def rows(self, replay: OpenReplay, wanted: Wanted) -> list[Row]:
        """Run the replay; return the rows that these options ask for."""
        if self.is_audit:
            audits = [row._asdict() for row in audits_of(replay, wanted)]
            return list(audits if self.is_over_time else _last(audits, replay.snapshot))
        owned = (row._asdict() for row in assignments_of(replay, wanted))
        return [row for row in owned if self.is_over_time or row["to_log_offset"] is None]


def _parse_asked(options: Row, wanted: Wanted) -> AssignmentsAsked:
    asked = AssignmentsAsked(options["is_audit"], options["over_time"])
    if asked.is_audit and wanted.topics:
        raise UsageError("--audit looks at whole assignments: drop --topic, or drop --audit")
    return asked


def _last(audits: Iterable[Row], moment: Snapshot) -> Iterator[Row]:
    """Yield the last audit of each group that has members at the moment."""
    there = {name for p in moment for name, members in p.state.members.items() if members}
    last = {row["group"]: row for row in audits if row["group"] in there}
    yield from last.values()


def _unknown(moment: Snapshot, wanted: Wanted) -> Iterator[str]:
    """Yield a note for each wanted group whose members at the moment the log does not prove."""
    for row in group_rows(moment, wanted):
        if not row["is_proven"]:
            why = why_unknown(row, "them")
            yield f"group {quoted(row['group'])}: its members at this moment are unknown; {why}"


def _json_row(row: Row) -> Row:
    return {
        _TIMES.get(name, name): time_text(value) if name in _TIMES else value for name, value in row.items()
    }
