"""`offsets-tool describe`: a group at a moment, in the columns of kafka-consumer-groups --describe.

Tables are those of Kafka's tools for share and streams groups, too. Headers and the form of assignments ("topic:0,1;other:2") are
those of Kafka 4; "-" stands for a missing value.
"""

from collections.abc import Callable
from itertools import groupby
from typing import Any, Final, NamedTuple

import click

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.as_of.views_describe import described_offsets, described_states
from offsets_tool.as_of.views_groups import group_rows, why_unknown
from offsets_tool.as_of.views_members import member_rows
from offsets_tool.cli.filter_options import A_NAME, parse_wanted
from offsets_tool.cli.moment_options import ends_options, moment_options
from offsets_tool.cli.not_shown import AbsentNames, moment_phrase, why_not_at_moment
from offsets_tool.cli.opening import ends_of, open_replay
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note, note_all
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.cli.texts import quoted
from offsets_tool.errors import OffsetsToolError, UsageError
from offsets_tool.evidence.lagging import add_lag, odd_offsets
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.replay.changes import GroupKind
from offsets_tool.rows import Row


def _if_proven(name: str) -> Callable[[Row], Any]:
    """Return a function of a row that gives its field `name`, or "unknown" where the evidence does not prove the row."""
    return lambda row: row[name] if row["is_proven"] else "unknown"


def _assignment(prefix: str) -> Callable[[Row], Any]:
    """Return a function of a row that gives a member's partitions by topic, or its streams tasks by kind and subtopology.

    `prefix` is "" for the current assignment and "target_" for the target.
    """

    def cell(row: Row) -> Any:
        if row[f"{prefix}assignment"] is not None:
            return _by_topic(row[f"{prefix}assignment"], "-", "{}:{}") or None
        kinds = ("active", "standby", "warmup")
        tasks = [
            (kind, _by_topic(row[f"{prefix if prefix else ''}{kind}_tasks"] or [], "_", "{}:[{}]"))
            for kind in kinds
        ]
        return " ".join(f"{kind.upper()}: {text}" for kind, text in tasks if text) or None

    return cell


def _by_topic(texts: list[str], separator: str, form: str) -> str:
    pairs = [text.rpartition(separator)[::2] for text in texts]
    grouped = groupby(pairs, key=lambda pair: pair[0])
    return ";".join(
        form.format(topic, ",".join(partition for _, partition in found)) for topic, found in grouped
    )


def _count(row: Row) -> int | None:
    owned = row["assignment"] if row["assignment"] is not None else row["active_tasks"]
    return None if owned is None else len(owned)


def _current_offset(row: Row) -> Any:
    """Return the committed offset as Kafka's tool shows it: one below 0 is none (KAFKA-12926)."""
    offset = _if_proven("committed_offset")(row)
    return None if isinstance(offset, int) and offset < 0 else offset


OFFSETS: Final = PrintedTable.of(
    Column.name("GROUP", 1),
    Column.name("TOPIC", 2),
    Column.number("PARTITION", 3),
    Column.number("CURRENT-OFFSET", 4, _current_offset),
    Column.number("LOG-END-OFFSET", 6),
    Column.number("LAG", 5),
    Column.name("CONSUMER-ID", 7, "member_id"),
    Column.name("HOST", 9, "client_host"),
    Column.name("CLIENT-ID", 8),
)
MEMBERS: Final = PrintedTable.of(
    Column.name("GROUP", 1),
    Column.name("CONSUMER-ID", 2, "member_id"),
    Column.name("GROUP-INSTANCE-ID", 8, "instance_id"),
    Column.name("HOST", 6, "client_host"),
    Column.name("CLIENT-ID", 5),
    Column.number("#PARTITIONS", 3, _count),
    Column.number("CURRENT-EPOCH", 7, "member_epoch"),
    Column.name("CURRENT-ASSIGNMENT", 4, _assignment("")),
    Column.name("TARGET-ASSIGNMENT", 9, _assignment("target_")),
)
STATE: Final = PrintedTable.of(
    Column.name("GROUP", 1),
    Column.name("ASSIGNMENT-STRATEGY", 6, "assignor"),
    Column.word("STATE", 2, _if_proven("state")),
    Column.number("GENERATION", 4),
    Column.number("GROUP-EPOCH", 5, "epoch"),
    Column.number("TARGET-ASSIGNMENT-EPOCH", 8, "assignment_epoch"),
    Column.number("#MEMBERS", 3, _if_proven("members")),
    Column.number("LOG-PARTITION", 7),
)


_NAMED = 3
"""How many groups get a note of their own where all groups are asked for."""


