"""The ledger: sums that must come out, and what makes them fail to."""

from pathlib import Path

import pytest

from offsets_tool.log.ledger import Ledger, Outcome
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead, Codec
from tests.log import encoded_batches


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Four batches: three records, none, one marker in a compressed batch, and one whose offset goes back."""
    path = tmp_path / "some.log"
    path.write_bytes(
        encoded_batches.v2(
            0, [encoded_batches.record(number, timestamp_delta=-number) for number in range(3)]
        )
        + encoded_batches.v2(3, [], last_offset_delta=4)
        + encoded_batches.v2(
            8,
            [encoded_batches.record(key=bytes(4), value=bytes(6))],
            codec=encoded_batches.GZIP,
            attributes=0x30,
        )
        + encoded_batches.v2(5)
    )
    return path


def test_every_count_in_its_column(log: Path) -> None:
    ledger = Ledger("here", 3)
    for item in read_segment(log, ledger=ledger):
        assert isinstance(item, BatchRead)
        for record in item.records:
            if record.is_control:
                ledger.count(Outcome.CONTROL)
            elif record.log_offset == 1:
                ledger.count(Outcome.KEPT_RAW, "unknown type")
            else:
                ledger.count(Outcome.DECODED)
    entry = ledger.entry()
    assert entry.adds_up
    assert (entry.source, entry.log_partition, entry.bytes) == ("here", 3, log.stat().st_size)
    assert (entry.batches, entry.empty_batches, entry.out_of_order_batches) == (4, 1, 1)
    assert (entry.records, entry.decoded_records, entry.raw_records, entry.control_records) == (5, 3, 1, 1)
    assert entry.reasons == {"unknown type": 1}
    assert (entry.first_offset, entry.last_offset) == (0, 8)
    assert (entry.min_timestamp, entry.max_timestamp) == (998, 1000)
    assert (entry.magics, entry.codecs) == ((2,), (Codec.GZIP, Codec.NONE))


def test_a_record_without_an_outcome_does_not_add_up(log: Path) -> None:
    ledger = Ledger("here")
    records = sum(
        len(item.records) for item in read_segment(log, ledger=ledger) if isinstance(item, BatchRead)
    )
    for _ in range(records - 1):
        ledger.count(Outcome.DECODED)
    assert not ledger.entry().adds_up
    ledger.count(Outcome.DECODED)
    assert ledger.entry().adds_up


def test_a_file_left_unread_does_not_add_up(log: Path) -> None:
    ledger = Ledger("here")
    reading = read_segment(log, ledger=ledger)
    first = next(reading)
    assert isinstance(first, BatchRead)
    for _ in first.records:
        ledger.count(Outcome.DECODED)
    assert not ledger.entry().adds_up
    assert ledger.entry().sha256 is None
