"""Histories by rows are histories record by record, wherever rows are cut and wherever replay is left and gone on with."""

import io
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.generator.batches import write_batches
from bench.generator.mixes import MIXES
from offsets_tool.checkpoint import read_log_facts
from offsets_tool.columns.decode import decode_batches, log_batches
from offsets_tool.events import Event, Key, Value, decode, encode_key, encode_value
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.removal_tracker import RemovalTracker
from offsets_tool.expiry.rows import RemovalRow, removal_rows
from offsets_tool.history.history import History
from offsets_tool.history.rows import HistoryRow
from offsets_tool.history.transactions import TransactionRow, ended_transactions, open_transactions
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.classic import GroupMetadataKey, GroupMetadataValue
from offsets_tool.records.kinds import GROUP_METADATA
from offsets_tool.relations.histories import Histories, replay_batches
from offsets_tool.relations.replays import ROWS, HistoryRows, ReplayEnd, Start
from offsets_tool.relations.row_events import COLUMNS, with_raw
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules, RulesUsed
from offsets_tool.rows import LogRecord
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.text import shown_row
from tests import plain_rows
from tests.cases import COMMIT_KEY, commit
from tests.corpora import folder_of, partitions
from tests.depth import DEEP, sample
from tests.relations.log_rows import PARTITIONS, live_segments
from tests.replay.hostile_sequences import Writing, logs, written
from tests.replay.random_logs import READERS, RandomLog, segment
from tests.test_checkpoint import RULES

RAW = ("magic", "key", "value")
ENDS = {
    name: "marker_log_offset" if name == "transactions" else "to_log_offset"
    for name in HistoryRows._fields
    if name != "anomalies"
}
"""By kind of rows, the column that tells where one ended."""
OF_COMMITS = [name for name in COLUMNS[COLUMNS.index("record_type") :] if name not in RAW]


def rows_of(records: Iterable[LogRecord]) -> pa.RecordBatch:
    """Return records as rows; only records that are no sound commits keep their raw bytes."""
    log = list(log_batches(records, cluster="", source="s", run=1))
    batches = [with_raw(*both) for both in zip(log, decode_batches(log), strict=True)]
    rows = pa.Table.from_batches(batches).combine_chunks()
    is_commit = pc.and_(rows["topic"].is_valid(), rows["problem"].is_null())
    columns = {name: rows[name] for name in COLUMNS}
    for names, theirs in ((RAW, pc.invert(is_commit)), (OF_COMMITS, is_commit)):
        for name in names:
            columns[name] = pc.if_else(theirs, columns[name], pa.scalar(None, columns[name].type))
    return pa.table(columns).combine_chunks().to_batches()[0]


def random_log(folder: Path, release: str, seed: int, size: int = 90) -> list[LogRecord]:
    """Return the records of a random log of partition 3."""
    path = folder / "__consumer_offsets-3" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(segment(RandomLog(seed, READERS[release], disorder=0.1 * (seed % 2)).grow(size).placed))
    return list(plain_rows.records([path]))


def parts(rows: pa.RecordBatch, cuts: Iterable[int]) -> list[pa.RecordBatch]:
    places = sorted({0, *(cut for cut in cuts if 0 < cut < rows.num_rows), rows.num_rows})
    return [rows.slice(start, end - start) for start, end in pairwise(places)]


def sorted_rows(found: Sequence[HistoryRows]) -> list[list[dict[str, Any]]]:
    """Return all rows of each history, in an order that does not depend on when they ended."""
    return [
        sorted((row for each in found for row in each[kind].to_pylist()), key=repr)
        for kind in range(len(HistoryRows._fields))
    ]


def expected(records: Sequence[LogRecord], rules: Rules | None, partition: int) -> list[list[dict[str, Any]]]:
    """One at a time."""
    return expected_of(map(decode, records), rules, partition)


def expected_of(events: Iterable[Event], rules: Rules | None, partition: int) -> list[list[dict[str, Any]]]:
    coordinator, history = Coordinator(partition, rules), History()
    rows, removals = list[HistoryRow | RemovalRow | TransactionRow](), RemovalTracker(partition)
    for event in events:
        if not event.is_absence:
            history.observe_record(event.record.log_offset)
        changes = coordinator.replay(event)
        rows += removal_rows(removals.take_event(event, changes))
        rows += ended_transactions(event, changes)
        rows += [row for change in changes for row in history.observe_change(change)]
    open_ = open_transactions(coordinator.state.transactions.values(), partition)
    rows += [
        *history.flush(),
        *history.open_rows(),
        *removal_rows(removals.open_removals(), are_open=True),
        *open_,
    ]
    plain = [
        record_batch(kind, [shown_row(row) for row in rows if type(row) is kind]).to_pylist() for kind in ROWS
    ]
    return [sorted(some, key=repr) for some in plain]


