"""What holds for any log, real, random or hostile: nothing raises, the log's halves add up, nothing outlives its tombstone, and
history has every state that there ever was."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from offsets_tool.checkpoint import Observers, restore, save
from offsets_tool.events import Event, Key, decode, encode_key
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.removal_tracker import RemovalTracker
from offsets_tool.history.history import History
from offsets_tool.records import RECORD_TYPES
from offsets_tool.replay.changes import ChangeKind, Group, Subject
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import LogRecord
from tests import plain_rows
from tests.cases import CASES
from tests.corpora import corpora
from tests.depth import DEEP
from tests.dialects.hostile import Hostile
from tests.history.state_from_rows import (
    changes_of,
    effective_by_rows,
    effective_by_state,
    events_of,
    facts_of_rows,
    facts_of_state,
    folded,
)
from tests.replay.hostile_sequences import GROUPS, PRODUCERS, logs
from tests.replay.random_logs import PRODUCERS as EVERY_PRODUCER
from tests.replay.random_logs import READERS, RandomLog, segment

RULES = st.sampled_from((Rules.CLASSIC, Rules.NEW, None))
CORPORA = [path.name for path in corpora()]


def replayed(events: Iterable[Event], rules: Rules | None, state: Coordinator | None = None) -> Coordinator:
    coordinator = state or Coordinator(0, rules)
    for event in events:
        coordinator.replay(event)
    return coordinator


def subjects(coordinator: Coordinator) -> dict[Subject, Any]:
    return dict(coordinator.state.subjects())


def deleted_and_committed_again() -> list[LogRecord]:
    """Return records of a classic group's generation, its tombstone, and a commit that makes it a simple group."""
    generation = next(case for case in CASES if case.type == 2 and case.value_hex)
    commit = next(case for case in CASES if case.type == 1 and case.value_hex)
    written = [(generation, generation.value_hex), (generation, None), (commit, commit.value_hex)]
    return [
        LogRecord(
            source="s",
            log_partition=0,
            log_offset=at,
            timestamp=at,
            key=encode_key(Key(RECORD_TYPES[case.type], case.key)),
            value=None if value is None else bytes.fromhex(value),
        )
        for at, (case, value) in enumerate(written)
    ]


def check_history(events: Sequence[Event], log_partition: int | None, rules: Rules | None) -> None:
    """Assert that at every log offset the rows that hold equal the state, and name the right log partition."""
    rows = folded(changes_of(events, log_partition, rules))
    coordinator = Coordinator(log_partition, rules)
    assert facts_of_rows(rows, 0) == {}
    for event in events:
        coordinator.replay(event)
        assert facts_of_rows(rows, event.record.log_offset + 1) == facts_of_state(coordinator.state)
    assert effective_by_rows(rows) == effective_by_state(coordinator.state)
    assert {row.log_partition for row in rows} <= {log_partition}


@pytest.mark.parametrize("corpus", CORPORA)
def test_history_rebuilds_the_state_at_every_position_of_real_logs(corpus: str) -> None:
    for log_partition, events in events_of(corpus).items():
        check_history(events, log_partition, None)


@given(logs(), RULES)
def test_history_rebuilds_the_state_at_every_position(log: list[LogRecord], rules: Rules | None) -> None:
    check_history([decode(record) for record in log], 0, rules)


@given(logs(), RULES)
def test_the_newest_value_of_every_subject_is_the_state(log: list[LogRecord], rules: Rules | None) -> None:
    coordinator = Coordinator(0, rules)
    newest: dict[Subject, Any] = {}
    for record in log:
        for change in coordinator.replay(decode(record)):
            if change.kind is not ChangeKind.ANOMALY:
                assert newest.get(change.subject) == change.before
                newest[change.subject] = change.after
            else:
                assert change.note
                assert change.before == change.after == newest.get(change.subject)
    assert {subject: value for subject, value in newest.items() if value is not None} == subjects(coordinator)


@given(logs(), RULES, st.data())
def test_a_log_is_its_prefix_then_its_suffix(
    log: list[LogRecord], rules: Rules | None, data: st.DataObject
) -> None:
    events = [decode(record) for record in log]
    cut = data.draw(st.integers(0, len(events)))
    first = replayed(events[:cut], rules)
    # What a proof is worth goes with the coordinator; the state alone needs its rules said.
    proved = rules is not None or first.proved_at is not None
    then = Coordinator(0, first.rules, first.state) if proved else first
    assert subjects(replayed(events[cut:], rules, then)) == subjects(replayed(events, rules))


@given(logs(), st.sampled_from(Rules))
@example(deleted_and_committed_again(), Rules.CLASSIC)
def test_replayed_twice_the_state_is_the_same(log: list[LogRecord], rules: Rules) -> None:
    """Of commits, markers and classic groups, once open transactions are aborted: else they would be open from the start.

    Not of other kinds in disorder: a tombstone of a target epoch means nothing to a group that is not there yet, the first time.
    Nor where a group last changed: a tombstone that found no offsets the first time finds them the second time.
    """
    ended = [decode(record) for record in [*log, *_written(_ABORT, PRODUCERS, 900)]]
    events = [event for event in ended if event.type_id is None or event.type_id <= 2]
    once = replayed(events, rules)
    expected = unplaced(once)
    assert unplaced(replayed(events, rules, once)) == expected


