"""`offsets-tool diagnose`: the verdict on a group or on a whole log, the worst first, with what to do."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Final, NamedTuple

import click

from offsets_tool.cli.absent_names import absent_then
from offsets_tool.cli.answers.paragraphs import Paragraphs
from offsets_tool.cli.filter_options import clock_of, offset_options, parse_wanted, range_options
from offsets_tool.cli.findings import FindingsAsked, finding_row
from offsets_tool.cli.moment_options import coordinator_option, copies_options
from offsets_tool.cli.opening import STRICT_EXIT, OpenReplay, open_replay
from offsets_tool.cli.options import F
from offsets_tool.cli.policy_options import parse_policy, policy_options
from offsets_tool.cli.render import note, output, write_rows
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.cli.texts import json_line
from offsets_tool.evidence.clock_places import tell_range
from offsets_tool.evidence.filters import Filters
from offsets_tool.evidence.findings.finding import found_groups
from offsets_tool.evidence.moments.moment_texts import parse_bound
from offsets_tool.findings.rows import Finding, Severity
from offsets_tool.findings.sentences import count
from offsets_tool.rows import Row
from offsets_tool.story.limits import UNSAID, coverage_sentences
from offsets_tool.story.sentence import when
from offsets_tool.story.state import state_sentences, state_words
from offsets_tool.story.verdict import (
    Matter,
    Ranked,
    group_headline,
    kinds_text,
    log_headline,
    matters,
    ranking,
)
from offsets_tool.wire.text import shown, visible

TOP: Final = 10
"""How many groups are listed before the rest is only counted."""
TABLE: Final = PrintedTable.of(
    Column.name("GROUP", 1),
    Column.word("WORST", 2, "severity"),
    Column.text("FINDINGS", 3, lambda row: ", ".join(row["kinds"]) or None),
    Column.word("STATE", 4),
    Column.number("REBALANCES", 5),
    Column.number("COMMITS", 6),
    Column.number("LOG-PARTITION", 7),
)
_LEAD: Final = 10
"""The width of the severities in front of what is wrong."""
_PLACES: Final = 3
_EPILOG = """
\b
Examples:
  offsets-tool diagnose /var/lib/kafka/data
  offsets-tool diagnose /var/lib/kafka/data --group orders
  offsets-tool diagnose backup.tar.gz --group orders --since 'yesterday 22:00' --strict