def in_turns(batches: Sequence[pa.RecordBatch], rules: Rules | None, partition: int) -> list[HistoryRows]:
    """Replay each batch by a replay of its own, which goes on from the checkpoint of the one before; return all rows."""
    found, left = list[HistoryRows](), None
    for rows in batches:
        replay = Histories(Start(partition, {}, rules, left.checkpoint if left else None))
        found.append(replay.replay(rows))
        left = replay.leave()
        found.append(left.ended)
        assert all(settles(ended, left) for ended in found[-2:])
    assert left is not None
    return [*found, left.rows]


def log_facts_of(records: Iterable[LogRecord]) -> LogFacts:
    """One at a time."""
    log_facts = LogFacts()
    for event in map(decode, records):
        log_facts.observe_offsets(event.record.log_offset, event.record.log_offset, None)
        log_facts.observe(event)
    return log_facts


def log_facts_in_turns(batches: Sequence[pa.RecordBatch], rules: Rules | None) -> LogFacts | None:
    """Return the log facts that the last checkpoint of several replays has."""
    checkpoint = None
    for rows in batches:
        replay = Histories(Start(0, {}, rules, checkpoint))
        replay.replay(rows)
        checkpoint = replay.leave().checkpoint
    return read_log_facts(io.BytesIO(checkpoint or b""), "checkpoint")


def settles(ended: HistoryRows, left: ReplayEnd) -> bool:
    """Return whether rows that ended have offsets below the settled one, and rows that may still change have not."""
    firm, loose = (
        [at for name, end in ENDS.items() for at in getattr(rows, name).column(end).to_pylist()]
        for rows in (ended, left.rows)
    )
    return all(end < left.settled for end in firm) and all(
        end is None or end >= left.settled for end in loose
    )


@given(logs(), st.sampled_from(RULES), st.lists(st.integers(1, 60), max_size=4))
def test_any_log_however_it_is_cut(log: list[LogRecord], rules: Rules | None, cuts: list[int]) -> None:
    if not log:
        return
    batches = parts(rows_of(log), cuts)
    assert sorted_rows(list(replay_batches(Start(0, {}, rules), batches))) == expected(log, rules, 0)
    assert sorted_rows(in_turns(batches, rules, 0)) == expected(log, rules, 0)
    assert log_facts_in_turns(batches, rules) == log_facts_of(log)


def commits(*values: Value) -> list[LogRecord]:
    """Return commits of one offset, each in a batch of its own: by column, all but the first."""
    key = encode_key(Key(RECORD_TYPES[COMMIT_KEY_TYPE], COMMIT_KEY))
    return [
        written(OWN_BATCH, number, number, 5, key, encode_value(value), is_control=False)
        for number, value in enumerate(values)
    ]


def test_a_retention_that_leaves_a_long_is_counted_alike() -> None:
    """As the broker's own sum did: the time from commit to expiry comes back."""
    values = list[Value]()
    for retention in (DAY, LONGEST, LONGEST, DAY):
        expires = 1_700_000_000_000 + retention
        expires -= (expires > LONGEST) * 2 * (LONGEST + 1)
        values.append(Value(1, "", commit(1, expire_timestamp=expires)))
    log = commits(*values, *values[::-1])
    log_facts = log_facts_of(log)
    assert log_facts.lasting == {DAY: 4, LONGEST: 4}
    assert log_facts_in_turns([rows_of(log)], None) == log_facts


def test_offsets_below_zero_are_none_and_nothing_moved_to_or_from_them() -> None:
    """One at a time, by column, and where a column goes on from what was held; so no difference exceeds 64 bits."""
    edges = (LONGEST, -LONGEST - 1, 0, -LONGEST - 1, LONGEST, LONGEST, -1, LONGEST, -2, -LONGEST - 1, 1)
    log = commits(*(Value(3, "", commit(3, offset=edge)) for edge in edges))
    deltas = {row["delta"] for row in expected(log, None, 0)[0]}
    assert deltas == {None, 0}
    for cuts in ([], [1], [4, 5], [2, 9]):
        batches = parts(rows_of(log), cuts)
        assert sorted_rows(list(replay_batches(Start(0, {}, None), batches))) == expected(log, None, 0)
        assert sorted_rows(in_turns(batches, None, 0)) == expected(log, None, 0)


