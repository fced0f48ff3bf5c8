"""Histories of a lake, and what they must be: the library's, record by record, over the same files."""

import shutil
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot, replay_events
from offsets_tool.events import Event, decode
from offsets_tool.expiry.removal_tracker import RemovalTracker
from offsets_tool.expiry.rows import RemovalRow, removal_rows
from offsets_tool.history.history import History
from offsets_tool.history.owners import NameOf
from offsets_tool.history.rows import AnomalyRow, GroupHistoryRow, MemberHistoryRow, OffsetHistoryRow
from offsets_tool.history.transactions import TransactionRow, ended_transactions, open_transactions
from offsets_tool.log.archive.delta import delta_rows
from offsets_tool.log.discover import find_segments
from offsets_tool.log.names import SegmentKind
from offsets_tool.log.segment import read_segment
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.rows import BatchRead
from offsets_tool.wire.text import shown
from spark.replay.replay import Replayed, replay
from tests import plain_rows
from tests.spark.lakes import CORPORA

TABLES = {
    "offset_history": OffsetHistoryRow,
    "group_history": GroupHistoryRow,
    "member_history": MemberHistoryRow,
    "anomalies": AnomalyRow,
    "removals": RemovalRow,
    "transactions": TransactionRow,
}
Rows = dict[str, list[dict[str, Any]]]


def replay_lake(session: SparkSession, lake: Path, coordinator: str = "auto") -> Replayed:
    """Replay what a lake has ingested."""
    return replay(str(lake), lambda: session, coordinator)


def histories(lake: Path) -> Rows:
    """Return all rows of a lake's histories without their run, sorted."""
    return {name: _sorted(_without_run(rows(lake, name))) for name in TABLES}


def rows(lake: Path, table: str) -> list[dict[str, Any]]:
    return list(map(plain_rows.milliseconds, delta_rows(lake / table).to_pylist()))


def _without_run(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "run"} for row in found]


def grown(corpus: str, folder: Path, share: float) -> None:
    """Write a corpus' logs into a folder, each up to a share of its bytes."""
    for log in (CORPORA / corpus / "segments").glob("*/*.log"):
        part = folder / log.parent.name / log.name
        part.parent.mkdir(parents=True, exist_ok=True)
        data = log.read_bytes()
        part.write_bytes(data[: int(len(data) * share)])


def copy(logs: Path, share: float) -> Path:
    """Copy logs to a new folder and return it, because files read once are remembered by their path."""
    made = logs.with_name(f"{logs.name}-{share}")
    shutil.copytree(logs, made, dirs_exist_ok=True)
    return made


def _sorted(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=repr)


def plain_histories(evidence: dict[str, Path]) -> Rows:
    """Return the histories of each cluster's files, computed without a lake."""
    all_ = [each for cluster, path in evidence.items() for each in cluster_rows(cluster, path)]
    return {name: _sorted([row for table, row in all_ if table == name]) for name in TABLES}


def table_rows(cluster: str, found: Iterable[Any]) -> Rows:
    """Return rows of histories by table, with their cluster, as a lake has them."""
    names = {kind: name for name, kind in TABLES.items()}
    by_table: Rows = {name: [] for name in TABLES}
    for row in found:
        by_table[names[type(row)]].append(_fields(cluster, row))
    return {name: _sorted(some) for name, some in by_table.items()}


def cluster_rows(cluster: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of histories of a cluster's files one by one, each with its table."""
    names = {kind: name for name, kind in TABLES.items()}
    for row in _rows(path):
        yield names[type(row)], _fields(cluster, row)


def _fields(cluster: str, row: Any) -> dict[str, Any]:
    return {"cluster": cluster, **{name: _value(value) for name, value in row._asdict().items()}}


def _value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [shown(part) for part in value]
    return shown(str(value)) if isinstance(value, str) else value


def _rows(path: Path) -> Iterator[Any]:
    logs, names = _events(path), TopicNames()
    moment = Snapshot(AsOf(), names)
    for number, events in logs.items():
        replay_events((moment,), number, events)
    for number in moment.to_replay_again():
        replay_events((moment,), number, logs[number])
    for partition in moment:
        yield from rows_by_event(partition, logs[partition.log_partition], names.name)


def rows_by_event(partition: PartitionSnapshot, events: Iterable[Event], name_of: NameOf) -> Iterator[Any]:
    """Yield the rows of the histories of a partition that was replayed before, given all its events."""
    found = partition.coordinator
    coordinator = Coordinator(partition.log_partition, None if found.auto else found.rules)
    history, removals = History(name_of), RemovalTracker(partition.log_partition)
    for event in events:
        if not event.is_absence:
            history.observe_record(event.record.log_offset)
        changes = coordinator.replay(event)
        yield from removal_rows(removals.take_event(event, changes))
        yield from ended_transactions(event, changes)
        for change in changes:
            yield from history.observe_change(change)
    yield from history.flush()
    yield from history.open_rows()
    yield from removal_rows(removals.open_removals(), are_open=True)
    yield from open_transactions(coordinator.state.transactions.values(), partition.log_partition)


@cache
def _events(path: Path) -> dict[int | None, list[Event]]:
    found: dict[int | None, list[Event]] = {}
    for segment in find_segments([path.resolve()]):
        if segment.kind is SegmentKind.LOG and not segment.fate:
            events = found.setdefault(segment.log_partition, [])
            for item in read_segment(segment):
                events += map(decode, item.records) if isinstance(item, BatchRead) else ()
    return found
