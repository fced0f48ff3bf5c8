"""Which names an evidence has: the same by rows of the fast lane as event by event."""

from pathlib import Path

import pytest

from offsets_tool.columns.lane.availability import ENGINE_VARIABLE, Engine
from offsets_tool.evidence.source_names import SourceNames
from offsets_tool.evidence.sources import open_sources
from tests.corpora import CORPORA
from tests.replay.story import commit
from tests.replay.story_segments import in_order, write_log


@pytest.mark.parametrize("name", ["4.3.1-kip848", "2.4.1-mix", "4.3.1-txn"])
def test_names_are_the_same_by_rows_and_event_by_event(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = open_sources((str(CORPORA / name / "segments"),))
    plainly = SourceNames(sources)
    monkeypatch.setenv(ENGINE_VARIABLE, Engine.FAST)
    by_rows = SourceNames(sources)
    assert vars(plainly) == vars(by_rows) and plainly.groups
    assert plainly.partition_counts() == by_rows.partition_counts() == (5,)


def test_so_they_are_where_names_are_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = ("\udcff", "\udcfe\udcff", "a\\xff", "two\nlines", "é*")
    write_log(tmp_path, in_order(*(commit(name, name[::-1], 0, 1) for name in odd)))
    sources = open_sources((str(tmp_path),))
    plainly = SourceNames(sources)
    monkeypatch.setenv(ENGINE_VARIABLE, Engine.FAST)
    assert vars(plainly) == vars(SourceNames(sources)) and set(plainly.groups) == set(odd)
