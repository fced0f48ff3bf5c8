"""`offsets-tool expiry`: when committed offsets expire, and why those that are gone went."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from offsets_tool.as_of.snapshot import Moment
from offsets_tool.cli.absent_names import absent_then
from offsets_tool.cli.filter_options import offset_options, parse_wanted
from offsets_tool.cli.moment_options import moment_options
from offsets_tool.cli.opening import open_replay
from offsets_tool.cli.options import output_options
from offsets_tool.cli.render import default_format, note, output, write_rows
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, Table
from offsets_tool.dialects.versions import name_of, parse_release
from offsets_tool.evidence.moment_notes import gaps, orphans
from offsets_tool.evidence.times import duration_text, parse_duration, shown_time, time_text
from offsets_tool.expiry.ages import Ages
from offsets_tool.expiry.forecast import (
    Losses,
    Row,
    ages,
    ages_left,
    all_losses,
    explained,
    gone_rows,
    live_rows,
)
from offsets_tool.expiry.policy import Basis, Signs, by_removals
from offsets_tool.expiry.rules import MAX_RETENTION_MS, Release

F = TypeVar("F", bound=Callable[..., Any])

_TIMES = ("expires_at", "gone_at", "expected_at")

_EPILOG = """
\b
Examples:
  offsets-tool expiry /var/lib/kafka/data --group orders --kafka-version 3.6 --retention 7d
  offsets-tool expiry __consumer_offsets-12 --retention 7d --retention 30d --as-of 2026-11-20T22:00:00Z
  offsets-tool expiry backup.tar.gz --topic payments | jq 'select(.status == "gone")'
