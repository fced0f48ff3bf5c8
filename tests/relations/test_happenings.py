"""What happened, by rows, is what happened event by event: however the rows are cut, and whatever the options choose."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.selection import NameFilter, Wanted
from offsets_tool.as_of.snapshot import Snapshot, replay_events
from offsets_tool.cli.history import Asked, _json_row
from offsets_tool.cli.texts import json_line, json_text
from offsets_tool.events import Event, Key, Value, decode, encode_key, encode_value
from offsets_tool.evidence.filters import EVERYTHING, Filters
from offsets_tool.evidence.moments.moment_texts import Bound
from offsets_tool.evidence.partition_histories import EventHistories
from offsets_tool.history.change_log import Happening, HappeningKind, LinesAsked
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.offsets import OffsetCommitKey
from offsets_tool.relations.partitions import RowHistories
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.rows import LogRecord
from offsets_tool.time_texts import time_text
from tests import plain_rows
from tests.cases import commit
from tests.depth import DEEP, sample
from tests.relations.log_rows import PARTITIONS, cut, live_segments, rows_of
from tests.replay.hostile_sequences import Writing, logs, marker, written
from tests.replay.random_logs import READERS, RandomLog, segment
from tests.test_checkpoint import RULES


def names(*texts: str) -> NameFilter:
    return NameFilter(texts)


def asked(
    groups: tuple[str, ...] = (),
    topics: tuple[str, ...] = (),
    partition: int | None = None,
    kinds: tuple[HappeningKind, ...] = (),
    range_: Filters = EVERYTHING,
    members: tuple[str, ...] = (),
    instances: tuple[str, ...] = (),
) -> Asked:
    wanted = Wanted(names(*groups), names(*topics), partition)
    return Asked(wanted, range_, frozenset(kinds), names(*members), names(*instances))


ASKED = st.builds(
    asked,
    st.sampled_from(((), ("orders",), ("o*", "absent"), ("billing", "g"))),
    st.sampled_from(((), ("a", "orders"), ("t*",))),
    st.sampled_from((None, 1)),
    st.sampled_from(((), (HappeningKind.OFFSETS,), (HappeningKind.GROUPS, HappeningKind.ANOMALIES))),
    st.sampled_from(
        (Filters(), Filters(since=Bound(time=1_700_000_000_050)), Filters(until=Bound(time=1_000)))
    ),
    st.sampled_from(((), ("member-*", "absent"))),
    st.sampled_from(((), ("instance-1",))),
)


def shown(found: Iterator[Happening], options: Asked) -> tuple[list[Happening], list[tuple[str, ...]]]:
    """Return the happenings that options choose, and the names that they looked for and did not meet."""
    chosen = [each for each in found if options.shows(each)]
    filters = (options.wanted.groups, options.wanted.topics, options.members, options.instances)
    return chosen, [each.missing for each in filters]


def copied(options: Asked) -> Asked:
    """Return the same options, which have met no name yet."""
    wanted = Wanted(
        names(*options.wanted.groups.texts), names(*options.wanted.topics.texts), options.wanted.partition
    )
    return options._replace(
        wanted=wanted, members=names(*options.members.texts), instances=names(*options.instances.texts)
    )


def assert_same(
    log: list[LogRecord], rules: Rules | None, sizes: list[int], options: Asked, number: int = 0
) -> bytes:
    return assert_same_of(list(map(decode, log)), list(rows_of(log)), rules, sizes, options, number)


def assert_same_of(
    events: list[Event],
    rows: list[pa.RecordBatch],
    rules: Rules | None,
    sizes: list[int],
    options: Asked,
    number: int = 0,
) -> bytes:
    """Hold both ways against each other, by rows and as lines; return the lines that came as text."""
    moment = Snapshot(AsOf(), TopicNames(), rules)
    replay_events((moment,), number, events)
    partitions = list(moment)
    if not partitions:
        return b""
    [partition] = partitions
    used = partition.coordinator
    coordinator = Coordinator(number, None if used.auto else used.rules)
    replayed = ((event, coordinator.replay(event)) for event in events)
    name_of, other = moment.names.name, copied(options)
    by_events = EventHistories(partition, replayed, name_of).happenings(other.wanted_in(number))
    wanted = shown(by_events, options)

    def found(lines: LinesAsked | None) -> Iterator[Happening | memoryview]:
        asked_here = other.wanted_in(number)
        return RowHistories(partition, cut(rows, sizes), name_of).happenings(asked_here, lines)

    described = found(None)
    assert shown((each for each in described if isinstance(each, Happening)), other) == wanted
    if options.members or options.instances:
        return b""
    other = copied(options)
    printed = [
        each
        for each in found(LinesAsked(_json_row, json_text, time_text))
        if isinstance(each, memoryview) or other.shows(each)
    ]
    lines = (bytes(each) if isinstance(each, memoryview) else json_line(_json_row(each)) for each in printed)
    assert b"".join(lines) == b"".join(map(json_line, map(_json_row, wanted[0])))
    return b"".join(each for each in printed if isinstance(each, memoryview))


SIZES = st.lists(st.integers(1, 20), min_size=1, max_size=4)


@given(logs(), st.sampled_from(RULES), SIZES, ASKED)
def test_any_log(log: list[LogRecord], rules: Rules | None, sizes: list[int], options: Asked) -> None:
    assert_same(log, rules, sizes, options)


@pytest.mark.parametrize("seed", range(40 if DEEP else 4))
@pytest.mark.parametrize("release", sorted(READERS))
def test_random_logs(release: str, seed: int, tmp_path: Path) -> None:
    log = RandomLog(seed, READERS[release], disorder=0.1 * (seed % 2)).grow(120)
    path = tmp_path / "__consumer_offsets-3" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(segment(log.placed))
    records = list(plain_rows.records([path]))
    for rules in RULES:
        assert assert_same(records, rules, [[1 << 16], [9, 40]][seed % 2], asked(), 3)


def _transactions(random: Random, many: int) -> list[LogRecord]:
    """Return a log in which producers commit few offsets in transactions, over each other and over plain commits."""
    records: list[LogRecord] = []
    timestamp = 1_700_000_000_000
    while len(records) < many:
        at, producer = len(records), random.choice((7, 8, 9))
        timestamp += random.choice((1, 1, 30))
        is_transactional = random.random() < 0.6
        writing = Writing(producer if is_transactional else -1, is_transactional, True, -1)
        key, value = marker(0, random.choice((0, 1, 1)))
        is_marker = is_transactional and random.random() < 0.25
        if not is_marker:
            group, topic = random.choice(("orders", "refund")), random.choice(("t", 'quoted "u"'))
            data = OffsetCommitKey(group=group, topic=topic, partition=random.randrange(2))
            key = encode_key(Key(RECORD_TYPES[1], data))
            committed = commit(3, offset=random.randrange(1000), metadata=random.choice(("", "m", 'é"\\x41')))
            value = encode_value(Value(3, "", committed)) if random.randrange(30) else b""
        raw = value or None
        records.append(written(writing, at, at, timestamp, key, raw, is_control=is_marker))
    return records


@pytest.mark.parametrize("seed", range(100 if DEEP else 6))
def test_transactions_are_printed_by_column(seed: int) -> None:
    random = Random(seed)
    log = _transactions(random, 200)
    for rules in RULES:
        assert_same(log, rules, [random.randrange(1, 200), 50], asked())
    assert_same(
        log, None, [60], asked(groups=("orders",), range_=Filters(since=Bound(time=1_700_000_000_500)))
    )


def test_all_that_happens_to_transactions_is_printed_by_column() -> None:
    """A log of those tests may lack one of these by chance; this one has them all."""
    lines = assert_same(_transactions(Random(0), 200), None, [50], asked())
    for what in (b"pending commit", b"transaction committed", b"transaction aborted", b"rewind"):
        assert b'"what":"' + what in lines


@pytest.mark.parametrize("partition", sample(PARTITIONS, 8), ids=lambda path: "/".join(path.parts[-3::2]))
def test_real_logs(partition: Path) -> None:
    records = [each for live in live_segments(partition) for each in plain_rows.records([Path(live.path)])]
    for sizes in ([1 << 16], [7, 100]):
        assert_same(records, None, sizes, asked(), int(partition.name.rpartition("-")[2]))
