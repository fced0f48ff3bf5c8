"""`offsets-tool findings`: what is wrong or odd in a log, the worst first."""

from typing import NamedTuple

import click

from offsets_tool.cli.broker_options import (
    parse_policy,
    parse_server_logs,
    policy_options,
    server_log_options,
)
from offsets_tool.cli.filter_options import clock_of, offset_options, parse_range, parse_wanted, range_options
from offsets_tool.cli.moment_options import coordinator_option, copies_options
from offsets_tool.cli.not_shown import absent_in_range
from offsets_tool.cli.opening import open_replay
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note_all
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.errors import UsageError
from offsets_tool.evidence.findings.finding import findings_of
from offsets_tool.evidence.moments.moment_texts import Clock
from offsets_tool.evidence.nearest import did_you_mean
from offsets_tool.findings.finders import kinds
from offsets_tool.findings.rows import Finding, Severity
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.rows import Row
from offsets_tool.time_texts import time_text

TABLE = PrintedTable.of(
    Column.word("SEVERITY", 1).severe(),
    Column.time("FROM-AT", 3).to_second(),
    Column.sentence("TITLE", 2),
    Column.word("KIND", 5),
    Column.word("CONFIDENCE", 4),
    Column.word("OR", 7, lambda row: " ".join(row["alternatives"]) or None),
    Column.word("LOG", 6, lambda row: row["evidence"][0]),
    Column.sentence("REMEDY", 8),
    Column.name("GROUP", 9),
    Column.name("TOPIC", 10),
    Column.number("PARTITION", 11),
    Column.time("TO-AT", 12).to_second(),
)

_EPILOG = """
\b
Examples:
  offsets-tool findings /var/lib/kafka/data
  offsets-tool findings /var/lib/kafka/data --group orders --since 'yesterday 22:00' --severity warning
  offsets-tool findings __consumer_offsets-12 --kind rewind --kind reset --format jsonl
"""


class FindingsAsked(NamedTuple):
    """The options that choose which findings are shown; they do not limit what is replayed."""

    review: ReviewAsked
    kinds: frozenset[str]
    severities: frozenset[str]

    def shows(self, finding: Finding) -> bool:
        """Return whether the options choose this finding."""
        # Names first: a note on a missing name must not name one that only a kind or a range leaves out.
        if not self.review.is_about(finding):
            return False
        if (self.kinds and finding.kind not in self.kinds) or (
            self.severities and finding.severity not in self.severities
        ):
            return False
        return self.review.is_within(finding)


@click.command("findings", epilog=_EPILOG)
@source_options
@copies_options
@coordinator_option
@policy_options
@server_log_options
@offset_options
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="Only findings of this kind, as the column KIND names it (repeatable).",
)
@click.option(
    "--severity",
    type=click.Choice([each.value for each in Severity]),
    help="Only findings as bad as this or worse.",
)
@range_options
@output_options
def findings_command(
    *, format_: str | None, output_path: str | None, strict: bool, **options: Option
) -> None:
    """Show what is wrong or odd in LOG...: lost offsets, resets, timeouts, transactions that hang; the worst first.

    One row a finding: how much it matters, when it was, one sentence that says what happened, how sure that is, and the first of
    the records that show it. JSON lines have everything: alternatives, all places of the log, and what to do.
    """
    clock = clock_of(options)
    asked = _parse_asked(options, clock)
    given, server_logs = parse_policy(options), parse_server_logs(options)
    chosen = format_ or default_format(output_path)
    table = TABLE.chosen(chosen, options)
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        evidence = replay.evidence
        replay.note_range(asked.review.range, clock)
        rows = [finding_row(each) for each in findings_of(replay, given, server_logs) if asked.shows(each)]
        evidence.has_shown = bool(rows)
        replay.show(rows, chosen, table, output_path)
    chosen_by = [*sorted(asked.kinds), *filter(None, [options["severity"]])]
    note_all(absent_in_range(replay, asked.review, "finding", chosen_by, "--kind or --severity"))
    replay.finish(asked.review.range, shows_records=False)


def _parse_asked(options: Row, clock: Clock) -> FindingsAsked:
    names = [each.value for each in Severity]
    worst = names[: names.index(options["severity"]) + 1] if options["severity"] else []
    return FindingsAsked(
        ReviewAsked(parse_wanted(options), parse_range(options, clock)),
        frozenset(map(_parse_kind, options["kinds"])),
        frozenset(worst),
    )


def _parse_kind(text: str) -> str:
    name = text.strip().lower().replace("-", "_")
    if name not in kinds():
        meant = did_you_mean(name, list(kinds()))
        raise UsageError(f"--kind: there is no kind {text!r}: choose among {', '.join(kinds())}.{meant}")
    return name


def finding_row(finding: Finding) -> Row:
    """Return the fields of a finding as JSON lines have them, with times as text."""
    return {**finding._asdict(), **{name: time_text(getattr(finding, name)) for name in ("from_at", "to_at")}}
