"""A moment by time is the moment by positions where its partitions are cut; a moment knows no record behind it."""

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from offsets_tool.as_of.as_of import AsOf, timestamp_of
from offsets_tool.as_of.snapshot import Snapshot, replay_events
from offsets_tool.events import Event
from offsets_tool.replay.topic_names import TopicNames
from tests.history.state_from_rows import events_of

CORPORA = ("0.8.2.2-to-0.11.0.3-upgrade", "3.3.2-mix", "3.7.2-compaction", "4.3.1-txn", "4.3.1-newgroups")


def replayed(logs: dict[int, list[Event]], as_of: AsOf) -> Snapshot:
    moment = Snapshot(as_of, TopicNames())
    for number, log in logs.items():
        replay_events((moment,), number, log)
    return moment


def states(moment: Snapshot) -> dict[int | None, Any]:
    return {p.log_partition: dict(p.state.subjects()) for p in moment}


def naive_end(log: Iterable[Event], time: int) -> int:
    """Return the offset of the first record later than a time, by looking at each record."""
    last = 0
    for event in log:
        at = timestamp_of(event)
        if at is not None and at > time:
            return event.record.log_offset
        last = event.record.log_offset + 1
    return last


@pytest.mark.parametrize("corpus", CORPORA)
def test_a_time_is_the_positions_where_it_cuts(corpus: str) -> None:
    logs = events_of(corpus)
    times = sorted({at for log in logs.values() for event in log if (at := timestamp_of(event)) is not None})
    for time in [times[0] - 1, *Random(1).sample(times, 12), times[-1]]:
        by_time = replayed(logs, AsOf(time=time))
        ends = {number: naive_end(log, time) for number, log in logs.items()}
        assert states(by_time) == states(replayed(logs, AsOf(ends=ends))), time
        assert {p.log_partition: p.end for p in by_time} == ends


@pytest.mark.parametrize("corpus", CORPORA)
def test_what_lies_behind_a_moment_changes_nothing_that_is_known(corpus: str) -> None:
    """The log cut off at the moment has the same state, and where nothing is gone, all of it is known."""
    logs = events_of(corpus)
    ends = {number: log[len(log) // 2].record.log_offset for number, log in logs.items()}
    moment = replayed(logs, AsOf(ends=ends))
    cut = {
        number: [event for event in log if event.record.log_offset < ends[number]]
        for number, log in logs.items()
    }
    assert states(moment) == states(replayed(cut, AsOf()))
    for p in moment:
        offsets = {event.record.log_offset for event in cut[p.log_partition or 0]}
        missing = set(range(ends[p.log_partition or 0])) - offsets
        assert p.coverage.missing == len(missing)
        assert p.coverage.proven_from == max(missing, default=-1) + 1
        assert bool(p.coverage.unknown) <= bool(missing)


def test_the_whole_log_is_a_moment_that_needs_no_keys() -> None:
    logs = events_of("3.7.2-compaction")
    moment = replayed(logs, AsOf())
    assert moment.as_of.is_end and sum(p.coverage.missing for p in moment) > 0
    assert all(p.coverage.unknown == {} for p in moment)


def test_a_compacted_log_has_unknown_values_at_an_earlier_moment_and_fewer_the_later_it_is() -> None:
    logs = events_of("3.7.2-compaction")
    counts = []
    for share in (4, 2, 1):
        ends = {number: log[-1].record.log_offset // share + 1 for number, log in logs.items()}
        counts.append(sum(len(p.coverage.unknown) for p in replayed(logs, AsOf(ends=ends))))
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1] == 0
