"""Write a plan for its reviewers: a summary, the risks, the worst first, the rows, and the commands to copy."""

from collections.abc import Iterable, Sequence
from typing import BinaryIO, Final

from offsets_tool.cli.answers.paragraphs import Paragraphs, markdown
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.cli.texts import cell_text
from offsets_tool.plans.rows import PlanRow
from offsets_tool.plans.summary import has_known_end
from offsets_tool.review.plan_page import PlanPage
from offsets_tool.rows import Row
from offsets_tool.time_texts import time_text
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
    times = {name: None if fields[name] is None else time_text(fields[name]) for name in _TIMES}
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
