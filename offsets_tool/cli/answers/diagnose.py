"""`offsets-tool diagnose`: the verdict on a group or on a whole log, the worst first, with what to do.

Its text: headline, findings, ranking of groups or state of one, basis, and commands that show more.
"""

import shlex
from collections.abc import Sequence
from typing import BinaryIO, Final, NamedTuple

import click

from offsets_tool.cli.answers.paragraphs import Paragraphs
from offsets_tool.cli.broker_options import (
    parse_policy,
    parse_server_logs,
    policy_options,
    server_log_options,
)
from offsets_tool.cli.filter_options import clock_of, offset_options, parse_range, parse_wanted, range_options
from offsets_tool.cli.findings import finding_row
from offsets_tool.cli.moment_options import coordinator_option, copies_options, ends_options
from offsets_tool.cli.not_shown import absent_at_moment
from offsets_tool.cli.opening import STRICT_EXIT, ends_of, open_replay
from offsets_tool.cli.options import Option, output_option
from offsets_tool.cli.render import note_all, output
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.cli.texts import json_line
from offsets_tool.evidence.findings.finding import LogFindings
from offsets_tool.findings.finder import places_and_lines
from offsets_tool.findings.rows import Finding, Severity
from offsets_tool.findings.sentences import count
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.verdict import Verdict, loud_and_quiet, verdict_of
from offsets_tool.rows import Row
from offsets_tool.story.limits import unsaid
from offsets_tool.story.verdict import (
    Matter,
    Ranked,
    kinds_text,
    matters,
    moves_of_offsets,
)
from offsets_tool.wire.text import shown, visible

TOP: Final = 10
"""How many groups are listed before the rest is only counted."""
TABLE: Final = PrintedTable.of(
    Column.name("GROUP", 1),
    Column.word("WORST", 2, "severity").severe(),
    Column.listing("FINDINGS", 3, lambda row: ", ".join(row["kinds"]) or None),
    Column.word("STATE", 4),
    Column.number("REBALANCES", 7),
    Column.number("COMMITS", 8),
    Column.number("BYTES", 6),
    Column.number("LAG", 5),
    Column.number("LOG-PARTITION", 9),
)
_LEAD: Final = 10
"""The width of the severities in front of what is wrong."""
_PLACES: Final = 3


class VerdictPage(NamedTuple):
    """A verdict, with the sources as words for commands that show more."""

    verdict: Verdict
    logs: list[str]
    """LOG... as it was given, quoted for a shell."""
    server_logs: list[str]
    """--server-log as it was given, quoted for a shell."""


def write_text(out: BinaryIO, page: VerdictPage, captions: Sequence[str], *, of_groups: bool) -> None:
    """Write a verdict as sentences: on each of its groups with `of_groups`, else on the log with a ranking of groups."""
    text, verdict = Paragraphs(out), page.verdict
    for caption in captions:
        text.say(caption)
    if of_groups:
        for each in verdict.ranked:
            _group_text(text, page, each)
        for matter in matters(verdict.of_log):
            _matter_text(text, matter, meaning=True)
    else:
        _log_text(text, verdict)
        _ranked_text(text, page)
    if verdict.ranked or not of_groups:
        text.say(" ".join((*verdict.coverage, unsaid(bool(page.server_logs)))))


def _group_text(text: Paragraphs, page: VerdictPage, ranked: Ranked) -> None:
    text.heading(page.verdict.headline_of(ranked))
    text.blank()
    for matter in matters(ranked.findings):
        _matter_text(text, matter, meaning=True)
    text.say(" ".join(ranked.sentences))
    text.blank()
    text.draw(ranked.events)
    _more(text, page, ranked.group, "explain", "findings")
    _before(text, page, ranked)


def _matter_text(text: Paragraphs, matter: Matter, *, meaning: bool) -> None:
    text.behind(f"{matter.severity.upper():<{_LEAD}}", matter.what())
    if meaning:
        text.say(f"What it means: {matter.meaning()}", _LEAD)
    text.say(f"What to do: {matter.remedy()}", _LEAD)
    places, lines = places_and_lines(matter.first)
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    said = f"; the broker's log says it at {', '.join(lines[:_PLACES])}" if lines else ""
    # Where no source says the partition, only the offset is known.
    shown = [f"offset {place[1:]}" if place.startswith(":") else place for place in places[:_PLACES]]
    text.say(f"Seen at {', '.join(shown)}{more}{said}.", _LEAD)
    text.blank()


def _log_text(text: Paragraphs, verdict: Verdict) -> None:
    """Write the headline and the findings of a log; notices are only counted, unless there is nothing worse."""
    loud, notices = loud_and_quiet(verdict.findings)
    text.heading(verdict.headline)
    text.blank()
    for matter in loud:
        _matter_text(text, matter, meaning=False)
    if notices:
        text.behind(f"{'NOTICES':<{_LEAD}}", f"{', '.join(kinds_text(notices))}.")
        text.blank()


