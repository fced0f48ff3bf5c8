"""Time replays of a segment to the coordinator's state and to its history, and Kafka's own coordinator doing the former."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from bench.benchmark import Room
from bench.inputs import Input, write_large
from bench.pace import Entry, Ratio, Timed, race, timed
from bench.table import Table, number, times, without_marks
from bench.tally import Tally, agreed
from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.columns.decode import Origin
from offsets_tool.columns.reading import RowReader, RowsRead
from offsets_tool.events import Event, decode
from offsets_tool.history.history import History
from offsets_tool.log.segment import read_segment
from offsets_tool.relations.histories import replay_batches
from offsets_tool.relations.moments import replay_rows
from offsets_tool.relations.replays import Start
from offsets_tool.relations.row_events import rows_of, with_raw
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.state import State
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.rows import BatchRead
from oracle.client import Oracle
from oracle.jars import NEWEST

_MIXES: Final = {
    "commits": "commits",
    "transactions, tombstones, metadata": "rich",
    "20 % classic group metadata": "rebalances",
    "20 % KIP-848 records": "consumer-groups",
}
_KAFKA: Final = "Kafka's coordinator in a warm JVM: state"
_SHARE: Final = 0.25
_ONE_BY_ONE: Final = 10_000
"""The number of events that readers of one event at a time replay: enough for a rate."""
_ROUNDS: Final = 5
_TIMES: Final = (1, 4, 16)
"""How many times the usual segment the sizes are at which the cost of a record is told."""


def replay_table(room: Room) -> Table:
    """Return the table of replays, a column for each mix; readers must agree on the state before their time counts."""
    rows: dict[str, list[str]] = {}
    ratios: dict[str, Ratio] = {}
    for mix, name in _MIXES.items():
        ran = _timed(room.oracle, Input(name, _SHARE).path())
        for row in ran.values():
            ratio = row.against(ran[_KAFKA])
            rows.setdefault(row.name, [row.name]).append(f"{number(row.rate)} ({times(ratio.value)})")
            if row.name != _KAFKA:
                ratios[f"{without_marks(row.name)}, {mix}"] = ratio
    title = "Replay of a segment, reading and decoding included, one core, M records/s (Kafka = 1):"
    return Table(title, ("", *_MIXES), list(rows.values()), ratios)


def sizes_table(room: Room) -> Table:
    """Return the table of what a record costs in segments of several sizes, which are timed in turn."""
    paths = {}
    for many in _TIMES:
        path = room.folder / f"{many}" / "__consumer_offsets-0" / "00000000000000000000.log"
        paths[f"{write_large(Input('rich', _SHARE), many, path) / 2**20:.0f} MB"] = path
    rows: list[Sequence[str]] = []
    ratios: dict[str, Ratio] = {}
    for name, replay in {"state": by_column, "history": history_by_column}.items():
        ran = race([_of_size(size, replay, path) for size, path in paths.items()])
        first, *larger = ran.values()
        cells = [f"{number(1 / row.rate)} ({times(1 / row.against(first).value)})" for row in ran.values()]
        rows.append((name, *cells))
        ratios |= {f"{name}, {row.name}": row.against(first) for row in larger}
    title = "What a record costs by column, µs of one core, transactions among them (the smallest = 1):"
    return Table(title, ("", *paths), rows, ratios)


def _of_size(size: str, replay: Callable[[Path], object], path: Path) -> Entry:
    records: int = sum(read.log.num_rows for read in _rows_read(path) if read.log is not None)
    return Entry(size, timed(lambda: replay(path)), records, warms=False)


def _rows_read(path: Path) -> Iterator[RowsRead]:
    return (read for read in RowReader().read(path, Origin("", "", 0, 0)) if isinstance(read, RowsRead))


def _timed(oracle: Oracle, path: Path) -> dict[str, Timed]:
    events = sum(1 for _ in _events(path))
    few = min(events, _ONE_BY_ONE)
    agreed(path.parent.parent.name, tallies(oracle, path))
    return race([
        Entry(_KAFKA, kafka_load(oracle, path), events, _ROUNDS),
        Entry("**ours**, one event at a time: state", timed(lambda: one_at_a_time(path, few)), few, _ROUNDS, False),
        Entry("**ours**, one event at a time: history", timed(lambda: history(path, few)), few, _ROUNDS, False),
        Entry("**ours**, by column: state", timed(lambda: by_column(path)), events, _ROUNDS),
        Entry("**ours**, by column: history", timed(lambda: history_by_column(path)), events, _ROUNDS),
    ])  # fmt: skip


def tallies(oracle: Oracle, path: Path) -> dict[str, Tally]:
    """Return the tally of the state after a segment, by the name of each reader."""
    return {
        "Kafka": kafka_tally(oracle, path),
        "one at a time": state_tally(one_at_a_time(path)),
        "by column": state_tally(by_column(path)),
    }


def _events(path: Path, most: int | None = None) -> Iterator[Event]:
    reads = (item for item in read_segment(path, log_partition=0) if isinstance(item, BatchRead))
    return islice((decode(record) for read in reads for record in read.records), most)


def one_at_a_time(path: Path, most: int | None = None) -> State:
    """Return the state after a segment, replayed by Coordinator.replay event by event; at most so many events."""
    coordinator = Coordinator(0)
    for event in _events(path, most):
        coordinator.replay(event)
    return coordinator.state


def history(path: Path, most: int | None = None) -> None:
    """Replay a segment by Coordinator.replay into rows of its history, which are dropped; at most so many events."""
    coordinator, history = Coordinator(0), History()
    for event in _events(path, most):
        for change in coordinator.replay(event):
            history.observe_change(change)


def by_column(path: Path) -> State:
    """Return the state after a segment, replayed by column as `offsets-tool offsets` does with large segments."""
    moment = Snapshot(AsOf(), TopicNames())
    replay_rows((moment,), 0, rows_of(_rows_read(path)))
    [partition] = moment
    return partition.state


def history_by_column(path: Path) -> int:
    """Replay a segment by column into rows of its histories, as `offsets-spark replay` does, and return how many are of offsets."""
    both = ((read.log, read.events) for read in _rows_read(path))
    rows = (with_raw(log, events) for log, events in both if log is not None and events is not None)
    return sum(each.offsets.num_rows for each in replay_batches(Start(0), rows))


def state_tally(state: State) -> Tally:
    """Return what a state holds as a tally: pending commits, committed offsets, their sum, and groups."""
    offsets = [commit for offsets in state.offsets.values() for commit in offsets.values()]
    pending = sum(map(len, state.pending.values()))
    return Tally(pending, len(offsets), sum(commit.committed_offset for commit in offsets), len(state.groups))


def kafka_tally(oracle: Oracle, path: Path) -> Tally:
    """Return the tally of what Kafka's coordinator holds after it has loaded the segment."""
    [loaded] = oracle.load(NEWEST, path)
    offsets = loaded.offsets.values()
    pending = sum(map(len, loaded.pending.values()))
    return Tally(
        pending, len(offsets), sum(commit.committed_offset for commit in offsets), len(loaded.groups)
    )


def kafka_load(oracle: Oracle, path: Path) -> Callable[[], float]:
    """Return a function that loads a segment by Kafka's coordinator, and returns the CPU seconds of the whole JVM."""

    def run() -> float:
        began = oracle.cpu_seconds()
        oracle.load_and_drop(NEWEST, path)
        return oracle.cpu_seconds() - began

    return run
