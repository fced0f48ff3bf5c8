"""`offsets-tool report`: an incident review as one HTML page, to be read, searched, printed and sent around."""

from collections.abc import Collection, Mapping
from typing import Final

import click

from offsets_tool import __version__
from offsets_tool.as_of.as_of import AsOf
from offsets_tool.cli.answers.same_command import same_command
from offsets_tool.cli.broker_options import (
    parse_policy,
    parse_server_logs,
    policy_options,
    server_log_options,
)
from offsets_tool.cli.filter_options import (
    WHEN,
    clock_of,
    offset_options,
    parse_range,
    parse_wanted,
    range_options,
)
from offsets_tool.cli.moment_options import coordinator_option, copies_options, ends_options
from offsets_tool.cli.not_shown import absent_at_moment
from offsets_tool.cli.opening import OpenReplay, ends_of, open_replay
from offsets_tool.cli.options import UNREAD, Option, OptionsGiven
from offsets_tool.cli.render import note, note_all, refuse_evidence, refuse_missing_folder, write_whole
from offsets_tool.cli.source_options import source_options
from offsets_tool.evidence.listener import CommandStep, during
from offsets_tool.evidence.moments.moment_texts import Clock, as_of_bound, parse_bound
from offsets_tool.evidence.understood_moments import note_moment
from offsets_tool.findings.sentences import count
from offsets_tool.plans.commands import ANY_BROKER, ClusterAddress, CommandWords
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.plan_page import KafkaTools
from offsets_tool.review.review import Review, ReviewInputs, review_replay
from offsets_tool.review.way_back import PlanAsked
from offsets_tool.story.verdict import severity_counts

_EPILOG = """
\b
Examples:
  offsets-tool report /var/lib/kafka/data --group orders -o incident.html
  offsets-tool report backup.tar.gz --since 'yesterday 22:00' --until 'yesterday 23:30' -o night.html
  offsets-tool report /var/lib/kafka/data --group orders --server-log server.log --plan-as-of 'yesterday 22:00' -o incident.html
"""
_SOURCES: Final = frozenset(
    ("logs", "bootstrap_server", "command_config", "log_partition", "columns", "max_batch_bytes")
)
"""Options of every command that reads a log."""
_OF_REPLAY: Final = _SOURCES | {"copies_view", "leaders", "coordinator", "topic_ids"}
_POLICY: Final = frozenset({"kafka_version", "retentions", "check_interval"})
_ENDS: Final = frozenset({"ends", "log_starts", "ends_at", "read_committed"})
_NAMES: Final = frozenset({"groups", "topics", "partition"})
_SERVER: Final = frozenset({"server_logs", "server_log_zone"})
_RANGE: Final = frozenset({"since", "until", "tz"})
_MORE: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "groups": ("diagnose --format jsonl", _OF_REPLAY | _POLICY | _ENDS | _NAMES | _SERVER | _RANGE),
    "findings": ("findings", _OF_REPLAY | _POLICY | _NAMES | _SERVER | _RANGE),
    "timeline": ("timeline", _OF_REPLAY | _POLICY | _NAMES | _SERVER | _RANGE),
    "files": ("inspect", _SOURCES),
    "records": ("decode --raw", _SOURCES | _NAMES | _RANGE),
}
"""By what a page has only the beginning of, the command that shows all of it, and the options that it takes."""
_OF_PLAN: Final = _OF_REPLAY | _POLICY | _ENDS
"""Options of `plan`, beside the moment and the names."""


