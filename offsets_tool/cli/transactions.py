"""`offsets-tool transactions`: the open transactions, what they block, and how all others ended."""

from collections.abc import Iterable, Iterator
from itertools import chain

import click

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.as_of.transactions import blocked, ended_rows, open_rows
from offsets_tool.cli.filter_options import group_option, parse_wanted
from offsets_tool.cli.moment_options import moment_options
from offsets_tool.cli.not_shown import absent_at_moment
from offsets_tool.cli.opening import open_replay
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note, note_all
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.evidence.moments.moment_notes import number_text
from offsets_tool.rows import Row
from offsets_tool.time_texts import shown_time

TABLE = PrintedTable.of(
    Column.number("PRODUCER-ID", 1),
    Column.number("PRODUCER-EPOCH", 9),
    Column.word("OUTCOME", 2),
    Column.number("LOG-PARTITION", 3),
    Column.number("FIRST-OFFSET", 7),
    Column.number("LAST-OFFSET", 10),
    Column.number("MARKER-OFFSET", 11),
    Column.time("FIRST-AT", 6, lambda row: shown_time(row["first_timestamp"])),
    Column.number("AGE-MS", 5),
    Column.word("AGE-TO", 12),
    Column.number("COMMITS", 8),
    Column.name("GROUPS", 4, lambda row: " ".join(row["groups"]) if row["groups"] else None),
)

_EPILOG = """
\b
Examples:
  offsets-tool transactions /var/lib/kafka/data | jq 'select(.outcome == "open")'
  offsets-tool transactions __consumer_offsets-12 --group orders --as-of 2026-11-20T22:00:00Z
"""


@click.command("transactions", epilog=_EPILOG)
@source_options
@moment_options
@group_option
@output_options
def transactions_command(
    *, format_: str | None, output_path: str | None, strict: bool, **options: Option
) -> None:
    """Show the transactions of LOG...: open ones first, the oldest at the top, with what they block.

    `age_ms` counts up to what `age_to` names: the marker or, for an open transaction, the time of --as-of, by default the
    newest record of LOG... (--as-of now counts up to the clock). A marker without data has a row of its own: its producer
    wrote nothing here, or compaction has removed it. A `marker_epoch` above `producer_epoch` shows an abort by the
    transaction coordinator itself (timed out, fenced); with transaction version 2 (4.x) every marker has it.
    """
    chosen = format_ or default_format(output_path)
    table = TABLE.chosen(chosen, options)
    wanted = parse_wanted(options)
    with open_replay(options, strict=strict, output_path=output_path, is_of_groups=True) as replay:
        ended = replay.ask(lambda histories: (histories.partition, histories.ended_transactions()))
        moment, shown = replay.snapshot, set[int | None]()
        of_ended = (ended_rows(*of_partition, wanted) for of_partition in ended)
        rows = _noting_log_partitions(chain(open_rows(moment, wanted), *of_ended), shown)
        replay.show(rows, chosen, table, output_path)
    note_all(
        (
            *absent_at_moment(replay, wanted, "transaction", is_shown=bool(shown)),
            *_ages(moment, wanted),
        )
    )
    for held in (held for held in blocked(moment) if held.log_partition in shown):
        note(
            f"partition {number_text(held.log_partition)}: the last stable offset is {held.last_stable_offset}, where producer "
            f"{held.producer_id} has a transaction open: readers of committed data and compaction do not get past it, "
            f"{held.records:,} record(s) wait"
        )
    replay.finish()


def _ages(moment: Snapshot, wanted: Wanted) -> Iterator[str]:
    """Yield a note where the age of open transactions counts to the newest record.

    In an old copy that record is old too: a transaction that has been open for days may have an age of minutes.
    """
    newest = moment.newest_timestamp
    if moment.as_of.time is None and newest is not None and open_rows(moment, wanted):
        yield (
            f"the age of open transactions counts to the newest record, of {shown_time(newest)}; "
            "--as-of now counts to the clock"
        )


def _noting_log_partitions(rows: Iterable[Row], log_partitions: set[int | None]) -> Iterator[Row]:
    """Yield the rows, and add the log partition of each to `log_partitions`."""
    for row in rows:
        log_partitions.add(row["log_partition"])
        yield row
