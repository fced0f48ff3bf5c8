"""Each question of a log partition has the same answer by rows as by single events: wherever the moment lies and rows are cut."""

from dataclasses import replace
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot, replay_events
from offsets_tool.events import decode
from offsets_tool.evidence.partition_histories import EventHistories, PartitionHistories
from offsets_tool.history.assignment_audits import AssignmentAudits
from offsets_tool.history.rows import AnomalyRow, GroupHistoryRow, MemberHistoryRow, OffsetHistoryRow
from offsets_tool.relations.partitions import RowHistories
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.rows import LogRecord
from tests.relations.log_rows import cut, rows_of
from tests.relations.test_generations import values_of_epochs
from tests.relations.test_moments import MOMENTS, comparable
from tests.replay.hostile_sequences import logs
from tests.test_checkpoint import RULES


def rows(histories: PartitionHistories) -> list[Any]:
    """Return all rows, which come in any order."""
    kinds = OffsetHistoryRow, GroupHistoryRow, MemberHistoryRow, AnomalyRow
    return sorted(histories.rows(*kinds), key=repr)


def ended_transactions(histories: PartitionHistories) -> list[Any]:
    """Return what each marker ended, in the order of the log."""
    return list(histories.ended_transactions())


def audits(histories: PartitionHistories) -> list[Any]:
    """Return the audits of assignments, which follow the changes of groups."""
    made = AssignmentAudits(TopicNames().name, committed=histories.partition.state)
    return [row for row in map(made.follow, histories.group_changes()) if row is not None]


def records(histories: PartitionHistories) -> list[int]:
    """Return the log offsets of the records that are given to an observer."""
    offsets: list[int] = []
    histories.observe_records(
        lambda event: offsets.extend(() if event.is_absence else (event.record.log_offset,)),
        lambda rows: offsets.extend(rows.column("log_offset").to_pylist()),
    )
    return offsets


def removals(histories: PartitionHistories) -> list[Any]:
    """Return what must be equal of removals: where offsets are missing, only the facts of rows say."""
    of = histories.removals()
    facts = replace(of.facts, proven_from=0, _next_offset=0)
    lists = (sorted(each, key=repr) for each in (of.removals, of.longest))
    return [of.changed, *lists, of.log_end, facts]


QUESTIONS: Final = (rows, ended_transactions, audits, records, removals)


@pytest.mark.parametrize("question", QUESTIONS)
@given(logs(), MOMENTS, st.sampled_from(RULES), st.lists(st.integers(1, 20), min_size=1, max_size=4))
def test_any_log_at_any_moment(
    question: Any, log: list[LogRecord], as_of: AsOf, rules: Rules | None, sizes: list[int]
) -> None:
    check(question, log, as_of, rules, sizes)


@pytest.mark.parametrize("question", QUESTIONS)
def test_groups_that_have_epochs(question: Any) -> None:
    log = values_of_epochs(Random(3), 400)
    for rules in RULES:
        check(question, log, AsOf(), rules, [200, 30])


def check(question: Any, log: list[LogRecord], as_of: AsOf, rules: Rules | None, sizes: list[int]) -> None:
    """Assert that a question has the same answer by rows as by events."""
    moment = Snapshot(as_of, TopicNames(), rules)
    replay_events((moment,), 0, map(decode, log))
    [partition] = moment
    answer = question(by_events(partition, log))
    name_of = TopicNames().name
    assert question(RowHistories(partition, cut(rows_of(log), sizes), name_of)) == answer
    if question is audits:
        return
    at_once = Snapshot(as_of, TopicNames(), rules)
    replayed = at_once.begin(0)
    by_rows = RowHistories(replayed, cut(rows_of(log), sizes), name_of, at_once.names)
    assert question(by_rows) == answer
    assert comparable(at_once) == comparable(moment)
    assert unread(replayed) == unread(partition)


def unread(partition: PartitionSnapshot) -> tuple[int, int | None]:
    """Return how many records were not understood, and where the first is."""
    first = partition.first_unread
    return partition.unread_records, None if first is None else first.log_offset


def by_events(partition: PartitionSnapshot, log: list[LogRecord]) -> EventHistories:
    """Return the histories of a log up to a moment, of its events."""
    again = Coordinator(0, None if partition.coordinator.auto else partition.coordinator.rules)
    events = (event for event in map(decode, log) if event.record.log_offset < partition.end)
    replayed = ((event, again.replay(event)) for event in events)
    return EventHistories(partition, replayed, TopicNames().name)
