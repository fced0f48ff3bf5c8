"""Many at a time is one at a time: columns hold what the plain decoder says, for every real log, and for garbage."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.columns.decode import ROWS, count_outcomes, decode_batches, log_batches
from offsets_tool.events import Key, Value, decode, encode_key, encode_value
from offsets_tool.log.ledger import Ledger
from offsets_tool.records import RECORD_TYPES
from offsets_tool.rows import Header, LogRecord
from offsets_tool.table_rows import EventRow, LogRow
from offsets_tool.wire.arrow import arrow_schema
from tests import plain_rows
from tests.cases import CASES, COMMIT_KEY, Case, commit
from tests.corpora import corpora


def record(key: bytes | None, value: bytes | None, **facts: object) -> LogRecord:
    return LogRecord(source="s", log_partition=0, log_offset=1, timestamp=2, key=key, value=value, **facts)  # type: ignore[arg-type]


def events(*records: LogRecord) -> pa.RecordBatch:
    (batch,) = decode_batches(log_batches(records, cluster="c", source="s", run=1))
    batch.validate(full=True)
    return batch


def one(key: bytes | None, value: bytes | None, **facts: object) -> dict[str, object]:
    row: dict[str, object] = events(record(key, value, **facts)).to_pylist()[0]
    return row


@pytest.mark.parametrize("corpus", corpora(), ids=lambda path: path.name)
def test_a_real_log(corpus: Path) -> None:
    records = list(plain_rows.records([corpus]))
    log = list(log_batches(records, cluster="c", source="s", run=7))
    rows = [row for batch in log for row in batch.to_pylist()]
    assert [plain_rows.comparable(row) for row in rows] == [plain_rows.log(r) for r in records]
    decoded = [row for batch in decode_batches(log) for row in batch.to_pylist()]
    assert [plain_rows.comparable(row) for row in decoded] == [plain_rows.event(r) for r in records]
    assert {(row["cluster"], row["source"], row["run"]) for row in rows + decoded} == {("c", "s", 7)}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_record_type_and_version(case: Case) -> None:
    key = encode_key(Key(RECORD_TYPES[case.type], case.key))
    value = None if case.value_hex is None else bytes.fromhex(case.value_hex)
    assert plain_rows.comparable(one(key, value)) == plain_rows.event(record(key, value))


def test_batches_are_bounded_and_keep_the_order() -> None:
    records = [
        LogRecord(source="s", log_partition=0, log_offset=n, timestamp=n, key=None, value=None)
        for n in range(ROWS + 1)
    ]
    log = list(log_batches(records, cluster="", source="s", run=1))
    assert [batch.num_rows for batch in log] == [ROWS, 1]
    decoded = pa.Table.from_batches(decode_batches(log))
    assert decoded.column("log_offset").to_pylist() == list(range(ROWS + 1))


def test_no_rows_are_no_batches() -> None:
    assert list(log_batches([], cluster="", source="s", run=1)) == []
    empty = pa.RecordBatch.from_pylist([], arrow_schema(LogRow))
    (batch,) = decode_batches([empty])
    assert batch.num_rows == 0 and batch.schema.equals(arrow_schema(EventRow))


def test_text_that_is_not_utf8_is_shown_losing_nothing() -> None:
    key = encode_key(Key(RECORD_TYPES[1], COMMIT_KEY)).replace(b"orders", b"ord\xffrs")
    row = one(key, None)
    assert row["group"] == r"ord\xffrs"
    assert "UTF-8" in str(row["problem"])


def test_a_commit_with_unknown_tags_shows_them() -> None:
    value = encode_value(Value(4, "0.8", commit(4)))
    known = one(encode_key(Key(RECORD_TYPES[1], COMMIT_KEY)), value)
    tagged = value[:-1] + bytes([1, 9, 2, 0xCA, 0xFE])
    unknown = one(encode_key(Key(RECORD_TYPES[1], COMMIT_KEY)), tagged)
    assert known["value_json"] is None
    assert json.loads(str(unknown["value_json"]))["unknownTags"] == {"9": "cafe"}
    assert unknown["committed_offset"] == known["committed_offset"] == 1 << 40


def test_headers_are_kept() -> None:
    (log,) = log_batches(
        [record(b"", None, headers=(Header(b"a", b"1"), Header(b"", None)))], cluster="", source="s", run=1
    )
    assert log.to_pylist()[0]["headers"] == [{"key": b"a", "value": b"1"}, {"key": b"", "value": None}]


def test_an_archive_leaves_null_what_it_does_not_say() -> None:
    row = one(encode_key(Key(RECORD_TYPES[1], COMMIT_KEY)), None)
    assert {
        name
        for name in ("timestamp_type", "base_offset", "producer_id", "is_transactional")
        if row[name] is None
    } == {"timestamp_type", "base_offset", "producer_id", "is_transactional"}
    assert row["is_control"] is False


def test_outcomes_are_counted_as_the_events_say() -> None:
    key = encode_key(Key(RECORD_TYPES[1], COMMIT_KEY))
    batch = events(
        record(key, None),
        record(b"\x00\x63", b""),
        record(key, b"\x00\x03"),
        record(b"\0\0\0\1", b"\0\0\0\0\0\1", is_control=True),
    )
    ledger = Ledger("s")
    count_outcomes(batch, ledger)
    entry = ledger.entry()
    assert (entry.decoded_records, entry.raw_records, entry.control_records) == (1, 2, 1)
    assert set(entry.reasons) == {"unknown record type 99", "OffsetCommit value does not read"}


@given(
    st.binary(max_size=80) | st.none(), st.binary(max_size=80) | st.none(), st.integers(-1, 25), st.booleans()
)
def test_garbage_becomes_a_row(
    key: bytes | None, value: bytes | None, type_id: int, is_control: bool
) -> None:
    typed = key if key is None else type_id.to_bytes(2, "big", signed=True) + key
    given = record(typed, value, is_control=is_control)
    row = one(typed, value, is_control=is_control)
    assert plain_rows.comparable(row) == plain_rows.event(given)
    assert (row["kept_raw"] is None) == (decode(given).kept_raw is None)
