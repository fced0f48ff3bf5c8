"""01 to 03 on every incident and on odd evidence: each ends, states what the incident's story says, and shows no folder of the machine.

In this process, cell by cell; one incident in the usual run, all in `make deep`.
"""

import json
from pathlib import Path

import pytest

from offsets_tool.errors import SourceError
from tests.corpora import CORPORA, FIXTURES
from tests.incidents.expectations import EXPECTED, matching
from tests.incidents.words import MANIFEST
from tests.notebooks.execute import NOTEBOOKS, html_of, is_bare, run_cells
from tests.replay.story import commit, group_metadata, member
from tests.replay.story_segments import in_order, write_log

INCIDENTS = sorted(path.parent for path in (FIXTURES / "incidents").glob(f"*/{EXPECTED}"))
FIRST, GROUP, REVIEW = "01_first_look.ipynb", "02_one_group.ipynb", "03_incident_review.ipynb"
NAMES = ["", "a$b$c", "<img src=x onerror=alert(1)>", "\u202egnp.exe", "two\nlines", "n" * 5000, "[a]*"]
ODD = [
    CORPORA / "0.8.2.2-gzip/segments",
    CORPORA / "0.10.2.2-crash/segments",
    CORPORA / "3.9.2-compaction/segments",
    CORPORA / "4.2.1-newgroups/segments",
    CORPORA / "4.3.1-txn/segments",
    FIXTURES / "corpora-replicated/4.1.2-replicas/brokers",
    FIXTURES / "lag/broker",
]
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", sorted(path.name for path in NOTEBOOKS.glob("*.ipynb")))
def test_nothing_is_stored_with_it(name: str) -> None:
    assert is_bare(name)


def some(cases: list[Path], first: Path) -> list[object]:
    """All cases, all but one of them for `make deep` alone."""
    return [pytest.param(case, marks=() if case == first else pytest.mark.deep, id=_id(case)) for case in cases]


def _id(case: Path) -> str:
    return case.name if case in INCIDENTS else case.parent.name


@pytest.mark.parametrize("incident", some(INCIDENTS, FIXTURES / "incidents/group-deleted"))
def test_each_states_the_facts_of_the_story(
    incident: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = json.loads((incident / EXPECTED).read_text())["must"]
    manifest = json.loads((incident / MANIFEST).read_text())
    story, minutes = manifest["story"], manifest["config"].get("offsets.retention.minutes")
    for each in expected or [{"group": None}]:
        given = {
            "OFFSETS_TOOL_EVIDENCE": incident / "segments",
            "OFFSETS_TOOL_GROUP": each.get("group"),
            "OFFSETS_TOOL_RETENTION": minutes and f"{minutes}m",
            "OFFSETS_TOOL_REPORT": tmp_path / "incident.html",
        }
        for variable, value in given.items():
            monkeypatch.setenv(variable, str(value)) if value else monkeypatch.delenv(variable, False)
        for name in (GROUP, REVIEW):
            ran = run_cells(name)
            review, findings = ran.names["review"], ran.names["findings"]
            said = capsys.readouterr().out
            assert review.headlines[0] in said or name == GROUP
            assert not expected or matching(each, review.findings, story), (name, each)
            assert set(findings["title"]) >= {
                one.title for one in (matching(each, review.findings, story) if expected else ())
            }
            assert not any(str(FIXTURES) in html for html in html_of(ran.shown))
            assert ran.names["pictures"] and len(ran.names["timeline"])
        assert (tmp_path / "incident.html").read_bytes().startswith(b"<!DOCTYPE html>")


@pytest.mark.parametrize("evidence", some(ODD, ODD[0]))
@pytest.mark.parametrize("name", [FIRST, GROUP, REVIEW])
def test_each_ends_on_other_evidence(
    name: str, evidence: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OFFSETS_TOOL_EVIDENCE", str(evidence))
    monkeypatch.setenv("OFFSETS_TOOL_REPORT", str(tmp_path / "incident.html"))
    ran = run_cells(name)
    assert not any(str(evidence) in html for html in html_of(ran.shown))


@pytest.mark.parametrize(
    "name", [GROUP, *(pytest.param(name, marks=pytest.mark.deep) for name in (FIRST, REVIEW))]
)
def test_hostile_names_are_shown_as_names(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables have no markup of theirs, and no printed line is turned around; of a cell, only itself."""
    log = [commit(each, each or "t", 0, 5 + at, metadata=each) for each in NAMES for at in range(2)]
    log += [group_metadata(each, 1, member(each or "m")) for each in NAMES]
    monkeypatch.setenv("OFFSETS_TOOL_EVIDENCE", str(write_log(tmp_path, in_order(*log))))
    monkeypatch.setenv("OFFSETS_TOOL_REPORT", str(tmp_path / "incident.html"))
    assert "<img" not in "".join(html_of(run_cells(name).shown))
    assert "\u202e" not in capsys.readouterr().out


@pytest.mark.parametrize("name", [FIRST, GROUP, REVIEW])
def test_an_empty_folder_is_said_to_be_one(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OFFSETS_TOOL_EVIDENCE", str(tmp_path))
    with pytest.raises(SourceError, match="no segment of __consumer_offsets is here"):
        run_cells(name)
