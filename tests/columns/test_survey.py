"""A survey through the lane is the survey by records, and so is its ledger."""

from dataclasses import replace
from pathlib import Path

import pytest

from offsets_tool.columns.lane.availability import Engine, asking_for
from offsets_tool.events import decode
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.lanes import SurveyLane
from offsets_tool.log.ledger import Ledger, LedgerEntry
from offsets_tool.log.names import Segment
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead
from offsets_tool.survey import Survey
from tests.columns.lane.test_chunks import batch
from tests.columns.lanes import SEGMENTS
from tests.dialects.hostile import Hostile


def by_record(segment: Segment) -> tuple[Survey, LedgerEntry]:
    survey, ledger = Survey(), Ledger("s", segment.log_partition)
    for item in read_segment(segment, ledger=ledger):
        if isinstance(item, BatchRead):
            survey.observe_batch(item)
            for record in item.records:
                event = decode(record)
                ledger.count(event.outcome, event.kept_raw or "")
                survey.observe_event(event)
    return survey, ledger.entry()


def assert_same(*paths: Path) -> list[Survey]:
    """Assert that one lane's surveys of files are those by record, and return them."""
    surveys = []
    with asking_for(Engine.FAST), open_evidence(*paths, has_hashes=False) as evidence:
        lane = SurveyLane(evidence)
        for source in evidence.sources:
            surveys.append(lane.survey(source))
            assert source.segment is not None
            wanted, wanted_entry = by_record(source.segment)
            assert surveys[-1].json() == wanted.json() and surveys[-1].groups == wanted.groups
            entries = evidence.ledgers[-1], wanted_entry
            plain = [replace(entry, unreadable=(), source="", sha256=None) for entry in entries]
            assert plain[0] == plain[1] and len(entries[0].unreadable) == len(wanted_entry.unreadable)
    return surveys


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
    path = tmp_path / "whatever.log"
    path.write_bytes(b"".join(batch([(b"k", b"v")], (0, 2**63 - 20)[number % 2]) for number in range(6)))
    (wanted,) = assert_same(path)
    assert wanted.missing_offsets == 2**63 - 21