@pytest.mark.parametrize("cuts", [[], [1], [2], [3]], ids=str)
def test_a_pending_commit_is_told_with_its_distance_from_what_is_committed(cuts: list[int]) -> None:
    """Replay leaves the committed offset alone there (replay.offsets); a history does not (history.history)."""
    log = commits(*(Value(3, "", commit(3, offset=offset)) for offset in (10, 20, 40)))
    pending = Writing(producer=7, is_transactional=True, has_batch=True, sequence=0)
    value = encode_value(Value(3, "", commit(3, offset=45)))
    assert log[0].key is not None
    log.append(written(pending, 3, 3, 5, log[0].key, value, is_control=False))
    log.append(written(OWN_BATCH, 4, 4, 6, log[0].key, value, is_control=False))
    wanted = expected(log, None, 0)
    assert [row["delta"] for row in wanted[0] if row["producer_id"] == 7] == [5]
    assert sorted_rows(list(replay_batches(Start(0), parts(rows_of(log), cuts)))) == wanted


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("is_new", [False, True])
def test_a_commit_proves_the_new_coordinator_by_whichever_rules(rules: Rules | None, is_new: bool) -> None:
    last = Value(4, "", commit(4)) if is_new else Value(3, "", commit(3))
    log_facts = log_facts_in_turns([rows_of(commits(Value(3, "", commit(3)), last))], rules)
    assert log_facts is not None and log_facts.is_new == is_new


COMMIT_KEY_TYPE = 1
DAY, LONGEST = 86_400_000, (1 << 63) - 1
OWN_BATCH = Writing(producer=-1, is_transactional=False, has_batch=True, sequence=-1)


def records_of(partition: Path) -> list[LogRecord]:
    return list(plain_rows.records(Path(live.path) for live in live_segments(partition)))


