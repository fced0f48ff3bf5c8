"""A survey through the lane is the survey by records, and so is its ledger."""

from dataclasses import replace
from pathlib import Path

import pytest

from offsets_tool.columns.survey import Surveyor
from offsets_tool.events import decode
from offsets_tool.log.ledger import Ledger, LedgerEntry
from offsets_tool.log.names import Segment
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead, Unreadable
from offsets_tool.survey import Survey
from tests.columns.lane.test_chunks import batch
from tests.columns.lanes import SEGMENTS
from tests.dialects.hostile import Hostile


def by_lane(*paths: Path) -> list[tuple[Survey, LedgerEntry]]:
    """Return the survey and the ledger entry of each file, read by one surveyor."""
    surveyor, found = Surveyor(), []
    for path in paths:
        survey, ledger = Survey(), Ledger("s", 3)
        for item in surveyor.read(Segment(path=path.as_posix(), log_partition=3), ledger, survey):
            if isinstance(item, BatchRead):
                survey.observe_batch(item)
            records = (
                () if isinstance(item, Unreadable) else getattr(item, "records", getattr(item, "pieces", ()))
            )
            for event in map(decode, records):
                ledger.count(event.outcome, event.kept_raw or "")
                survey.observe_event(event)
        found.append((survey, ledger.entry()))
    return found


def by_record(path: Path) -> tuple[Survey, LedgerEntry]:
    survey, ledger = Survey(), Ledger("s", 3)
    for item in read_segment(path, log_partition=3, ledger=ledger):
        if isinstance(item, BatchRead):
            survey.observe_batch(item)
            for record in item.records:
                event = decode(record)
                ledger.count(event.outcome, event.kept_raw or "")
                survey.observe_event(event)
    return survey, ledger.entry()


def assert_same(*paths: Path) -> list[Survey]:
    for path, (survey, entry) in zip(paths, by_lane(*paths), strict=True):
        wanted, wanted_entry = by_record(path)
        assert survey.json() == wanted.json() and survey.groups == wanted.groups
        plain = [replace(one, unreadable=(), source="") for one in (entry, wanted_entry)]
        assert plain[0] == plain[1] and len(entry.unreadable) == len(wanted_entry.unreadable)
    return [by_record(path)[0] for path in paths]


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: "/".join(path.parts[-5:]))
def test_real_segments(path: Path) -> None:
    assert_same(path)


def test_files_do_not_share_their_groups() -> None:
    assert len({len(survey.groups) for survey in assert_same(*SEGMENTS)}) > 2


def test_hostile_records(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    hostile = Hostile(11)
    path.write_bytes(b"".join(batch(hostile.records(50), 60 * number) for number in range(20)))
    (wanted,) = assert_same(path)
    assert len(wanted.kinds) > 20 and wanted.json()["missing_offsets"] == 190


def test_batches_that_go_to_and_fro_leave_one_gap_and_are_misplaced_but_two(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(batch([(b"k", b"v")], (0, 2**63 - 20)[number % 2]) for number in range(6)))
    (wanted,) = assert_same(path)
    assert wanted.missing_offsets == 2**63 - 21
