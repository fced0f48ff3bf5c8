"""A data topic's directory, as a broker left it: begin, end, what is stable, and when each record was written."""

import json
import shutil
import struct
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offsets_tool.errors import SourceError
from offsets_tool.lag.data_log import DataLog
from offsets_tool.lag.rows import TimeMethod
from offsets_tool.lag.samples import EndMethod, Written
from offsets_tool.log.topics import TopicDirectory, find_topics
from tests.broker import KRaftBroker
from tests.corpora import LAG
from tests.lag.logs import ends_of
from tests.lag.one_by_one import CommitAt, Ends, lag_at, time_lag_at, written_at
from tests.lag.story import (
    APPENDED,
    CREATED,
    DELETED_BEFORE,
    EVERY_MS,
    QUIET,
    RECORDS,
    STABLE,
    run_story,
)
from tests.log.encoded_batches import record, v2

SAID = json.loads((LAG / "said.json").read_text())


def data_log(topic: str, folder: Path = LAG / "broker") -> DataLog:
    (directory,) = (found for found in find_topics([folder]) if found.topic == topic)
    return DataLog(directory)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LAG / "broker", tmp_path / "broker"))


def offsets(printed: str) -> dict[str, int]:
    """Return the offsets that kafka-get-offsets printed, by topic."""
    return {line.split(":")[0]: int(line.split(":")[2]) for line in printed.splitlines()}


@pytest.mark.parametrize("topic", [CREATED, APPENDED, STABLE, QUIET])
def test_begin_and_end_are_what_the_broker_said(topic: str) -> None:
    log = data_log(topic)
    assert log.end_offset == offsets(SAID["latest"])[topic] == log.high_watermark
    assert log.log_start_offset == offsets(SAID["earliest"])[topic]


@pytest.mark.parametrize(("topic", "stable"), [(CREATED, RECORDS), (STABLE, 4), (QUIET, 0)])
def test_the_last_stable_offset_is_where_the_oldest_open_transaction_begins(topic: str, stable: int) -> None:
    assert data_log(topic).last_stable_offset == stable


def test_the_last_stable_offset_without_a_snapshot_of_the_end_is_found_in_the_headers(copied: Path) -> None:
    for path in (copied / f"{STABLE}-0").glob("*.snapshot"):
        path.unlink()
    assert data_log(STABLE, copied).last_stable_offset == 4


def test_the_last_stable_offset_is_unknown_where_no_snapshot_covers_the_last_segment(copied: Path) -> None:
    for path in (copied / f"{CREATED}-0").glob("*.snapshot"):
        if int(path.stem) > 300:
            path.unlink()
    log = data_log(CREATED, copied)
    assert (log.last_stable_offset, log.end_offset) == (None, RECORDS)


def test_a_torn_end_does_not_count(copied: Path) -> None:
    last = max((copied / f"{CREATED}-0").glob("*.log"))
    whole = last.read_bytes()
    last.write_bytes(whole[:-1])
    torn = data_log(CREATED, copied)
    assert RECORDS - 5 <= torn.end_offset < RECORDS
    assert torn.last_stable_offset is None
    last.write_bytes(whole[:-1] + b"\xff")
    assert data_log(CREATED, copied).end_offset == torn.end_offset
    last.write_bytes(whole + bytes(100))
    assert data_log(CREATED, copied).end_offset == RECORDS


def test_an_empty_last_segment_is_where_the_log_ends(copied: Path) -> None:
    (copied / f"{CREATED}-0" / f"{RECORDS:020}.log").touch()
    log = data_log(CREATED, copied)
    assert (log.end_offset, log.last_stable_offset) == (RECORDS, RECORDS)
    assert log.samples()[-2].end_offset == RECORDS


def created(offset: int) -> int:
    time: int = SAID["begins"] + offset * EVERY_MS
    return time


def test_when_a_record_was_created_is_told_within_its_batch() -> None:
    log = data_log(CREATED)
    found = {offset: log.written(offset) for offset in range(RECORDS)}
    for offset, told in found.items():
        assert told is not None
        assert told.at == created(offset)
        assert told.earliest is not None and told.latest is not None
        assert told.earliest <= created(offset) <= told.latest <= told.earliest + 5 * EVERY_MS
    exact = [told for told in found.values() if told and told.earliest == told.latest]
    assert len(exact) >= RECORDS // 5
    assert log.written(RECORDS) is None


