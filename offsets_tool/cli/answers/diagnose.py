"""`offsets-tool diagnose`: the verdict on a group or on a whole log, the worst first, with what to do."""

import shlex

import click

from offsets_tool.cli.absent_names import absent_at_moment
from offsets_tool.cli.answers.server_log_options import parse_server_logs, server_log_options
from offsets_tool.cli.answers.verdict_text import VerdictPage, write_jsonl, write_text
from offsets_tool.cli.filter_options import clock_of, offset_options, parse_wanted, range_options
from offsets_tool.cli.moment_options import coordinator_option, copies_options, ends_options
from offsets_tool.cli.opening import STRICT_EXIT, ends_of, open_replay
from offsets_tool.cli.options import F, Option
from offsets_tool.cli.policy_options import parse_policy, policy_options
from offsets_tool.cli.render import note, output
from offsets_tool.cli.source_options import source_options
from offsets_tool.evidence.filters import Filters
from offsets_tool.evidence.findings.finding import LogFindings
from offsets_tool.evidence.moment_notes import note_range
from offsets_tool.evidence.moments.moment_texts import parse_bound
from offsets_tool.findings.rows import Severity
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.verdict import verdict_of
from offsets_tool.wire.text import visible

_EPILOG = """
\b
Examples:
  offsets-tool diagnose /var/lib/kafka/data
  offsets-tool diagnose /var/lib/kafka/data --group orders
  offsets-tool diagnose backup.tar.gz --group orders --since 'yesterday 22:00' --strict
"""


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
                help="Exit with 3 when anything could not be read, a finding is critical, or no record is from --since to --until.",
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
@ends_options
@server_log_options
@_diagnose_options
def diagnose_command(*, format_: str, output_path: str | None, strict: bool, **options: Option) -> None:
    """Say what is wrong in LOG..., the worst first: what happened, when and where, how sure that is, and what to do.

    With --group it is the verdict on that group: how it stands, what stands out, what was lost and where it began again, what
    blocks it. Without, the groups are ranked by what was found, then by lag where ends are known, by the bytes of their records,
    and by rebalances. The exit code is 0 also with findings; --strict makes it 3 with a critical one.
    """
    clock = clock_of(options)
    wanted = parse_wanted(options)
    since, until = (parse_bound(options[name], f"--{name}", clock) for name in ("since", "until"))
    asked = ReviewAsked(wanted, Filters(since=since, until=until))
    given, ends = parse_policy(options), ends_of(options)
    server_logs = parse_server_logs(options)
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        captions = note_range(replay.evidence, asked.range, clock)
        found = LogFindings(replay, given, server_logs, ends)
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
                write_text(out, page, captions, of_groups=bool(wanted.groups))
    for text in absent_at_moment(replay, wanted, "group", is_shown=bool(verdict.ranked)):
        note(text)
    replay.finish()
    if strict and (
        verdict.reach.unreached() or any(each.severity == Severity.CRITICAL for each in verdict.findings)
    ):
        raise SystemExit(STRICT_EXIT)
