"""A survey by columns is the survey by records, in either lane."""

from pathlib import Path

import pytest

from offsets_tool.columns.origin import Origin
from offsets_tool.columns.reading import RowReader, RowsRead
from offsets_tool.columns.survey import survey_rows
from offsets_tool.events import decode
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead
from offsets_tool.survey import Survey
from tests.columns.fast.lanes import SEGMENTS
from tests.columns.fast.test_lane import batch
from tests.dialects.hostile import Hostile


def by_record(path: Path) -> Survey:
    survey = Survey()
    for item in read_segment(path, log_partition=3):
        if isinstance(item, BatchRead):
            survey.see_batch(item)
            for record in item.records:
                survey.see_event(decode(record))
    return survey


def by_columns(path: Path, *, fast: bool) -> Survey:
    survey = Survey()
    for item in RowReader(log=False, fast=fast).read(path, Origin("", "s", 3, 0)):
        if isinstance(item, RowsRead):
            survey_rows(item, survey)
    return survey


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: "/".join(path.parts[-5:]))
def test_real_segments(path: Path) -> None:
    wanted = by_record(path).json()
    assert by_columns(path, fast=True).json() == by_columns(path, fast=False).json() == wanted


def test_hostile_records(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    hostile = Hostile(11)
    path.write_bytes(b"".join(batch(hostile.records(50), 60 * number) for number in range(20)))
    wanted = by_record(path).json()
    assert len(wanted["kinds"]) > 20 and wanted["missing_offsets"] == 190
    assert by_columns(path, fast=True).json() == by_columns(path, fast=False).json()
    # Names that are not UTF-8 are one and the same name where Java shows them so; records keep them apart.
    assert by_columns(path, fast=True).json() | {"groups": 0} == wanted | {"groups": 0}
