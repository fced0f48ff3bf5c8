"""Time replays of a segment to the coordinator's state and to its history, and Kafka's own coordinator doing the former."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from bench.inputs import Input, write_large
from bench.pace import Entry, race, timed
from bench.table import Table, number, times
from bench.tally import Tally, agreed
from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.columns.origin import Origin
from offsets_tool.columns.reading import RowReader, RowsRead
from offsets_tool.columns.replay.history import Start, replay_batches
from offsets_tool.columns.replay.row_events import with_raw
from offsets_tool.columns.replay.snapshot import replay_read
from offsets_tool.events import Event, decode
from offsets_tool.history.history import History
from offsets_tool.log.segment import read_segment
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
_SHARE: Final = 0.2
_ONE_BY_ONE: Final = 30_000
"""The number of events that readers of one event at a time replay: enough for a rate."""
_ROUNDS: Final = 5
_TIMES: Final = (1, 4, 16, 48)
"""How many times the usual segment the sizes are at which the cost of a record is told."""


def replay_table(oracle: Oracle) -> Table:
    """Return the table of replays, a column for each mix; readers must agree on the state before their time counts."""
    by_mix = [_rates(oracle, Input(mix, _SHARE).path()) for mix in _MIXES.values()]
    rows = [(name, *(number(rates[name]) for rates in by_mix)) for name in by_mix[0]]
    return Table(
        "Replay of a segment, reading and decoding included, one core, M records/s:", ("", *_MIXES), rows
    )


def sizes_table(folder: Path) -> Table:
    """Return what a record costs in segments of four sizes; each is made in `folder` and removed."""
    heads, by_size = [""], list[tuple[float, float]]()
    for many in _TIMES:
        path = folder / f"{many}" / "__consumer_offsets-0" / "00000000000000000000.log"
        size = write_large(Input("rich", _SHARE), many, path)
        heads.append(f"{size / 2**20:.0f} MB")
        by_size.append((_cost(by_column, path), _cost(history_by_column, path)))
        path.unlink()
    rows = [
        (name, *(f"{number(cost)} ({times(cost / costs[0])})" for cost in costs))
        for name, costs in zip(("state", "history"), zip(*by_size, strict=True), strict=True)
    ]
    return Table(
        "What a record costs by column, microseconds of one core, transactions among them:", heads, rows
    )


def _cost(replay: Callable[[Path], object], path: Path) -> float:
    """Return the microseconds that a replay takes for a record, in the better of two runs."""
    records: int = sum(read.log.num_rows for read in _rows_read(path) if read.log is not None)
    return min(timed(lambda: replay(path))() for _ in range(2)) / records * 1e6


def _rows_read(path: Path) -> Iterator[RowsRead]:
    return (read for read in RowReader().read(path, Origin("", "", 0, 0)) if isinstance(read, RowsRead))


def _rates(oracle: Oracle, path: Path) -> dict[str, float]:
    events = sum(1 for _ in _events(path))
    few = min(events, _ONE_BY_ONE)
    agreed(path.parent.parent.name, tallies(oracle, path))
    ran = race([
        Entry("Kafka's coordinator in a warm JVM: state", _kafka(oracle, path), events, _ROUNDS),
        Entry("**ours**, one event at a time: state", timed(lambda: one_at_a_time(path, few)), few, _ROUNDS, False),
        Entry("**ours**, one event at a time: history", timed(lambda: history(path, few)), few, _ROUNDS, False),
        Entry("**ours**, by column: state", timed(lambda: by_column(path)), events, _ROUNDS),
        Entry("**ours**, by column: history", timed(lambda: history_by_column(path)), events, _ROUNDS),
    ])  # fmt: skip
    return {name: row.rate for name, row in ran.items()}


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
    replay_read((moment,), 0, _rows_read(path))
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


def _kafka(oracle: Oracle, path: Path) -> Callable[[], float]:
    """Return a function that loads a segment by Kafka's coordinator and returns the CPU seconds of the whole JVM."""

    def run() -> float:
        began = oracle.cpu_seconds()
        oracle.load(NEWEST, path)
        return oracle.cpu_seconds() - began

    return run
