"""Rows that finders read are the same by columns as one at a time: of every group, and what holds for all of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from offsets_tool.columns.lane.availability import Engine, asking_for, lane_problem
from offsets_tool.columns.offset_rows import NO_OFFSETS
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.evidence.findings.finding import log_context, partition_rows
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finders import find_all
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.rebalances.row_builder import rebalance_rows
from tests.corpora import INCIDENTS, corpora

pytestmark = pytest.mark.skipif(lane_problem() is not None, reason="compiled code is not there")


def gathered(corpus: Path, engine: Engine) -> tuple[list[GroupRows], LogContext, list[dict[str, Any]]]:
    with asking_for(engine), EvidenceReplay(open_evidence(corpus / "segments")) as replay:
        partitions = partition_rows(replay, PolicyOverrides())
        rows = [rows for each in partitions for rows in each.groups()]
        return rows, log_context(replay, partitions), [vars(each.sums) for each in partitions]


@pytest.mark.parametrize("corpus", [*corpora(), *sorted(INCIDENTS.iterdir())], ids=lambda path: path.name)
def test_rows_by_columns_are_those_one_at_a_time(corpus: Path) -> None:
    groups, context, sums = gathered(corpus, Engine.REFERENCE)
    by_columns, its_context, its_sums = gathered(corpus, Engine.FAST)
    assert [rows.group for rows in by_columns] == [rows.group for rows in groups]
    for one, other in zip(groups, by_columns, strict=True):
        # Found first: what is compared is made of columns, which must not come before.
        assert list(find_all(other, its_context)) == list(find_all(one, context))
        assert list(rebalance_rows(other, None)) == list(rebalance_rows(one, None))
        assert list(other.offsets) == list(one.offsets)
        assert replace(other, offsets=NO_OFFSETS) == replace(one, offsets=NO_OFFSETS)
    assert its_context == context
    assert its_sums == sums and all(each["bytes"].total() > 0 for each in sums)
