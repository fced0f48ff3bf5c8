"""`offsets-tool diff`: two moments of one log compared."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from offsets_tool.as_of.differences import Compared, Difference, difference_rows
from offsets_tool.as_of.selection import Wanted
from offsets_tool.cli.filter_options import WHEN, offset_options, parse_wanted, tz_option
from offsets_tool.cli.moment_options import coordinator_option, copies_options
from offsets_tool.cli.not_shown import absent_at_moment
from offsets_tool.cli.opening import open_replays
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note_all, output, write_caption, write_rows
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.errors import UsageError
from offsets_tool.evidence.filters import EVERYTHING, Filters
from offsets_tool.evidence.moments.moment_texts import Bound
from offsets_tool.evidence.replaying import EvidenceReplay, replay_both
from offsets_tool.rows import Row
from offsets_tool.time_texts import shown_time
from offsets_tool.wire.text import ABSENT

_TIMES: Final = frozenset(("commit_timestamp", "expire_timestamp"))
"""Fields that have a column, or no room, in a table."""
_TEXTS: Final = {
    Compared.GROUP: ("state", "generation", "epoch", "members"),
    Compared.MEMBER: ("client_id", "client_host", "assignment"),
    Compared.OFFSET: ("committed_offset",),
}
"""What a table shows of what appeared or is gone."""

TABLE = PrintedTable.of(
    Column.name("GROUP", 1),
    Column.word("WHAT", 2, "subject"),
    Column.name("OF", 3, lambda row: _topic_partition(row) or row["member_id"]),
    Column.word("DIFFERENCE", 7),
    Column.text("FROM", 4, lambda row: _text(row, "from")),
    Column.text("TO", 5, lambda row: _text(row, "to")),
    Column.number("DELTA", 6),
    Column.time("COMMITTED-AT", 8, lambda row: _committed_at(row["subject"], row["to"])),
    Column.number("LOG-PARTITION", 9),
)
CSV = PrintedTable.of_names(
    ("group", "subject", "topic", "partition", "member_id", "difference", "fields", "from", "to", "delta")
)

_EPILOG = """
\b
Examples:
  offsets-tool diff /var/lib/kafka/data --from 'yesterday 22:00' --to 'today 06:00'
  offsets-tool diff __consumer_offsets-12 --from 12:48211 --group orders
  offsets-tool diff backup.tar.gz --from -2h --format jsonl | jq 'select(.subject == "offset" and .delta < 0)'
"""


@click.command("diff", epilog=_EPILOG)
@source_options
@click.option(
    "--from",
    "from_",
    multiple=True,
    metavar="WHEN",
    help=f"The moment that is compared with: {WHEN} where that partition ended (repeatable; others count as empty); of "
    "several copies with @LEADER_EPOCH.",
)
@click.option(
    "--to",
    multiple=True,
    metavar="WHEN",
    help="The other moment, as --from. Default: the end of the log.",
)
@tz_option
@copies_options
@coordinator_option
@offset_options
@output_options
def diff_command(*, format_: str | None, output_path: str | None, strict: bool, **options: Option) -> None:
    """Show what differs in LOG... between two moments: groups, their members, who owned which partition, committed offsets.

    Rows say what appeared, is gone or changed, with all compared fields `from` and `to`, the names of those that differ in
    `fields`, and in `delta` how far a committed offset moved: 0 where the same offset was committed again. `unknown` is what the
    log proves at one of the moments only, as compaction took records. --from may be the later moment. With --topic only owners
    and offsets are compared.
    """
    if not options["from_"]:
        raise UsageError(
            "say which moment to compare with: --from WHEN, and --to WHEN if not the end of the log"
        )
    chosen = format_ or default_format(output_path)
    table = (CSV if chosen == "csv" else TABLE).chosen(chosen, options)
    wanted = parse_wanted(options)
    moments = {"--from": "from_", "--to": "to"}
    before, after = open_replays(options, moments, strict=strict, output_path=output_path)
    with before:
        rows = difference_rows(*replay_both(before, after), wanted)
        with output(output_path, before.evidence.files) as out:
            write_caption(out, chosen, [*before.captions, *after.captions])
            write_rows(out, rows, chosen, table)
    between = _between(before, after)
    is_known = rows or not after.unreached(between)
    absent = list(_absent(after, wanted))
    note_all((*_sums(rows), *absent) if is_known and (rows or not absent) else absent)
    note_all(dict.fromkeys(before.closing_notes()))
    after.finish(between)


def _between(before: EvidenceReplay, after: EvidenceReplay) -> Filters:
    """Return the range between two times, whichever is the later; everything where one is a place of the log."""
    times = [each.snapshot.as_of.time for each in (before, after) if not each.snapshot.as_of.is_end]
    if not times or None in times:
        return EVERYTHING
    first, last = min(filter(None, times)), max(filter(None, times)) if len(times) > 1 else None
    return Filters(since=Bound(time=first), until=Bound(time=last))


def _absent(after: EvidenceReplay, wanted: Wanted) -> Iterator[str]:
    """Yield notes on names that neither moment has, given the later replay."""
    if wanted.groups or wanted.topics:
        yield from absent_at_moment(after, wanted, "difference", is_shown=True)


def _sums(rows: Sequence[Row]) -> Iterator[str]:
    """Yield one line that counts the differences by subject and kind, or says that there is none."""
    if not rows:
        yield "nothing differs between the two moments"
        return
    counts = Counter((row["subject"], row["difference"]) for row in rows)
    texts = []
    for compared in Compared:
        some = [(each, counts[compared, each]) for each in Difference if counts[compared, each]]
        if some:
            texts.append(f"{compared}s: " + ", ".join(f"{count:,} {each}" for each, count in some))
    yield "; ".join(texts)


def _topic_partition(row: Row) -> str | None:
    return None if row["topic"] is None else f"{row['topic']}-{row['partition']}"


def _text(row: Row, side: str) -> str | None:
    """Return the text of one side of a row: the fields that differ, or the main fields of what only one side has."""
    fields = row[side]
    if fields is None:
        return None if row[f"{side}_is_proven"] else "unknown"
    if row["subject"] == Compared.OWNER:
        return " ".join(owner["member_id"] for owner in fields["owners"])
    names = [name for name in row["fields"] or _of_one_side(row, fields) if name not in _TIMES]
    if row["subject"] != Compared.OFFSET:
        return " ".join(f"{name}={_value(name, fields[name])}" for name in names)
    more = () if "committed_offset" in names else (f"{name}={_value(name, fields[name])}" for name in names)
    return " ".join((str(_value("committed_offset", fields["committed_offset"])), *more))


def _of_one_side(row: Row, fields: Row) -> list[str]:
    return [name for name in _TEXTS[Compared(row["subject"])] if fields[name] is not None]


def _value(name: str, value: Any) -> Any:
    if name == "pending":
        return ",".join(str(each["committed_offset"]) for each in value) or ABSENT
    if isinstance(value, list):
        return ",".join(map(str, value)) or ABSENT
    return ABSENT if value is None else value


def _committed_at(subject: str, fields: Row | None) -> str | None:
    return shown_time(fields["commit_timestamp"]) if fields and subject == Compared.OFFSET else None