"""


def policy_options(command: F) -> F:
    """--kafka-version --retention --check-interval"""
    for option in reversed(
        (
            click.option(
                "--kafka-version",
                metavar="X.Y[.Z]",
                help="By whose rules; default: what the log proves, which a note says.",
            ),
            click.option(
                "--retention",
                "retentions",
                multiple=True,
                metavar="SPAN",
                help="offsets.retention.minutes as 7d, 36h, 90m. Repeat it to compare: what is gone is explained by the first. "
                "Default: what values up to 2.0 say, else what removals speak for, else a day before 2.0 and a week since.",
            ),
            click.option(
                "--check-interval",
                metavar="SPAN",
                help="offsets.retention.check.interval.ms. Default: 10m, or less where removals speak for it.",
            ),
        )
    ):
        command = option(command)
    return command


def _is_live(row: Row) -> bool:
    return bool(row["status"] == "live")


def _is_due(row: Row) -> bool:
    return _is_live(row) and row["in_ms"] is not None


def _at(row: Row) -> str | None:
    """When it expires or went; the log may not tell."""
    at = row["expires_at"] if _is_live(row) else row["gone_at"]
    if at is None:
        return "never" if _is_live(row) else None
    return time_text(at) or f"{at}ms"


def _committed_at(row: Row) -> str | None:
    at = row["commit_timestamp"]
    return None if at is None else shown_time(at)


TABLE = Table.of(
    Column.word("STATUS", 1),
    Column.name("GROUP", 2),
    Column.name("TOPIC", 3),
    Column.number("PARTITION", 4),
    Column.number("OFFSET", 9, "committed_offset"),
    Column.time("COMMITTED-AT", 12, _committed_at),
    Column.word("RETENTION", 13, lambda row: duration_text(row["retention_ms"])),
    Column.time("AT", 7, _at),
    Column.word("IN", 6, lambda row: duration_text(row["in_ms"]) if _is_due(row) else None),
    Column.word("WHY", 5, lambda row: row["rule"] if _is_live(row) else row["cause"]),
    Column.word("CONFIDENCE", 8, lambda row: None if _is_live(row) else row["confidence"]),
    Column.word("OR", 10, lambda row: None if _is_live(row) else " ".join(row["alternatives"]) or None),
    Column.word("LOG", 11, lambda row: f"{row['log_partition']}:{row['log_offset']}"),
)


@click.command("expiry", epilog=_EPILOG)
@source_options
@moment_options
@policy_options
@offset_options
@output_options
def expiry_command(*, format_: str | None, output_path: str | None, strict: bool, **options: Any) -> None:
    """Shows when each committed offset of LOG... expires and by which rule, and for each that is gone why it went.

    `status` is live or gone. A live offset goes with the first check from `expires_at` on, if nothing more is written;
    `in_ms` counts from the moment shown. A gone one has a `cause`: retention, expire_timestamp, unsubscribed_topic,
    offsets_deleted, group_deleted, topic_deleted, aborted, superseded or unknown; `confidence` is certain, likely, or ambiguous
    where `alternatives` leave the same records.
    """
    chosen = format_ or default_format(output_path)
    is_compared = len(options["retentions"]) > 1
    table = (TABLE.with_first("RETENTION") if is_compared else TABLE).chosen(chosen, options)
    wanted = parse_wanted(options)
    release = parse_family(options["kafka_version"])
    retentions: list[int | None] = [
        parse_duration(text, "--retention", MAX_RETENTION_MS) for text in options["retentions"]
    ]
    interval = parse_interval(options["check_interval"])
    signs = Signs()
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        moment = replay.run()
        lost = all_losses(replay.once_more(), signs)
        bases = [
            _searched(signs.basis(release, each, interval), lost, moment, interval_given=interval is not None)
            for each in retentions or [None]
        ]
        for text in (basis_note(bases[0]), *gaps(moment)):
            if text:
                note(text)
        found = explained(lost, moment.newest_timestamp, bases[0].policy, bases[0].known)
        rows = [row for basis in bases for row in live_rows(moment, basis.policy, _now(moment), wanted)]
        rows.sort(key=lambda row: (row["group"], row["topic"], row["partition"], row["retention_ms"]))
        rows += gone_rows(found, bases[0].policy, wanted)
        with output(output_path, replay.evidence.files) as out:
            replay.write_caption(out, chosen)
            write_rows(out, map(_json_row, rows) if chosen == "jsonl" else rows, chosen, table)
    for text in (*orphans(moment), *absent_then(replay, wanted, "committed offset", is_shown=bool(rows))):
        note(text)
    replay.finish()


def _searched(basis: Basis, lost: list[Losses], moment: Moment, *, interval_given: bool) -> Basis:
    def left() -> Ages:
        return ages_left(lost, moment.newest_timestamp, basis.policy)

    return by_removals(basis, ages(lost, basis.policy), left, interval_given=interval_given)


def parse_interval(text: str | None) -> int | None:
    """Milliseconds of --check-interval; None where it is not given."""
    return None if text is None else parse_duration(text, "--check-interval")


def parse_family(text: str | None) -> Release | None:
    """Rules change with releases, not with patches: 3.9 for what is given as 3.9."""
    return tuple(map(int, name_of(parse_release(text)).split("."))) if text else None


def _now(moment: Moment) -> int | None:
    return moment.newest_timestamp if moment.as_of.time is None else moment.as_of.time


def basis_note(basis: Basis) -> str | None:
    """What of it is supposed; None if all was given."""
    release = ".".join(map(str, basis.policy.release))
    supposed = [f"by the rules of {release} ({basis.release_by})"] if basis.release_by else []
    if basis.retention_by:
        supposed.append(f"retention {duration_text(basis.policy.retention_ms)} ({basis.retention_by})")
    if basis.interval_by:
        by = "" if basis.retention_by else f" ({basis.interval_by})"
        supposed.append(f"checks every {duration_text(basis.policy.check_interval_ms)} or sooner{by}")
    given = (
        ("--kafka-version", basis.release_by),
        ("--retention", basis.retention_by),
        ("--check-interval", basis.interval_by),
    )
    *first, last = [option for option, by in given if by] or [""]
    better = " and ".join([", ".join(first), last] if first else [last])
    return f"supposed: {', '.join(supposed)}; {better} say it better" if supposed else None


def _json_row(row: Row) -> Row:
    return {name: _moment_text(value) if name in _TIMES else value for name, value in row.items()}


def _moment_text(timestamp: int | None) -> str | None:
    return None if timestamp is None else time_text(timestamp)
