"""Absences among the records of a log: by rows, cut anywhere, they do what they do one at a time; wherever a moment lies."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pyarrow as pa
import pytest

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import Snapshot, replay_events
from offsets_tool.events import Event, decode, decode_absences
from offsets_tool.evidence.partition_histories import EventHistories
from offsets_tool.log.copies.views import Keys
from offsets_tool.relations.histories import Histories, replay_batches, restore_live
from offsets_tool.relations.joined_rows import absence_rows
from offsets_tool.relations.partitions import RowHistories
from offsets_tool.relations.replays import Start
from offsets_tool.relations.row_events import COLUMNS
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.rows import NO_TIMESTAMP, Absence, LogRecord
from tests.depth import DEEP
from tests.relations.log_rows import assert_equal, cut
from tests.relations.log_rows import rows_of as raw_rows_of
from tests.relations.test_happenings import asked, assert_same_of
from tests.relations.test_histories import expected_of, rows_of, sorted_rows
from tests.relations.test_joint_logs import JointLog
from tests.relations.test_moments import comparable
from tests.relations.test_partitions import QUESTIONS, audits, unread
from tests.test_checkpoint import RULES

Item = LogRecord | list[Absence]


def with_absences(records: Sequence[LogRecord], random: Random) -> list[Item]:
    """Return records with absences between them: of what is effective or pending, seldom of what is not there."""
    keys, items, newest = Keys(), list[Item](), NO_TIMESTAMP
    share = random.choice((0.02, 0.1, 0.4))
    for record, following in pairwise([*records, None]):
        assert record is not None
        items.append(record)
        keys.observe(record, 1)
        newest = max(newest, record.timestamp)
        end = record.log_offset + 3 if following is None else following.log_offset
        if end > record.log_offset and random.random() < share:
            by = random.randint(record.log_offset + 1, end)
            items.append(list(_absences(keys, by, newest, random)) or [])
    return [item for item in items if item != []]


def _absences(keys: Keys, by: int, newest: int, random: Random) -> list[Absence]:
    some = random.random()

    def absent(key: bytes, producer: int | None) -> Absence:
        return Absence(0, key, by, newest, "copy", producer)

    absences = []
    for producer, waiting in keys.waiting.items():
        for key in [key for key in waiting if random.random() < some]:
            del waiting[key]
            absences.append(absent(key, producer))
    for key in [key for key in keys.values if random.random() < some]:
        gone = keys.values.pop(key)
        absences.append(absent(key, None))
        if random.random() < 0.05:
            absences.append(absent(key, None))
        elif random.random() < 0.05:
            keys.values[key] = gone
    return absences


def events_of(items: Sequence[Item]) -> list[Event]:
    """Return the events of records and absences."""
    return [
        event
        for item in items
        for event in (decode_absences(item) if isinstance(item, list) else (decode(item),))
    ]


def pages_of(items: Sequence[Item], *, whole: bool = False) -> pa.RecordBatch:
    """Return records and absences as rows; if they are not `whole`, sound commits without raw bytes."""
    pages = list[pa.RecordBatch]()
    for item in items:
        if isinstance(item, list):
            pages += [rows.select(COLUMNS) for rows in absence_rows(item)]
        else:
            pages += raw_rows_of([item]) if whole else [rows_of([item])]
    schema = pages[0].schema
    return pa.Table.from_batches([page.cast(schema) for page in pages]).combine_chunks().to_batches()[0]


def drawn(seed: int) -> tuple[list[Item], Rules | None]:
    """Return a log with absences, and the rules of its replay."""
    random = Random(~seed)
    return with_absences(JointLog(seed).records(random.choice((40, 90, 150))), random), RULES[
        seed % len(RULES)
    ]


SEEDS = range(400) if DEEP else range(12)
SIZES = ([1], [2], [7], [1000])


@pytest.mark.parametrize("seed", SEEDS)
def test_histories_and_the_state_at_the_end(seed: int) -> None:
    items, rules = drawn(seed)
    wanted, coordinator = expected_of(events_of(items), rules, 0), Coordinator(0, rules)
    for event in events_of(items):
        coordinator.replay(event)
    rows = pages_of(items)
    for sizes in SIZES:
        assert sorted_rows(list(replay_batches(Start(0, {}, rules), cut([rows], sizes)))) == wanted
        replay = Histories(Start(0, {}, rules))
        for page in cut([rows], sizes):
            replay.replay(page)
        assert_equal(restore_live(replay.leave().checkpoint, "c").coordinator, coordinator)
        of_state = Histories(Start(0, {}, rules), is_for_state=True)
        for page in cut([rows], sizes):
            of_state.replay_state(page)
        assert_equal(of_state.live_state().coordinator, coordinator)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_questions_at_moments(seed: int, question: object) -> None:
    items, rules = drawn(seed)
    random, events, rows = Random(seed), events_of(items), pages_of(items, whole=True)
    record = random.choice(events).record
    for as_of in (AsOf(), AsOf(time=record.timestamp), AsOf(ends={0: record.log_offset})):
        moment = Snapshot(as_of, TopicNames(), rules)
        replay_events((moment,), 0, events)
        [partition] = moment
        answer = question(by_events(partition, events))
        name_of, sizes = TopicNames().name, random.choice(SIZES)
        assert question(RowHistories(partition, cut([rows], sizes), name_of)) == answer
        if question is not audits:
            at_once = Snapshot(as_of, TopicNames(), rules)
            replayed = at_once.begin(0)
            assert question(RowHistories(replayed, cut([rows], sizes), name_of, at_once.names)) == answer
            assert comparable(at_once) == comparable(moment)
            assert unread(replayed) == unread(partition)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_happened(seed: int) -> None:
    items, rules = drawn(seed)
    rows = pages_of(items, whole=True)
    for sizes in SIZES:
        assert_same_of(events_of(items), [rows], rules, sizes, asked())


def by_events(partition: object, events: Sequence[Event]) -> EventHistories:
    """Return the histories of a log up to a moment, of its events."""
    again = Coordinator(0, None if partition.coordinator.auto else partition.coordinator.rules)
    replayed = (
        (event, again.replay(event)) for event in events if event.record.log_offset < partition.read_to
    )
    return EventHistories(partition, replayed, TopicNames().name)
