"""The state and the lifetimes that relations come to are those of Coordinator and RemovalTracker, record by record."""

import gc
import weakref
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.events import Key, Value, decode, encode_key, encode_value
from offsets_tool.expiry.removal_tracker import RemovalTracker
from offsets_tool.records import RECORD_TYPES
from offsets_tool.relations.histories import Histories, restore_live
from offsets_tool.relations.replays import Start
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import LogRecord
from tests.cases import CASES
from tests.depth import DEEP, sample
from tests.relations.log_rows import assert_equal, cut
from tests.relations.log_rows import rows_of as rows_as_spark
from tests.relations.test_generations import values_of_epochs
from tests.relations.test_histories import log_facts_of, parts, random_log, rows_of
from tests.replay.hostile_sequences import Writing, logs, written
from tests.replay.picture import Picture, picture
from tests.replay.random_logs import READERS
from tests.replay.stories import STORIES
from tests.replay.story import LOG_PARTITION, Story, events_of
from tests.test_checkpoint import RULES


def check(records: list[LogRecord], cuts: Iterable[int], rules: Rules | None) -> None:
    """Assert that the state behind all rows, however they are cut, is the one behind all records."""
    coordinator, tracker = Coordinator(0, rules), RemovalTracker(0)
    for event in map(decode, records):
        list(tracker.take_event(event, coordinator.replay(event)))
    tracker.close()
    histories = Histories(Start(0, {}, rules))
    for batch in parts(rows_of(records), cuts):
        histories.replay(batch)
    checkpoint = histories.leave().checkpoint
    live = restore_live(checkpoint, "c")
    assert_equal(live.coordinator, coordinator)
    assert live.lifetimes.by_group == tracker.lifetimes.by_group
    assert live.changed == tracker.changed
    check_state_alone(records, cuts, coordinator, tracker)


def check_state_alone(
    records: list[LogRecord], cuts: Iterable[int], coordinator: Coordinator, tracker: RemovalTracker
) -> None:
    """Assert that rows replayed for nothing but the state, with values that wait for later ones, come to the same."""
    rules = None if coordinator.auto else coordinator.rules
    # Rows may tell of values that they read, or not.
    for rows in (
        rows_of(records),
        pa.Table.from_batches(rows_as_spark(records)).combine_chunks().to_batches()[0],
    ):
        replay = Histories(Start(0, {}, rules), is_for_state=True)
        for batch in parts(rows, cuts):
            replay.replay_state(batch)
        live = replay.live_state()
        assert_equal(live.coordinator, coordinator)
        assert live.lifetimes.by_group == tracker.lifetimes.by_group
        assert replay.facts == log_facts_of(records)


@pytest.mark.parametrize("is_for_state", [False, True])
def test_a_replay_that_is_over_is_gone_at_once(is_for_state: bool, tmp_path: Path) -> None:
    """Python is made to look for cycles seldom: none may hold what was replayed."""
    rows = rows_of(random_log(tmp_path, "4.1.2", 3))
    gc.disable()
    try:
        histories = Histories(Start(0), is_for_state=is_for_state)
        if is_for_state:
            histories.replay_state(rows)
            histories.end_state()
        else:
            histories.replay(rows)
            histories.leave()
        gone = weakref.ref(histories)
        del histories
        assert gone() is None
    finally:
        gc.enable()


TOLD = [pytest.param(story, rules, id=f"{story}-{rules}") for story in STORIES for rules in story.rules]


@pytest.mark.parametrize(("story", "rules"), sample(TOLD, 3))
def test_a_story_ends_as_told(story: Story, rules: Rules, tmp_path: Path) -> None:
    """Where a story ends: what was impossible on the way is no part of it."""
    rows = rows_as_spark(event.record for event in events_of(story, tmp_path))
    ends = Picture(**(vars(story.expected(rules)) | {"anomalies": ()}))
    for size in (1, 2, 100):
        replay = Histories(Start(LOG_PARTITION, {}, rules), is_for_state=True)
        for batch in cut(rows, [size]):
            replay.replay_state(batch)
        assert picture(replay.live_state().coordinator.state, ()) == ends


@given(logs(), st.sampled_from(RULES), st.lists(st.integers(1, 60), max_size=4))
def test_any_log_however_it_is_cut(log: list[LogRecord], rules: Rules | None, cuts: list[int]) -> None:
    if log:
        check(log, cuts, rules)


@pytest.mark.parametrize("seed", range(200) if DEEP else range(2))
def test_values_of_groups_that_wait(seed: int) -> None:
    random = Random(seed)
    log = values_of_epochs(random, 400)
    for rules in RULES:
        for size in (400, random.randrange(1, 200)):
            check(log, range(0, 400, size), rules)


@pytest.mark.parametrize(
    ("release", "seed"), sample([(release, seed) for seed in range(4) for release in READERS], 5)
)
def test_random_logs(release: str, seed: int, tmp_path: Path) -> None:
    records = random_log(tmp_path, release, seed)
    for rules in RULES:
        check(records, range(0, len(records), 40), rules)


def generations(*numbers: int, sequence: int = -1) -> list[LogRecord]:
    """A classic group's record for each generation, and a commit of the group after each."""
    of_group, of_offset = (case for case in CASES if case.name in ("group_v3", "commit_v3"))
    if of_group.type != 2:
        of_group, of_offset = of_offset, of_group
    records = []
    for number in numbers:
        value = encode_value(Value(3, "0.9", replace(of_group.value, generation=number)))
        for case, data, first in (
            (of_group, value, sequence),
            (of_offset, bytes.fromhex(of_offset.value_hex or ""), -1),
        ):
            key, at = encode_key(Key(RECORD_TYPES[case.type], case.key)), len(records)
            records.append(
                written(Writing(-1, False, True, first), at, at, 1_700_000_000_000, key, data, False)
            )
    return records


@pytest.mark.parametrize(
    "log", [generations(3, 4, sequence=0), generations(3, 4) + generations(0, sequence=7)[:1]]
)
def test_what_proves_the_new_coordinator_is_seen_where_it_stands(log: list[LogRecord]) -> None:
    log = [replace(record, log_offset=at) for at, record in enumerate(log)]
    coordinator = Coordinator(0)
    for event in map(decode, log):
        coordinator.replay(event)
    assert coordinator.proved_at is not None
    for size in (1, len(log)):
        check(log, range(0, len(log), size), None)