def test_when_the_broker_wrote_a_record_is_exact() -> None:
    log = data_log(APPENDED)
    told = [log.written(offset) for offset in range(6)]
    assert told == [Written(at, at, at, TimeMethod.RECORD) for at in SAID["appended"]]


@pytest.mark.parametrize("without", [".timeindex", ".index", "checkpoint"])
def test_what_is_missing_costs_precision_only(without: str, copied: Path) -> None:
    for path in copied.rglob(f"*{without}"):
        path.unlink()
    log = data_log(CREATED, copied)
    told = log.written(333)
    assert told is not None and told.at == created(333)
    assert log.end_offset == RECORDS
    assert log.log_start_offset == (DELETED_BEFORE if without != "checkpoint" else 0)


def test_an_index_of_another_file_does_not_lead_astray(copied: Path) -> None:
    folder = copied / f"{CREATED}-0"
    for path in folder.glob("*.index"):
        path.write_bytes(b"".join(struct.pack(">ii", at, at * 7 + 3) for at in range(1, 80)))
    log = data_log(CREATED, copied)
    assert log.end_offset == RECORDS
    for offset in (0, 100, 333, RECORDS - 1):
        told = log.written(offset)
        assert told is not None and told.at == created(offset)


@pytest.mark.parametrize("suffix", [".timeindex", ".index"])
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(["noise", "zeros", "rising", "shifted"]))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_headers_contradict_is_no_evidence(copied: Path, suffix: str, seed: int, kind: str) -> None:
    """Random bytes, zeros, entries that rise as they should, and those of another log: the headers tell where the log ends."""
    random, layout = Random(seed), ">qi" if suffix == ".timeindex" else ">ii"
    for path in (copied / f"{CREATED}-0").glob(f"*{suffix}"):
        original = (LAG / "broker" / f"{CREATED}-0" / path.name).read_bytes()
        entries = list(struct.iter_unpack(layout, original))
        made = {
            "noise": random.randbytes(48),
            "zeros": bytes(len(original)),
            "rising": b"".join(
                struct.pack(layout, *each)
                for each in zip(*(sorted(random.choices(range(1 << 31), k=8)) for _ in "tw"), strict=True)
            ),
            "shifted": b"".join(struct.pack(layout, first, last + 1_000) for first, last in entries),
        }
        path.write_bytes(made[kind])
    log = data_log(CREATED, copied)
    assert (log.end_offset, log.last_stable_offset) == (RECORDS, RECORDS)
    samples = log.samples(SAID["at"])
    assert samples[-1].end_offset == max(sample.end_offset or 0 for sample in samples) == RECORDS
    (lifetime,) = Ends(samples).lifetimes
    for offset in (DELETED_BEFORE, 333, RECORDS - 1):
        told, seen = log.written(offset), written_at(offset, lifetime)
        assert told is not None and told.at == created(offset)
        assert seen.at is not None and abs(seen.at - created(offset)) <= 10 * EVERY_MS


_MARKER: Final = 0x30
"""Attributes of a batch of a marker: transactional, control."""