@click.command("report", epilog=_EPILOG)
@source_options
@copies_options
@coordinator_option
@policy_options
@ends_options
@server_log_options
@offset_options
@range_options
@click.option(
    "--plan-as-of",
    "plan_as_of",
    multiple=True,
    metavar="WHEN",
    help=f"The moment that the plan goes back to: {WHEN}. Default: before the first finding that offsets were lost or "
    "moved.",
)
@click.option(
    "-o",
    "--output",
    "output_path",
    metavar="FILE",
    required=True,
    type=click.Path(dir_okay=False),
    help="The file to write; it is written whole or not at all.",
)
@click.option("--strict", is_flag=True, help=f"{UNREAD}.")
def report_command(*, output_path: str, strict: bool, **options: Option) -> None:
    """Write an incident review of LOG... as one HTML page: the verdict, the evidence with its hashes, findings, pictures, a
    timeline with search and filters, the way back, and the records that show it.

    The page needs no network and no other file. Without --group it is about the whole log, and tells the worst groups in detail.
    """
    from offsets_tool.report.page import ReportWords, report_html  # noqa: PLC0415 - with Jinja2 and Altair, an extra

    refuse_missing_folder(output_path)
    clock = clock_of(options)
    asked = ReviewAsked(parse_wanted(options), parse_range(options, clock))
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        refuse_evidence(output_path, replay.evidence.files)
        before = len(replay.evidence.notes)
        replay.note_range(asked.range, clock)
        given = _review_inputs(replay, asked, options, clock)
        of_options = replay.evidence.notes[before:]
        review = _without(review_replay(replay, asked, given), of_options)
        words = ReportWords(__version__, " ".join([*same_command({}), "-o FILE"]), _more())
        with during(CommandStep.SHOW):
            page = report_html(review, words)
    write_whole(output_path, page)
    note_all(absent_at_moment(replay, asked.wanted, "group", is_shown=bool(review.verdict.ranked)))
    note(_written(output_path, page, review))
    replay.finish(asked.range)


def _without(review: Review, notes: Collection[str]) -> Review:
    """Return a review without the notes on how times in options were understood, which depend on today's date."""
    coverage = review.coverage
    others = [text for text in coverage.notes if text not in notes]
    return review._replace(coverage=coverage._replace(notes=others))


def _review_inputs(
    replay: OpenReplay, asked: ReviewAsked, options: OptionsGiven, clock: Clock
) -> ReviewInputs:
    policy = parse_policy(options)
    cluster = ClusterAddress(options["bootstrap_server"] or ANY_BROKER, options["command_config"])
    return ReviewInputs(
        ends_of(options, replay.evidence),
        policy,
        parse_server_logs(options),
        _plan_asked(replay, asked, options, clock),
        KafkaTools(cluster, policy.release),
        _plan_words,
    )


def _plan_asked(
    replay: OpenReplay, asked: ReviewAsked, options: OptionsGiven, clock: Clock
) -> PlanAsked | None:
    if not options["plan_as_of"]:
        return None
    bound = parse_bound(options["plan_as_of"], "--plan-as-of", clock, takes_epochs=True)
    as_of: AsOf = as_of_bound(bound, "--plan-as-of")
    note_moment(replay.evidence, bound, "--plan-as-of", clock)
    return PlanAsked(as_of, asked.wanted)


def _plan_words(to: str, group: str | None) -> CommandWords:
    """Return the command that shows the plan alone; `to` is a moment, perhaps several log offsets."""
    only = _OF_PLAN if group is not None else _OF_PLAN | _NAMES
    moments = [f"--as-of {place}" for place in to.split(", ")]
    of = [] if group is None else [f"--group {group}"]
    return [*same_command({}, "plan", only), *moments, *of]


def _more() -> dict[str, str]:
    more = {what: " ".join(same_command({}, command, only)) for what, (command, only) in _MORE.items()}
    return more | {"plan": " ".join([*same_command({}, "plan", _OF_PLAN | _NAMES), "--as-of WHEN"])}


def _written(path: str, page: bytes, review: Review) -> str:
    none = "no record of the window" if review.verdict.reach.unreached() else "no finding"
    found = severity_counts(review.findings) if review.findings else none
    groups = count(len(review.groups), "group")
    return f"{path}: {len(page):,} bytes, {found}, {groups} in detail, {count(len(review.timeline), 'event')}"
