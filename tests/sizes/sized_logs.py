"""Tallies of folders, by the reference reader or by the fast lane."""

from pathlib import Path

import pytest

from offsets_tool.columns.lane.availability import ENGINE_VARIABLE, Engine
from offsets_tool.evidence.answers import sizing
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.rows import Row
from offsets_tool.sizes.rows import group_rows, partition_rows
from offsets_tool.sizes.tally import Tally


class Sized:
    """The rows of `size` on an evidence, and its ledgers."""

    def __init__(self, *paths: Path) -> None:
        with open_evidence(*paths, has_hashes=False) as evidence:
            found = sizing.EvidenceSizes(evidence)
            self.tallies: list[Tally] = found.run()
            self.groups: list[Row] = group_rows(self.tallies, found.newest_timestamp)
            self.partitions: list[Row] = partition_rows(self.tallies, self.groups)
            self.ledgers: list[LedgerEntry] = evidence.ledgers


def sized(path: Path, monkeypatch: pytest.MonkeyPatch, *, fast: bool) -> Sized:
    """Return the rows of `size` on a path, by the lane for any size, or by the reference reader alone."""
    monkeypatch.setenv(ENGINE_VARIABLE, Engine.FAST if fast else Engine.REFERENCE)
    return Sized(path)