def _ranked_text(text: Paragraphs, page: VerdictPage) -> None:
    verdict = page.verdict
    if not verdict.ranked:
        return
    left_out = text.table(_table(verdict), map(_ranked_row, verdict.ranked[:TOP]))
    left = verdict.ranked[TOP:]
    if left:
        concerned = sum(bool(each.findings) for each in left)
        of = f"{concerned:,} of them with findings" if concerned else "without findings"
        text.say(f"And {count(len(left), 'more group')}, {of}.")
    if left_out:
        text.say(f"No room for {', '.join(left_out)}: widen the terminal; --format jsonl has all.")
    text.blank()
    _more(text, page, verdict.ranked[0].group, "diagnose", "explain")


def _table(verdict: Verdict) -> PrintedTable:
    """Return the table of the ranking, with a column for lag only where the lag of some group is known."""
    if any(each.lag is not None for each in verdict.ranked):
        return TABLE
    return TABLE._replace(columns=tuple(each for each in TABLE.columns if each.title != "LAG"))


def _more(text: Paragraphs, page: VerdictPage, group: str, *commands: str) -> None:
    """Write the commands that show more of a group, ready to run."""
    text.say("For more:")
    for command in commands:
        of = shlex.quote(visible(shown(group)))
        text.command(["offsets-tool", command, *page.logs, *page.server_logs, f"--group {of}"])
    text.blank()


def _before(text: Paragraphs, page: VerdictPage, ranked: Ranked) -> None:
    """Write the command that shows the offsets as they were before the worst finding that moved or removed some."""
    worst = next(iter(moves_of_offsets(ranked)), None)
    if worst is None:
        return
    of = shlex.quote(visible(shown(ranked.group)))
    text.say(f"The offsets from before {worst.evidence[0]} (add --format csv for a file to reset from):")
    words = ["offsets-tool", "offsets", *page.logs, f"--group {of}", f"--as-of {worst.evidence[0]}"]
    text.command(words)
    text.blank()


def _ranked_row(ranked: Ranked) -> Row:
    return {
        "group": ranked.group,
        "severity": ranked.severity,
        "kinds": list(kinds_text(ranked.findings)),
        "state": ranked.state,
        "rebalances": ranked.rebalances,
        "commits": ranked.commits,
        "bytes": ranked.bytes,
        "lag": None if ranked.lag is None else ranked.lag.records,
        "log_partition": ranked.log_partition,
    }


def write_jsonl(out: BinaryIO, verdict: Verdict) -> None:
    """Write a JSON object for each group, the worst first; before them one for the log, if it has something of its own."""
    if verdict.of_log or verdict.reach.unreached():
        out.write(json_line(_json_row(None, [verdict.headline], verdict.of_log)))
    for each in verdict.ranked:
        told = (matter.what() for matter in matters(each.findings))
        sentences = [verdict.headline_of(each), *told, *each.sentences]
        row = _ranked_row(each) | _json_row(each.group, sentences, each.findings)
        out.write(json_line(row | {"coverage": verdict.coverage}))


def _json_row(group: str | None, sentences: list[str], findings: Sequence[Finding]) -> Row:
    return {"group": group, "verdict": sentences, "findings": [finding_row(each) for each in findings]}


_EPILOG = """
\b
Examples:
  offsets-tool diagnose /var/lib/kafka/data
  offsets-tool diagnose /var/lib/kafka/data --group orders
  offsets-tool diagnose backup.tar.gz --group orders --since 'yesterday 22:00' --strict
"""


@click.command("diagnose", epilog=_EPILOG)
@source_options
@copies_options
@coordinator_option
@policy_options
@ends_options
@server_log_options
@offset_options
@range_options
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "jsonl"]),
    default="text",
    show_default=True,
    help="JSON lines have an object for each group, with its verdict and its findings.",
)
@output_option
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 3 when anything could not be read, a finding is critical, or no record is from --since to --until.",
)
def diagnose_command(*, format_: str, output_path: str | None, strict: bool, **options: Option) -> None:
    """Say what is wrong in LOG..., the worst first: what happened, when and where, how sure that is, and what to do.

    With --group it is the verdict on that group: how it stands, what stands out, what was lost and where it began again, what
    blocks it. Without, the groups are ranked by what was found, then by lag where ends are known, by the bytes of their records,
    and by rebalances. The exit code is 0 also with findings; --strict makes it 3 with a critical one.
    """
    clock = clock_of(options)
    wanted = parse_wanted(options)
    asked = ReviewAsked(wanted, parse_range(options, clock))
    given = parse_policy(options)
    server_logs = parse_server_logs(options)
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        replay.note_range(asked.range, clock)
        found = LogFindings(replay, given, server_logs, ends_of(options, replay.evidence))
        verdict = verdict_of(found, replay.snapshot, asked)
        page = VerdictPage(
            verdict,
            [visible(shlex.quote(log)) for log in options["logs"]],
            [f"--server-log {visible(shlex.quote(log))}" for log in options["server_logs"]],
        )
        with output(output_path, replay.evidence.files) as out:
            if format_ == "jsonl":
                write_jsonl(out, verdict)
            else:
                write_text(out, page, replay.captions, of_groups=bool(wanted.groups))
    note_all(absent_at_moment(replay, wanted, "group", is_shown=bool(verdict.ranked)))
    replay.finish()
    if strict and (
        verdict.reach.unreached() or any(each.severity == Severity.CRITICAL for each in verdict.findings)
    ):
        raise SystemExit(STRICT_EXIT)