class _View(NamedTuple):
    """The rows and the columns that --offsets, --members or --state shows."""

    rows: Callable[[Snapshot, Wanted], list[Row]]
    table: PrintedTable


_VIEWS = {
    "offsets": _View(described_offsets, OFFSETS),
    "members": _View(member_rows, MEMBERS),
    "state": _View(described_states, STATE),
}

_EPILOG = """
\b
Examples:
  offsets-tool describe /var/lib/kafka/data --group orders
  offsets-tool describe /var/lib/kafka/data --all-groups --state
  offsets-tool describe __consumer_offsets-12 --group orders --members --as-of 2026-11-20T22:00:00Z
  offsets-tool describe backup.tar.gz --group orders --members | jq -c '[.member_id, .assignment]'
"""


@click.command("describe", epilog=_EPILOG)
@source_options
@moment_options
@click.option("--group", "groups", multiple=True, metavar="GROUP", help=f"The group (repeatable): {A_NAME}.")
@click.option("--all-groups", is_flag=True, help="Every group that is there.")
@click.option(
    "--offsets", "view", flag_value="offsets", default="offsets", help="Its committed offsets (default)."
)
@click.option("--members", "view", flag_value="members", help="Its members, subscriptions and assignments.")
@click.option("--state", "view", flag_value="state", help="Its state, generation or epochs.")
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    help="Partition count of __consumer_offsets, to say where a group that is not there would be. Default: what the groups "
    "that are there show.",
)
@ends_options
@output_options
def describe_command(
    *,
    view: str,
    partitions: int | None,
    format_: str | None,
    output_path: str | None,
    strict: bool,
    **options: Option,
) -> None:
    """Show a group of LOG..., or --all-groups, as the coordinator had them at the end, or --as-of a moment.

    Table and CSV have the columns of kafka-consumer-groups --describe; JSON lines have everything that the records say.
    LOG-END-OFFSET and LAG come from --ends, or from the data topics' directories beside LOG; otherwise they are "-".
    """
    chosen = format_ or default_format(output_path)
    table = _VIEWS[view].table.chosen(chosen, options)
    if bool(options["groups"]) == options.pop("all_groups"):
        raise UsageError("say which groups to describe: --group GROUP (repeatable), or --all-groups")
    wanted = parse_wanted(options)
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        ends = ends_of(options, replay.evidence)
        if not ends.has_any:
            replay.evidence.narrow_to_groups(replay.snapshot.as_of)
        # Where ends are known, what other groups commit says more of them.
        replay.take_states(is_of_groups=not ends.has_any)
        moment = replay.run()
        rows = _VIEWS[view].rows(moment, wanted)
        if view == "offsets":
            add_lag(moment, ends, rows)
        replay.show(rows, chosen, table, output_path)
        _say_what_is_not_shown(moment, wanted, view, rows)
        note_all(odd_offsets(rows) if view == "offsets" else ())
        _refuse_missing(replay, wanted, partitions)
    replay.finish()


def _say_what_is_not_shown(moment: Snapshot, wanted: Wanted, view: str, rows: list[Row]) -> None:
    shown = {row["group"] for row in rows}
    lacks = f"no {'members' if view == 'members' else 'committed offsets'}"
    found: dict[str, list[str]] = {}
    for row in group_rows(moment, wanted):
        group = f"group {quoted(row['group'])}"
        if not row["is_proven"]:
            found.setdefault("unknown", []).append(
                f"{group}: its state at this moment is unknown; {why_unknown(row, 'it')}"
            )
        elif view == "offsets" and row["kind"] == GroupKind.SHARE:
            where = "its offsets are in __share_group_state, not in this log"
            found.setdefault("share groups", []).append(f"{group} is a share group: {where}")
        elif view != "state" and row["group"] not in shown:
            found.setdefault(lacks, []).append(f"{group} has {lacks}")
    for reason, texts in found.items():
        _say_some(reason, texts, _NAMED if wanted.is_open else len(texts))


def _say_some(reason: str, texts: list[str], most: int) -> None:
    """Write the first `most` notes and count the others: with all groups asked for, thousands may have the same `reason`."""
    note_all(texts[:most])
    if len(texts) > most:
        note(f"{len(texts) - most:,} more group(s) for the same reason: {reason}")


def _refuse_missing(replay: EvidenceReplay, wanted: Wanted, partitions: int | None) -> None:
    absent = AbsentNames(
        wanted,
        replay.evidence.all_sources,
        moment_phrase(replay.snapshot),
        why_not_at_moment(replay),
        partitions,
    )
    note_all(absent.others())
    if texts := list(absent.groups()):
        raise OffsetsToolError("; ".join(texts))
