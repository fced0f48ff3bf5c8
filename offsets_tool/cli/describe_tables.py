"""The columns of kafka-consumer-groups --describe, and of what the share and streams tools have besides.

Headers and the form of assignments ("topic:0,1;other:2") are those of Kafka 4; "-" is what is not there.
"""

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any, Final, NamedTuple

Row = dict[str, Any]


class Layout(NamedTuple):
    """A table: from its headers to what gives the cell."""

    cells: Mapping[str, Callable[[Row], Any]]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.cells)

    def row(self, row: Row) -> Row:
        """The row under the table's headers."""
        shown = {name: cell(row) for name, cell in self.cells.items()}
        return {name: "-" if value is None or value == "" else value for name, value in shown.items()}


def _field(name: str) -> Callable[[Row], Any]:
    return lambda row: row[name]


def _if_known(name: str) -> Callable[[Row], Any]:
    return lambda row: row[name] if row["known"] else "unknown"


def _assignment(prefix: str) -> Callable[[Row], Any]:
    """Partitions by topic; of a streams member, tasks by kind and subtopology."""

    def cell(row: Row) -> Any:
        if row[f"{prefix}assignment"] is not None:
            return _by_topic(row[f"{prefix}assignment"], "-", "{}:{}")
        kinds = ("active", "standby", "warmup")
        tasks = [
            (kind, _by_topic(row[f"{prefix if prefix else ''}{kind}_tasks"] or [], "_", "{}:[{}]"))
            for kind in kinds
        ]
        return " ".join(f"{kind.upper()}: {text}" for kind, text in tasks if text)

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


OFFSETS: Final = Layout(
    {
        "GROUP": _field("group"),
        "TOPIC": _field("topic"),
        "PARTITION": _field("partition"),
        "CURRENT-OFFSET": _if_known("committed_offset"),
        "LOG-END-OFFSET": _field("log_end_offset"),
        "LAG": _field("lag"),
        "CONSUMER-ID": _field("member_id"),
        "HOST": _field("client_host"),
        "CLIENT-ID": _field("client_id"),
    }
)
MEMBERS: Final = Layout(
    {
        "GROUP": _field("group"),
        "CONSUMER-ID": _field("member_id"),
        "GROUP-INSTANCE-ID": _field("instance_id"),
        "HOST": _field("client_host"),
        "CLIENT-ID": _field("client_id"),
        "#PARTITIONS": _count,
        "CURRENT-EPOCH": _field("member_epoch"),
        "CURRENT-ASSIGNMENT": _assignment(""),
        "TARGET-ASSIGNMENT": _assignment("target_"),
    }
)
STATE: Final = Layout(
    {
        "GROUP": _field("group"),
        "ASSIGNMENT-STRATEGY": _field("assignor"),
        "STATE": _if_known("state"),
        "GENERATION": _field("generation"),
        "GROUP-EPOCH": _field("epoch"),
        "TARGET-ASSIGNMENT-EPOCH": _field("assignment_epoch"),
        "#MEMBERS": _if_known("members"),
        "LOG-PARTITION": _field("log_partition"),
    }
)