@pytest.mark.parametrize("seed", range(8))
def test_a_coordinators_own_log_replayed_twice_gives_the_same_state(seed: int, tmp_path: Path) -> None:
    """Of any kind of group, as coordinators write them; but for the place of a group's last change."""
    events = random_events(seed, tmp_path, disorder=0)
    events += map(decode, _written(_ABORT, EVERY_PRODUCER, events[-1].record.log_offset + 1))
    once = replayed(events, Rules.NEW)
    expected = unplaced(once)
    assert expected
    assert unplaced(replayed(events, Rules.NEW, once)) == expected


def unplaced(coordinator: Coordinator) -> dict[Subject, Any]:
    return {
        subject: value._replace(log_offset=0) if isinstance(value, Group) else value
        for subject, value in subjects(coordinator).items()
    }


def random_events(seed: int, folder: Path, disorder: float) -> list[Event]:
    path = folder / "00000000000000000000.log"
    path.write_bytes(segment(RandomLog(seed, READERS["4.3.1"], disorder).grow(120).placed))
    return [decode(record) for record in plain_rows.records([path])]


@pytest.mark.slow
@pytest.mark.parametrize("disorder", [0, 0.2])
@pytest.mark.parametrize("seed", range(8 if DEEP else 3))
def test_history_rebuilds_the_state_of_groups_that_live(seed: int, disorder: float, tmp_path: Path) -> None:
    for rules in Rules:
        check_history(random_events(seed, tmp_path, disorder), None, rules)


@given(logs(), st.sampled_from(Rules))
def test_tombstones_of_every_key_empty_the_state(log: list[LogRecord], rules: Rules) -> None:
    """Once open transactions are aborted; the new coordinator wants a tombstone for a simple group too, which has no other record.

    Twice, because a group of another kind that took a group's name hides it from the first.
    """
    keys = {record.key: None for record in log if not record.is_control}
    keys |= {b"\0\2" + len(group).to_bytes(2) + group: None for group in GROUPS}
    end = [*_written(_ABORT, PRODUCERS, 900), *_written(None, keys, 1000), *_written(None, keys, 2000)]
    assert subjects(replayed(map(decode, [*log, *end]), rules)) == {}


_ABORT = b"\0\0\0\0"


def _written(marker: bytes | None, each: Iterable[Any], log_offset: int) -> Iterator[LogRecord]:
    """Yield a marker for each producer id, or a tombstone of each key."""
    for at, what in enumerate(each, log_offset):
        record = LogRecord(
            source="s", log_partition=0, log_offset=at, timestamp=at, key=marker or what, value=None
        )
        yield (
            replace(record, value=bytes(6), is_control=True, producer_id=what)
            if marker
            else replace(record, producer_id=-1, is_transactional=False)
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6 if DEEP else 2))
def test_hostile_records_raise_nothing(seed: int) -> None:
    """Values at the edges, bytes that do not read, any kind of group under any name."""
    events = [
        decode(LogRecord(source="s", log_partition=0, log_offset=at, timestamp=at, key=key, value=value))
        for at, (key, value) in enumerate(Hostile(seed).records(400))
    ]
    for rules in Rules:
        check_history(events, 0, rules)


def check_checkpoints(events: Sequence[Event], rules: Rules | None, stride: int = 1) -> None:
    """Assert that what a replay observes besides is the same when it is saved and restored on the way, also within a batch."""
    coordinator, tracker, facts = Coordinator(0, rules), RemovalTracker(0), LogFacts()
    for number, event in enumerate(events):
        at = event.record.log_offset
        if number % stride == 0:
            told = Observers(History(), facts, tracker.lifetimes, tracker.changed)
            checkpoint = restore(save(coordinator, at, told))
            assert checkpoint.observers is not None
            assert checkpoint.observers.log_facts == facts
            assert checkpoint.observers.lifetimes.by_group == tracker.lifetimes.by_group
            assert checkpoint.observers.changed == tracker.changed
            coordinator, facts = checkpoint.coordinator, checkpoint.observers.log_facts
        facts.observe_offsets(at, at, None)
        facts.observe(event)
        list(tracker.take_event(event, coordinator.replay(event)))
    whole = LogFacts()
    for event in events:
        at = event.record.log_offset
        whole.observe_offsets(at, at, None)
        whole.observe(event)
    assert facts == whole


@given(logs(), RULES)
def test_what_is_observed_goes_on_where_it_was_left(log: list[LogRecord], rules: Rules | None) -> None:
    check_checkpoints([decode(record) for record in log], rules)


@pytest.mark.slow
@pytest.mark.parametrize("corpus", CORPORA)
def test_what_is_observed_of_real_logs_goes_on_where_it_was_left(corpus: str) -> None:
    for events in events_of(corpus).values():
        check_checkpoints(events, None, stride=max(1, len(events) // 40))
