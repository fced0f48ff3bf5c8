"""`offsets-tool explain`: what happened to a group, in words, the oldest first, each sentence with its place and time."""

from typing import BinaryIO, Final

import click

from offsets_tool.cli.answers.paragraphs import Paragraphs, columns, markdown
from offsets_tool.cli.answers.timeline import sentence_row
from offsets_tool.cli.broker_options import (
    parse_policy,
    parse_server_logs,
    policy_options,
    server_log_options,
)
from offsets_tool.cli.filter_options import WHEN, offset_options, parse_wanted, tz_option
from offsets_tool.cli.moment_options import coordinator_option, copies_options
from offsets_tool.cli.not_shown import absent_at_moment
from offsets_tool.cli.opening import open_replay
from offsets_tool.cli.options import Option, output_option
from offsets_tool.cli.render import note_all, output
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.texts import json_line
from offsets_tool.errors import UsageError
from offsets_tool.evidence.findings.finding import LogFindings
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.stories import ExplainedGroup, explained_group
from offsets_tool.story.sentence import Sentence, when

_EPILOG = """
\b
Examples:
  offsets-tool explain /var/lib/kafka/data --group orders
  offsets-tool explain /var/lib/kafka/data --group orders --topic payments --partition 3 --at 2026-11-21T02:30Z
  offsets-tool explain backup.tar.gz --group orders --format markdown --output incident.md
"""
UNTIMED: Final = "(no time)"


@click.command("explain", epilog=_EPILOG)
@source_options
@copies_options
@coordinator_option
@policy_options
@server_log_options
@offset_options
@click.option(
    "--at",
    "--as-of",
    "as_of",
    multiple=True,
    metavar="WHEN",
    help=f"Tell what led to this moment, and the state at it: {WHEN} where that partition ended. Default: the end of "
    "the log.",
)
@tz_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "jsonl"]),
    default="text",
    show_default=True,
    help="Text is wrapped on a terminal, and has a line for each sentence in a pipe.",
)
@output_option
@click.option("--strict", is_flag=True, help="Exit with 3 when anything could not be read.")
def explain_command(*, format_: str, output_path: str | None, strict: bool, **options: Option) -> None:
    """Tell what happened to a group, in words, the oldest first: for an incident review.

    Each sentence has its time (UTC) and its place, LOG_PARTITION:LOG_OFFSET, which decode and --at take. What repeats is one
    sentence: commits between two other events, the rebalances of a storm. Findings stand where they are seen. With --topic and
    --partition it is the story of that committed offset.
    """
    wanted = parse_wanted(options)
    if not wanted.groups:
        raise UsageError(
            "explain tells the story of a group: name it with --group; `offsets-tool groups` lists them, and "
            "`offsets-tool timeline` shows all of them together"
        )
    given, server_logs = parse_policy(options), parse_server_logs(options)
    with open_replay(options, strict=strict, output_path=output_path, option="--at") as replay:
        found = LogFindings(replay, given, server_logs)
        stories = [
            explained_group(found, each, replay.snapshot, ReviewAsked(wanted))
            for each in found.groups(wanted)
        ]
        with output(output_path, replay.evidence.files) as out:
            for caption in replay.captions if format_ == "text" else ():
                Paragraphs(out).say(caption)
            _WRITE[format_](out, stories)
    note_all(absent_at_moment(replay, wanted, "group", is_shown=bool(stories)))
    replay.finish()


def _write_text(out: BinaryIO, stories: list[ExplainedGroup]) -> None:
    text = Paragraphs(out)
    for number, each in enumerate(stories):
        if number:
            text.blank()
        text.heading(each.title)
        text.draw(each.events)
        for lead, sentence in zip(columns(map(_lead, each.story)), each.story, strict=True):
            text.behind(lead, sentence.text)
        text.blank()
        text.say(" ".join(each.state))
        text.blank()
        text.say(" ".join(each.coverage))
    if stories:
        text.say(stories[0].unsaid)


def _lead(sentence: Sentence) -> tuple[str, str]:
    return when(sentence.at) if (sentence.at or -1) >= 0 else UNTIMED, sentence.place


def _write_markdown(out: BinaryIO, stories: list[ExplainedGroup]) -> None:
    for each in stories:
        lines = [f"## {markdown(each.title)}", ""]
        for sentence in each.story:
            at, place = _lead(sentence)
            lines.append(f"- **{at}** `{place}` {markdown(sentence.text)}")
        lines += ["", markdown(" ".join(each.state)), "", markdown(" ".join(each.coverage)), ""]
        out.write("\n".join(lines).encode() + b"\n")
    if stories:
        out.write(f"{stories[0].unsaid}\n".encode())


def _write_jsonl(out: BinaryIO, stories: list[ExplainedGroup]) -> None:
    for each in stories:
        for sentence in each.story:
            out.write(json_line(sentence_row(sentence)))
        for kind, sentences in (("state", each.state), ("coverage", each.coverage)):
            for text in sentences:
                out.write(json_line({"kind": kind, "group": each.group, "text": text}))


_WRITE = {"text": _write_text, "markdown": _write_markdown, "jsonl": _write_jsonl}
