"""The page of each incident has its facts in words, links every statement to its records, and is the same whenever it is made."""

import json
import re
from pathlib import Path

import pytest

from offsets_tool.evidence.event_json import event_json
from offsets_tool.findings.rows import Severity
from offsets_tool.report.page import report_html
from offsets_tool.review.review import review_of
from offsets_tool.wire.text import shown, visible
from tests.corpora import FIXTURES, INCIDENTS
from tests.depth import sample
from tests.incidents.expectations import matching
from tests.report.pages import MOST, WORDS, Parsed, page_of, page_of_incident, policy_of, review_of_incident

FOLDERS = sample(sorted(INCIDENTS.iterdir()), 9)
pytestmark = pytest.mark.slow


def as_shown(text: str) -> str:
    """Return a text as a page shows it, without the elements around parts of it."""
    return " ".join(visible(shown(text)).replace("`", "").split())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_must_be_found_is_said_in_words(folder: Path) -> None:
    review, page = review_of_incident(folder), Parsed(page_of_incident(folder))
    for headline in review.headlines:
        assert headline in page.text
    expected = json.loads((folder / "expected.json").read_text())["must"]
    story = json.loads((folder / "manifest.json").read_text())["story"]
    for wanted in expected:
        found = matching(wanted, review.findings, story)
        assert found
        for finding in found:
            assert as_shown(finding.title) in page.text and as_shown(finding.remedy) in page.text
    for sentence in review.timeline:
        assert as_shown(sentence.text) in page.text


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_anchor_is_there_once_and_every_finding_links_to_a_record(folder: Path) -> None:
    page = Parsed(page_of_incident(folder))
    assert len(page.ids) == len(set(page.ids)) and not page.open
    assert {link for link in page.links if link.startswith("#")} == set(page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    html = page_of_incident(folder)
    for article in re.findall(r'<article class="finding.*?</article>', html, re.DOTALL):
        assert re.search(r'href="#record-[\dx]+-\d+"', article)
    for event in re.findall(r'<li id="event-.*?</li>', html, re.DOTALL):
        assert 'href="#record-' in event or 'class="line"' in event
    for record in re.findall(r'<details class="record".*?</details>', html, re.DOTALL):
        assert re.search(r'<p class="back">Named by (<a href="#|a plan)', record)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_records_and_files_are_there_to_be_checked(folder: Path) -> None:
    review, page = review_of_incident(folder), Parsed(page_of_incident(folder))
    manifest = json.loads((folder / "manifest.json").read_text())["files"]
    hashes = {
        each["sha256"] for name, each in manifest.items() if name.endswith(".log") and "segments" in name
    }
    assert hashes and all(each in page.text for each in hashes)
    for place, events in review.cited.records.items():
        for event in events:
            said = event_json(event)
            assert f'"name": "{said["key"]["name"]}"' in page.text if said["key"] else place in page.text
            assert event.record.key is None or event.record.key[:16].hex(" ") in page.text


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_severities_are_words_with_a_shape(folder: Path) -> None:
    html = page_of_incident(folder)
    for severity in Severity:
        badges = html.count(f'class="badge {severity}"')
        assert badges == html.count(f'<use href="#shape-{severity}"/></svg>{severity}</span>')


def test_the_same_evidence_makes_the_same_bytes() -> None:
    folder = INCIDENTS / "reset-to-earliest"
    pages = {report_html(review_of(folder / "segments", policy=policy_of(folder)), WORDS) for _ in range(2)}
    assert len(pages) == 1 and len(pages.pop()) < MOST


def test_a_plan_has_its_commands_its_reason_and_the_finding_before_which_it_goes() -> None:
    folder = INCIDENTS / "reset-to-earliest"
    html = page_of_incident(folder, "payments")
    page = Parsed(html)
    assert "Nobody named a moment: proposed is 1:43" in page.text
    assert "--reset-offsets --from-file reset.csv --dry-run --group payments" in page.text
    plan = re.search(r'<section id="plan">.*?</section>', html, re.DOTALL)
    assert plan is not None and 'href="#finding-1"' in plan[0] and 'href="#record-1-41"' in plan[0]


def test_a_quiet_night_says_so_and_how_a_plan_is_asked_for() -> None:
    page = Parsed(page_of_incident(INCIDENTS / "quiet-night"))
    assert "Nothing stands out in this log, of 5 groups." in page.text
    assert "No moment to go back to was named" in page.text and "offsets-tool plan LOG" in page.text


def test_groups_that_are_not_told_are_counted_and_a_group_that_is_not_there_is_said() -> None:
    log = FIXTURES / "corpora" / "4.3.1-classic" / "segments"
    assert (
        "The worst 2 of 20 groups are told in detail" in Parsed(page_of(review_of(log, most_groups=2))).text
    )
    nobody = Parsed(page_of(review_of(log, group="nobody"))).text
    assert "No group of this evidence is the one that was asked for." in nobody


def test_of_copies_that_differ_all_records_are_shown() -> None:
    copies = FIXTURES / "corpora-replicated" / "4.1.2-unclean"
    page = Parsed(page_of(review_of(copies / "brokers", copies / "copies" / "b3-killed")))
    assert "(copies differ here)" in page.text


def test_a_whole_log_has_the_picture_of_its_bytes_and_a_group_alone_has_not() -> None:
    folder = INCIDENTS / "quiet-night"
    review, html = review_of_incident(folder), page_of_incident(folder)
    figure = re.search(r'<figure id="evidence-topic-sizes">.*?</figure>', html, re.DOTALL)
    assert figure is not None and "of 5 groups" in figure[0]
    assert html.index(figure[0]) < html.index('<section id="findings">')
    assert sum(row["bytes"] for row in review.sizes) == sum(each.bytes for each in review.coverage.files)
    assert "evidence-topic-sizes" not in page_of_incident(INCIDENTS / "reset-to-earliest", "payments")