"""


class Verdict(NamedTuple):
    """What was found in an evidence, and what that rests on."""

    ranked: list[Ranked]
    of_no_group: list[Finding]
    coverage: list[str]
    moment: str
    logs: list[str]
    """LOG... as it was given, quoted for a shell."""

    @property
    def findings(self) -> list[Finding]:
        """All findings, those about no group first."""
        return [*self.of_no_group, *(each for ranked in self.ranked for each in ranked.findings)]


def _diagnose_options(command: F) -> F:
    """Add the options of diagnose, from --group to --strict, to a command."""
    for option in reversed(
        (
            offset_options,
            range_options,
            click.option(
                "--format",
                "format_",
                type=click.Choice(["text", "jsonl"]),
                default="text",
                show_default=True,
                help="JSON lines have an object for each group, with its verdict and its findings.",
            ),
            click.option(
                "--output",
                "output_path",
                metavar="FILE",
                type=click.Path(dir_okay=False),
                help="Write to this file instead of stdout.",
            ),
            click.option(
                "--strict",
                is_flag=True,
                help="Exit with 3 when anything could not be read, or a finding is critical.",
            ),
        )
    ):
        command = option(command)
    return command


@click.command("diagnose", epilog=_EPILOG)
@source_options
@copies_options
@coordinator_option
@policy_options
@_diagnose_options
def diagnose_command(*, format_: str, output_path: str | None, strict: bool, **options: Any) -> None:
    """Say what is wrong in LOG..., the worst first: what happened, when and where, how sure that is, and what to do.

    With --group it is the verdict on that group: how it stands, what stands out, what was lost and where it began again, what
    blocks it. Without, the groups are ranked by what was found, then by commits and rebalances. The exit code is 0 also with
    findings; --strict makes it 3 with a critical one.
    """
    clock = clock_of(options)
    wanted = parse_wanted(options)
    since, until = (parse_bound(options[name], f"--{name}", clock) for name in ("since", "until"))
    asked = FindingsAsked(wanted, Filters(since=since, until=until), frozenset(), frozenset())
    given = parse_policy(options)
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        captions = tell_range(replay.evidence, asked.range, clock)
        found = found_groups(replay, given)
        chosen = [each for each in found.findings if asked.shows(each)]
        groups = [rows for rows in found.groups if not wanted.groups or rows.group in wanted.groups]
        verdict = Verdict(
            ranking(groups, chosen),
            [each for each in chosen if each.group is None],
            list(coverage_sentences(replay.moment)),
            _moment(replay),
            [visible(shlex.quote(log)) for log in options["logs"]],
        )
        with output(output_path, replay.evidence.files) as out:
            if format_ == "jsonl":
                _write_jsonl(out, verdict)
            else:
                _write_text(out, verdict, captions, of_groups=bool(wanted.groups))
    for text in absent_then(replay, wanted, "group", is_shown=bool(groups)):
        note(text)
    replay.finish()
    if strict and any(each.severity == Severity.CRITICAL for each in chosen):
        raise SystemExit(STRICT_EXIT)


def _moment(replay: OpenReplay) -> str:
    return f"At the end of the log, {when(replay.moment.newest_timestamp)}"


def _write_text(out: BinaryIO, verdict: Verdict, captions: Sequence[str], *, of_groups: bool) -> None:
    text = Paragraphs(out)
    for caption in captions:
        text.say(caption)
    if of_groups:
        for each in verdict.ranked:
            _group_text(text, verdict, each)
    else:
        _log_text(text, verdict)
        _ranked_text(text, out, verdict)
    if verdict.ranked or not of_groups:
        text.say(" ".join((*verdict.coverage, UNSAID)))


def _group_text(text: Paragraphs, verdict: Verdict, ranked: Ranked) -> None:
    text.heading(group_headline(ranked.rows.group, ranked.findings))
    text.blank()
    for matter in matters(ranked.findings):
        _matter_text(text, matter, meaning=True)
    text.say(" ".join(state_sentences(ranked.rows, verdict.moment)))
    text.blank()
    _more(text, verdict, ranked.rows.group, "explain", "findings")


def _matter_text(text: Paragraphs, matter: Matter, *, meaning: bool) -> None:
    text.behind(f"{matter.severity.upper():<{_LEAD}}", matter.what())
    if meaning:
        text.say(f"What it means: {matter.meaning()}", _LEAD)
    text.say(f"What to do: {matter.remedy()}", _LEAD)
    places = matter.first.evidence
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    text.say(f"Seen at {', '.join(places[:_PLACES])}{more}.", _LEAD)
    text.blank()


def _log_text(text: Paragraphs, verdict: Verdict) -> None:
    """Write the headline and what is wrong; notices are only counted, unless there is nothing else."""
    findings = verdict.findings
    all_matters = matters(findings)
    text.heading(
        log_headline([each for matter in all_matters for each in matter.findings], len(verdict.ranked))
    )
    text.blank()
    loud = [each for each in all_matters if each.severity != Severity.NOTICE]
    for matter in loud:
        _matter_text(text, matter, meaning=False)
    notices = [each for matter in all_matters if matter not in loud for each in matter.findings]
    if notices:
        text.behind(f"{'NOTICES':<{_LEAD}}", f"{', '.join(kinds_text(notices))}.")
        text.blank()


def _ranked_text(text: Paragraphs, out: BinaryIO, verdict: Verdict) -> None:
    if not verdict.ranked:
        return
    write_rows(out, map(_ranked_row, verdict.ranked[:TOP]), "table", TABLE)
    left = verdict.ranked[TOP:]
    if left:
        concerned = sum(bool(each.findings) for each in left)
        of = f"{concerned:,} of them with findings" if concerned else "without findings"
        text.say(f"And {count(len(left), 'group')} more, {of}.")
    text.blank()
    _more(text, verdict, verdict.ranked[0].rows.group, "diagnose", "explain")


def _more(text: Paragraphs, verdict: Verdict, group: str, *commands: str) -> None:
    """Write the commands that show more of a group, ready to run."""
    text.say("For more:")
    for command in commands:
        of = shlex.quote(visible(shown(group)))
        text.command(["offsets-tool", command, *verdict.logs, f"--group {of}"])
    text.blank()


def _ranked_row(ranked: Ranked) -> Row:
    return {
        "group": ranked.rows.group,
        "severity": ranked.severity,
        "kinds": list(kinds_text(ranked.findings)),
        "state": state_words(ranked.rows),
        "rebalances": ranked.rebalances,
        "commits": ranked.commits,
        "log_partition": ranked.rows.log_partition,
    }


def _write_jsonl(out: BinaryIO, verdict: Verdict) -> None:
    if verdict.of_no_group:
        out.write(
            json_line(
                _json_row(None, [log_headline(verdict.findings, len(verdict.ranked))], verdict.of_no_group)
            )
        )
    for each in verdict.ranked:
        sentences = [*_sentences(each), *state_sentences(each.rows, verdict.moment)]
        out.write(json_line(_ranked_row(each) | _json_row(each.rows.group, sentences, each.findings)))


def _sentences(ranked: Ranked) -> Iterator[str]:
    yield group_headline(ranked.rows.group, ranked.findings)
    for matter in matters(ranked.findings):
        yield matter.what()


def _json_row(group: str | None, sentences: list[str], findings: Sequence[Finding]) -> Row:
    return {"group": group, "verdict": sentences, "findings": [finding_row(each) for each in findings]}
