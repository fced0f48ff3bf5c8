"""The columns of kafka-consumer-groups --describe, and of Kafka's tools for share and streams groups.

Headers and the form of assignments ("topic:0,1;other:2") are those of Kafka 4; "-" stands for a missing value.
"""

from collections.abc import Callable
from itertools import groupby
from typing import Any, Final

from offsets_tool.cli.table import Column, PrintedTable
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