@pytest.mark.parametrize(
    ("kinds", "end", "is_read", "next_offset"),
    [
        ("dm", 2, True, 2),
        ("dmm", 3, True, 3),
        ("dmd", 3, False, 2),
        ("dmd", 2, True, 2),
        ("dmmd", 4, False, 3),
    ],
)
def test_a_marker_that_nobody_reads_makes_nobody_late(
    tmp_path: Path, kinds: str, end: int, next_offset: int, *, is_read: bool
) -> None:
    """A lag of 1 is what Kafka shows (KAFKA-6607); its age is no record's. Before the last stable offset none may be left."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(
        b"".join(
            v2(
                at,
                [record(0, bytes(4), bytes(6)) if kind == "m" else record(0, None, b"x")],
                attributes=_MARKER if kind == "m" else 0,
                base_timestamp=1_000 * (at + 1),
                max_timestamp=1_000 * (at + 1),
            )
            for at, kind in enumerate(kinds)
        )
    )
    written = DataLog(TopicDirectory(folder.as_posix(), "t", 0, None)).written(1)
    assert written is not None and written.next_offset == next_offset
    commit, ends = CommitAt(2_500, 1), ends_of((9_000, end))
    told = time_lag_at(commit, ends, 9_000, written)
    assert told.time_lag_ms == (0 if is_read else 9_000 - 1_000 * (next_offset + 1))
    assert lag_at(commit, ends, 9_000).lag == end - 1


def test_a_clock_that_is_ahead_does_not_move_the_copy_into_the_future(tmp_path: Path) -> None:
    ahead = 4_102_444_800_000
    folder = tmp_path / "t-0"
    folder.mkdir()
    times = (1_000, ahead, 3_000)
    (folder / f"{0:020}.log").write_bytes(
        b"".join(
            v2(at, [record(0, None, b"x")], base_timestamp=when, max_timestamp=when)
            for at, when in enumerate(times)
        )
    )
    log = DataLog(TopicDirectory(folder.as_posix(), "t", 0, None))
    samples = log.samples()
    assert [sample.end_offset for sample in samples] == [1, 2, 3, 3]
    assert samples[-1].at == log.modified_at < ahead
    assert log.samples(5)[0].at == 1_000


def test_a_directory_without_a_segment_in_use_is_said(tmp_path: Path) -> None:
    (tmp_path / f"{0:020}.log.deleted").touch()
    with pytest.raises(SourceError, match="no segment in it is in use"):
        DataLog(TopicDirectory(tmp_path.as_posix(), "t", 0, None))


def test_the_time_index_tells_how_the_end_grew() -> None:
    samples = data_log(CREATED).samples(SAID["at"])
    (lifetime,) = Ends(samples).lifetimes
    assert {sample.method for sample in samples} == {EndMethod.INDEX}
    assert all(sample.topic_id for sample in samples)
    for offset in range(DELETED_BEFORE, RECORDS):
        told = written_at(offset, lifetime)
        assert told.at is not None and abs(told.at - created(offset)) <= 10 * EVERY_MS
    assert offsets(SAID["from_250"])[CREATED] == 250
    told = lifetime.end_at(created(250)).estimate
    assert told is not None and abs(told - 250) <= 10


def test_until_the_copy_was_made_the_end_stayed() -> None:
    samples = data_log(CREATED).samples(SAID["at"])
    assert samples[-1].at == SAID["at"]
    ends = Ends(samples)
    found = lag_at(CommitAt(SAID["at"] - 5, 100), ends, SAID["at"])
    assert (found.lag, found.end_offset, found.log_start_offset, found.data_lost) == (
        300,
        RECORDS,
        DELETED_BEFORE,
        50,
    )


def described(printed: str) -> dict[tuple[str, str], tuple[int, int]]:
    """Return LOG-END-OFFSET and LAG, as printed by kafka-consumer-groups, by group and topic."""
    rows = [line.split() for line in printed.splitlines() if line.startswith("lag-")]
    return {(row[0], row[1]): (int(row[4]), int(row[5])) for row in rows}


@pytest.mark.parametrize("of", sorted(described(SAID["described"])))
def test_lag_is_what_kafka_said(of: tuple[str, str]) -> None:
    end, lag = described(SAID["described"])[of]
    ends = Ends(data_log(of[1]).samples(SAID["at"]))
    found = lag_at(CommitAt(SAID["at"] - 5, end - lag), ends, SAID["at"])
    assert (found.end_offset, found.lag) == (end, lag)


@pytest.mark.broker
def test_the_newest_release_live_and_stopped(tmp_path: Path) -> None:
    """While it runs its indexes have a preallocated tail, and no snapshot is of the end."""
    with KRaftBroker() as broker:
        told: dict[str, Any] = run_story(broker, 1 << 20)
        live = Path(shutil.copytree(broker.data_dir, tmp_path / "live"))
        broker.stop()
        for folder in (live, broker.data_dir):
            for topic, end in offsets(told["latest"]).items():
                log = data_log(topic, folder)
                assert log.end_offset == end
                assert log.last_stable_offset == (4 if topic == STABLE else end)
                assert log.samples()[-1].end_offset == end
            record = data_log(CREATED, folder).written(333)
            assert record is not None and record.at == told["begins"] + 333 * EVERY_MS
        assert data_log(CREATED, broker.data_dir).log_start_offset == DELETED_BEFORE
