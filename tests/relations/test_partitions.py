"""Removals by rows are those that events give, one at a time: wherever the moment lies and however the rows are cut."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.columns.reading import RowsRead
from offsets_tool.events import decode
from offsets_tool.expiry.forecast import PartitionRemovals, all_removals
from offsets_tool.relations.partitions import replayed_columns
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.rows import LogRecord
from tests.columns.replay.test_state import cut, rows_of
from tests.relations.test_moments import MOMENTS
from tests.replay.hostile_sequences import logs
from tests.test_checkpoint import RULES


def comparable(found: PartitionRemovals) -> list[Any]:
    """Return what must be equal: where offsets are missing, only the facts of rows say."""
    facts = replace(found.facts, proven_from=0, _next_offset=0)
    return [
        found.changed,
        sorted(found.removals, key=repr),
        sorted(found.dropped, key=repr),
        sorted(found.longest, key=repr),
        found.log_end,
        facts,
    ]


@given(logs(), MOMENTS, st.sampled_from(RULES), st.lists(st.integers(1, 20), min_size=1, max_size=4))
def test_any_log_at_any_moment(
    log: list[LogRecord], as_of: AsOf, rules: Rules | None, sizes: list[int]
) -> None:
    check(log, as_of, rules, sizes)


def check(log: list[LogRecord], as_of: AsOf, rules: Rules | None, sizes: list[int]) -> None:
    """Assert that removals up to a moment are the same by rows, cut into these sizes, as by events."""
    moment = Snapshot(as_of, TopicNames(), rules)
    moment.replay(0, map(decode, log))
    [partition] = moment
    again = Coordinator(0, None if partition.coordinator.auto else partition.coordinator.rules)
    events = [event for event in map(decode, log) if event.record.log_offset < partition.end]
    [by_events] = all_removals([(partition, ((each, again.replay(each)) for each in events))])

    def reads() -> Iterator[RowsRead]:
        for rows in cut(rows_of(log), sizes):
            yield RowsRead(0, 0, rows, rows.drop_columns(["magic", "key", "value"]))

    by_rows = replayed_columns(partition, reads(), TopicNames().name)
    assert comparable(by_rows.removals) == comparable(by_events)