@pytest.mark.parametrize("partition", sample(PARTITIONS, 5), ids=lambda path: "/".join(path.parts[-3::2]))
def test_real_logs(partition: Path) -> None:
    number = int(partition.name.rpartition("-")[2])
    records = records_of(partition)
    if not records:
        return
    rows = rows_of(records)
    many = rows.num_rows
    for rules in (None, Rules.NEW):
        assert log_facts_in_turns(parts(rows, [many // 3, many - 1]), rules) == log_facts_of(records)
    assert sorted_rows(in_turns(parts(rows, [many // 5, many // 2, many - 3]), None, number)) == expected(
        records, None, number
    )


def test_ids_without_a_name_are_told() -> None:
    found = partitions([folder_of("4.3.1-newgroups")])
    unnamed: set[str] = set()
    for partition in found:
        replay = Histories(Start(0))
        replay.replay(rows_of(records_of(partition)))
        unnamed |= set(replay.leave().unnamed)
    assert unnamed
    names = {topic_id: f"named {number}" for number, topic_id in enumerate(sorted(unnamed))}
    for partition in found:
        replay = Histories(Start(0, names))
        replay.replay(rows_of(records_of(partition)))
        assert replay.leave().unnamed == ()


def test_what_was_learnt_of_the_rules_holds_from_the_checkpoint_on() -> None:
    left = Histories(Start(0)).leave()
    assert (left.rules, left.position, left.settled) == (Rules.CLASSIC, 0, 0)
    assert Histories(Start(0, {}, Rules.NEW, left.checkpoint)).leave().rules == Rules.NEW


def generated(mix: str, size: int, folder: Path) -> list[LogRecord]:
    """Return the records of a log that the benchmark's generator makes."""
    path = folder / "__consumer_offsets-3" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(write_batches(MIXES[mix](Random(7)), size))
    return list(plain_rows.records([path]))


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize(
    "size", [1 << 16, *(pytest.param(size, marks=pytest.mark.deep) for size in (1 << 18, 4 << 20))]
)
def test_large_logs(mix: str, size: int, tmp_path: Path) -> None:
    """Runs of commits between records of all kinds, in batches as Spark cuts them."""
    records = generated(mix, size, tmp_path)
    rows = rows_of(records)
    cuts = parts(rows, range(0, rows.num_rows, 10_000))
    assert sorted_rows(list(replay_batches(Start(3), cuts))) == expected(records, None, 3)


@pytest.mark.parametrize(
    ("release", "seed"), sample([(release, seed) for seed in range(4) for release in READERS], 9)
)
def test_random_logs_in_order_and_in_disorder(release: str, seed: int, tmp_path: Path) -> None:
    log = RandomLog(seed, READERS[release], disorder=0.1 * (seed % 2)).grow(250 if DEEP else 120)
    path = tmp_path / "__consumer_offsets-3" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(segment(log.placed))
    records = list(plain_rows.records([path]))
    rows = rows_of(records)
    for rules in RULES:
        wanted = expected(records, rules, 3)
        assert sorted_rows(list(replay_batches(Start(3, {}, rules), [rows]))) == wanted
        assert sorted_rows(in_turns(parts(rows, range(0, rows.num_rows, 97)), rules, 3)) == wanted


def rules_used(records: Sequence[LogRecord], rules: Rules | None) -> RulesUsed:
    """One at a time."""
    coordinator = Coordinator(0, rules)
    for event in map(decode, records):
        coordinator.replay(event)
    return coordinator.rules_used


def check(
    records: Sequence[LogRecord], batches: Iterable[pa.RecordBatch], rules: Rules | None, partition: int
) -> None:
    rows = list(replay_batches(Start(partition, {}, rules), batches))
    assert sorted_rows(rows) == expected(records, rules, partition)


@given(logs(), st.sampled_from(RULES), st.lists(st.integers(1, 60), max_size=4))
def test_where_the_rules_are_proved_and_where_they_differ(
    log: list[LogRecord], rules: Rules | None, cuts: list[int]
) -> None:
    histories = Histories(Start(0, {}, rules))
    for batch in parts(rows_of(log), cuts) if log else ():
        histories.replay(batch)
    left = histories.leave()
    assert RulesUsed(left.rules, left.proved_at, left.differed_at) == rules_used(log, rules)


@given(logs(), st.sampled_from(RULES), st.sampled_from((1, 2, 7)))
def test_any_log_left_behind_each_few_records(log: list[LogRecord], rules: Rules | None, size: int) -> None:
    if log:
        batches = parts(rows_of(log), range(0, len(log), size))
        assert sorted_rows(in_turns(batches, rules, 0)) == expected(log, rules, 0)


@pytest.mark.parametrize("size", sample([2, 1, 7, 1000], 3))
@pytest.mark.parametrize("partition", sample(PARTITIONS, 9), ids=lambda path: "/".join(path.parts[-3::2]))
def test_real_logs_in_chunks_of_any_size(partition: Path, size: int) -> None:
    records = records_of(partition)
    if not records:
        return
    rows = rows_of(records)
    number = int(partition.name.rpartition("-")[2])
    check(records, parts(rows, range(0, rows.num_rows, size)), None, number)


def test_what_a_marker_is_written_with_depends_on_the_last_commit_that_it_ends(tmp_path: Path) -> None:
    """Of commits without topic ids, so that a marker stands between a group's tombstone and the commit that brings it back."""
    log = RandomLog(13, READERS["4.3.1"]._replace(commits=(0, 1, 2, 3)), disorder=0.1).grow(300)
    path = tmp_path / "__consumer_offsets-3" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(segment(log.placed))
    records = list(plain_rows.records([path]))
    for rules in RULES:
        check(records, [rows_of(records)], rules, 3)


@pytest.mark.parametrize("version", range(5))
def test_a_first_join_proves_the_new_coordinator_in_every_version(version: int) -> None:
    """A classic group of generation 0 without protocol type, in a batch without sequence."""
    data = GroupMetadataValue(
        protocol_type="", generation=0, protocol=None, leader=None, current_state_timestamp=-1, members=()
    )
    key = encode_key(Key(RECORD_TYPES[GROUP_METADATA], GroupMetadataKey(group="g")))
    log = [written(OWN_BATCH, 0, 0, 5, key, encode_value(Value(version, "0.9", data)), is_control=False)]
    histories = Histories(Start(0))
    histories.replay(rows_of(log))
    left = histories.leave()
    assert RulesUsed(left.rules, left.proved_at, left.differed_at) == rules_used(log, None)
    assert left.proved_at == 0
