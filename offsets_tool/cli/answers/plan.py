"""`offsets-tool plan`: the way back to a moment, for a person to review and to run with Kafka's own tools.

Its text: a summary, the risks, the worst first, the rows, and the commands to copy.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import BinaryIO, Final

import click

from offsets_tool.as_of.selection import Wanted, exact_text
from offsets_tool.as_of.views_offsets import current_homes
from offsets_tool.cli.answers.paragraphs import Paragraphs, markdown
from offsets_tool.cli.answers.same_command import same_command
from offsets_tool.cli.broker_options import parse_policy, policy_options
from offsets_tool.cli.filter_options import offset_options, parse_wanted
from offsets_tool.cli.moment_options import ends_options, moment_options
from offsets_tool.cli.not_shown import absent_at_moment
from offsets_tool.cli.opening import STRICT_EXIT, OpenReplay, ends_of, open_replay
from offsets_tool.cli.options import FORMATS, UNREAD, Option, OptionsGiven, output_options
from offsets_tool.cli.render import (
    default_format,
    note,
    note_all,
    note_left_out,
    output,
    write_cells,
    write_rows,
)
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.cli.texts import cell_text
from offsets_tool.errors import UsageError
from offsets_tool.evidence.answers.planning import Plan, plan_back
from offsets_tool.evidence.answers.reset_gaps import incomplete, moved_notes, refuse_partial, reset_gaps
from offsets_tool.evidence.moments.moment_notes import orphans
from offsets_tool.plans.commands import ANY_BROKER, ClusterAddress, CommandWords
from offsets_tool.plans.reset_file import is_of_one_group
from offsets_tool.plans.rows import PlanAction, PlanRow
from offsets_tool.plans.summary import has_known_end, risk_matters
from offsets_tool.review.plan_page import KafkaTools, PlanPage, groups_to_reset, moment_text, plan_page
from offsets_tool.rows import Row
from offsets_tool.time_texts import time_text
from offsets_tool.wire.json import Release
from offsets_tool.wire.text import ABSENT

TABLE: Final = PrintedTable.of(
    Column.name("GROUP", 1),
    Column.name("TOPIC", 2),
    Column.number("PARTITION", 3),
    Column.number(
        "CURRENT-OFFSET", 6, lambda row: row["current_offset"] if row["is_current_proven"] else "unknown"
    ),
    Column.number("NEW-OFFSET", 4, lambda row: row["new_offset"] if row["is_proven"] else "unknown"),
    Column.number("DIFFERENCE", 7),
    Column.word("ACTION", 8),
    Column.text("RISKS", 5, lambda row: " ".join(risk["risk"] for risk in row["risks"]) or None),
    Column.number("COMMITS-SINCE", 9),
    Column.text("COMMITTED-BY", 10, lambda row: ", ".join(row["committed_by"]) or None),
    Column.word("REMOVAL-CAUSE", 11),
    Column.time("REMOVED-AT", 12),
    Column.number("LOG-START", 13, "log_start_offset"),
    Column.number(
        "END-OFFSET", 14, lambda row: row["end_offset"] if has_known_end(row["end_method"]) else None
    ),
    Column.time("EXPIRES-AT", 15),
)
_LEAD: Final = 10
"""The width of the severities in front of the risks."""
_TIMES: Final = ("last_commit_at", "removed_at", "expires_at")


def plan_json(row: PlanRow) -> Row:
    """Return the fields of a row, with times as text."""
    fields = row._asdict() | {"action": row.action.value, "risks": [risk._asdict() for risk in row.risks]}
    times = {name: time_text(fields[name]) for name in _TIMES}
    return fields | {"committed_by": list(row.committed_by)} | times


def write_page(out: BinaryIO, page: PlanPage, table: PrintedTable, captions: Sequence[str]) -> list[str]:
    """Write a plan as sentences, a table and commands; return the titles of the columns that the table has no room for."""
    text = Paragraphs(out)
    for caption in captions:
        text.say(caption)
    text.heading(page.headline)
    text.say(" ".join(page.sentences))
    text.blank()
    for warning in page.warnings:
        text.behind(f"{'WARNING':<{_LEAD}}", warning)
        text.blank()
    for matter in page.matters:
        text.behind(f"{matter.kind.severity.upper():<{_LEAD}}", f"{matter.kind.name}: {matter.what()}")
        text.say(f"What it means: {matter.kind.means}", _LEAD)
        text.say(f"What to do: {matter.kind.remedy}", _LEAD)
        text.blank()
    left_out: list[str] = []
    if page.rows:
        left_out = text.table(table, map(plan_json, page.rows))
        text.blank()
    for number, step in enumerate(page.steps, 1):
        text.behind(f"{number}. ", step.text)
        for command in step.commands:
            text.command(command)
    return left_out


def write_markdown(out: BinaryIO, page: PlanPage, table: PrintedTable, captions: Sequence[str]) -> list[str]:
    """Write a plan as Markdown, for a ticket or a review; its table has room for all columns."""
    lines = [
        *map(markdown, captions),
        f"## {markdown(page.headline)}",
        "",
        markdown(" ".join(page.sentences)),
        "",
    ]
    lines += [f"- **WARNING** {markdown(warning)}" for warning in page.warnings]
    for matter in page.matters:
        lines.append(f"- **{matter.kind.severity.upper()}** `{matter.kind.name}` {markdown(matter.what())}")
        lines.append(f"  {markdown(matter.kind.means)} *{markdown(matter.kind.remedy)}*")
    if page.rows:
        shown = [[_cell(value) for value in table.drawn(plan_json(row))] for row in page.rows]
        lines += ["", _line(table.titles), _line("---" for _ in table.titles), *map(_line, shown), ""]
    for number, step in enumerate(page.steps, 1):
        lines += [f"{number}. {markdown(step.text)}", "", "   ```"]
        lines += [f"   {' '.join(command)}" for command in step.commands]
        lines += ["   ```", ""]
    out.write("\n".join(lines).encode() + b"\n")
    return []


def _cell(value: object) -> str:
    return ABSENT if value is None else markdown(cell_text(value))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


_EPILOG = """
\b
Examples:
  offsets-tool plan /var/lib/kafka/data --as-of 'yesterday 22:00' --group orders
  offsets-tool plan backup.tar.gz --as-of 12:48211 --group orders --ends ends.txt --format markdown --output review.md
  offsets-tool plan /var/lib/kafka/data --as-of -2h --group 'orders-*' --format csv --output reset.csv
"""
_FORMATS: Final = (*FORMATS, "markdown")
_STRICT: Final = f"{UNREAD}, or the plan has a critical risk."


@click.command("plan", epilog=_EPILOG)
@source_options
@moment_options
@ends_options
@policy_options
@offset_options
@click.option(
    "--partial",
    is_flag=True,
    help="With --format csv: write the file even if whole partitions of the log are left out.",
)
@partial(output_options, formats=_FORMATS, strict_help=_STRICT)
def plan_command(*, format_: str | None, output_path: str | None, strict: bool, **options: Option) -> None:
    """Show the way back of groups in LOG... to the moment --as-of, for a person to review and to run. Nothing is changed.

    Each committed offset as it is at the end of LOG..., as it was, and the risks of setting it back, the worst first; then the
    commands of Kafka's tools to copy. --format csv is the file that kafka-consumer-groups --reset-offsets --from-file reads. End
    offsets, as for lag, show what is no longer there.
    """
    _refuse(format_, options)
    chosen = format_ or default_format(output_path)
    table = TABLE.chosen(chosen, options)
    wanted, given = parse_wanted(options), parse_policy(options)
    with open_replay(options, strict=strict, output_path=output_path, is_of_groups=True) as replay:
        plan = plan_back(replay, replay.again(), ends_of(options, replay.evidence), given, wanted)
        if chosen == "csv":
            _refuse_file(plan, wanted, replay, options, given.release)
        with output(output_path, replay.evidence.files) as out:
            if chosen == "csv":
                write_cells(out, _lines(plan, given.release))
            elif chosen == "jsonl":
                write_rows(out, map(plan_json, plan.rows), chosen, table)
            else:
                page = _page(plan, wanted, replay, options, given.release)
                if missing := _WRITE[chosen](out, page, table, replay.captions):
                    out.flush()
                    note_left_out(missing)
    if chosen == "csv":
        _note_left_out(plan)
    homes = current_homes(plan.end)
    is_untold = any(home is None and wanted.has_group(group) for group, home in homes.items())
    note_all(
        (
            *orphans(plan.moment, wanted),
            *moved_notes(homes, wanted),
            *reset_gaps([], plan.moment, wanted, replay.evidence),
            *absent_at_moment(replay, wanted, "committed offset", is_shown=bool(plan.rows) or is_untold),
        )
    )
    replay.finish()
    if strict and any(row.is_blocked for row in plan.rows):
        raise SystemExit(STRICT_EXIT)


def _refuse(format_: str | None, options: OptionsGiven) -> None:
    """Raise UsageError where options contradict each other, or where one that a plan needs is missing."""
    if not options["as_of"]:
        raise UsageError(
            "plan is the way back to a moment: say which with --as-of, such as --as-of 'yesterday 22:00'"
        )
    if format_ == "csv" and options["show"]:
        raise UsageError(
            "CSV of a plan is a reset file, whose columns Kafka sets: drop --show, or use --format table"
        )


def _refuse_file(
    plan: Plan, wanted: Wanted, replay: OpenReplay, options: OptionsGiven, release: Release | None
) -> None:
    """Raise UsageError where one file cannot hold this plan, or would lack whole partitions of the log."""
    if not options["partial"]:
        refuse_partial(plan.moment, wanted, replay.evidence)
    groups = groups_to_reset(plan)
    if is_of_one_group(release) and len(groups) > 1:
        raise UsageError(
            f"kafka-consumer-groups before 2.4 reads a file of one group, and this plan has {len(groups)}: choose one with "
            "--group, or drop --kafka-version to take a newer tool"
        )


def _lines(plan: Plan, release: Release | None) -> list[tuple[str | int, ...]]:
    return [line.cells(release) for row in plan.rows if (line := row.reset_line) is not None]


def _note_left_out(plan: Plan) -> None:
    """Write notes on the rows that the reset file leaves out, by risk, and on a file without any row."""
    for matter in risk_matters(plan.with_action(PlanAction.LEAVE)):
        note(f"not in the file, {matter.kind.name}: {matter.what()} --format table says what to do")
    if not plan.with_action(PlanAction.RESET):
        note("the file is empty: no committed offset that can be set stands elsewhere than then")


def _page(
    plan: Plan, wanted: Wanted, replay: OpenReplay, options: OptionsGiven, release: Release | None
) -> PlanPage:
    lacking = None if options["partial"] else incomplete(plan.moment, wanted, replay.evidence.ledgers)
    cluster = ClusterAddress(options["bootstrap_server"] or ANY_BROKER, options["command_config"])
    return plan_page(plan, lacking, KafkaTools(cluster, release), partial(_write_file, plan))


def _write_file(plan: Plan, file: str, group: str | None) -> CommandWords:
    """Return the command that writes the reset file of this plan to `file`, or only the lines of one group."""
    given: dict[str, tuple[str, ...]] = {}
    if plan.moment.as_of.time is not None:
        # What the clock said when the plan was made: a time such as -2h means another one each minute.
        given["as_of"] = (moment_text(plan),)
    if group is not None:
        given["groups"] = (exact_text(group),)
    return [*same_command(given), "--format csv", f"--output {file}"]


_WRITE: Final[Mapping[str, Callable[[BinaryIO, PlanPage, PrintedTable, list[str]], list[str]]]] = {
    "table": write_page,
    "markdown": write_markdown,
}
