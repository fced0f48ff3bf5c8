"""The table of finders: every kind has one name, one declaration and one line in the reference, and findings have an order."""

import re
from collections import Counter

import pytest

from offsets_tool.expiry.log_facts import UnreadKeys, VersionRange
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finders import find_in_log, finders, kinds, log_finders, worst_first
from offsets_tool.findings.partition_facts import PartitionFacts
from offsets_tool.findings.rows import Finding, Severity
from tests.corpora import CORPORA, FIXTURES
from tests.findings.found import findings_in

REFERENCE = FIXTURES.parent / "docs" / "reference.md"


def test_a_kind_is_declared_once() -> None:
    declared = {id(kind): kind for each in (*finders(), *log_finders()) for kind in each.kinds}
    assert sorted(kind.name for kind in declared.values()) == list(kinds())


def test_the_reference_has_every_kind() -> None:
    lines = re.findall(r"^\| `(\w+)` \| (.*) \|$", REFERENCE.read_text(), re.MULTILINE)
    assert {name: said for name, said in lines if name in kinds()} == {
        name: kind.means for name, kind in kinds().items()
    }


def test_a_kind_says_what_it_is_and_what_to_do_in_one_sentence() -> None:
    for kind in kinds().values():
        assert re.fullmatch(r"[a-z_]+", kind.name)
        assert kind.means.endswith(".") and kind.remedy.endswith(".")
        assert kind.severity in Severity


def finding(severity: Severity, from_at: int | None, log_offset: int = 0) -> Finding:
    return Finding(
        "rewind", severity, "g", None, None, from_at, None, "certain", (), "t", "r", ("0:0",), 0, log_offset
    )


def test_the_worst_comes_first_then_the_oldest() -> None:
    critical, late, early, timeless = (
        finding(Severity.CRITICAL, 9),
        finding(Severity.NOTICE, 5),
        finding(Severity.NOTICE, 4),
        finding(Severity.NOTICE, None),
    )
    assert worst_first([timeless, late, early, critical]) == [critical, early, late, timeless]


def versions(places: dict[tuple[int, int | None], tuple[int, int]]) -> PartitionFacts:
    """Return the facts of a log partition with records of these types and versions at these ranges of offsets."""
    ranges = {each: VersionRange(first, first, last, last) for each, (first, last) in places.items()}
    return PartitionFacts(3, versions=ranges)


def unread(
    reasons: dict[str, int], places: dict[tuple[int, int | None], tuple[int, int]], texts: int = 0
) -> PartitionFacts:
    """Return the facts of a log partition with records at 7 and 8 whose keys were not understood, beside others."""
    return versions(places)._replace(unread=UnreadKeys(Counter(reasons), texts, [7, 8], 1, 2))


@pytest.mark.parametrize(
    ("facts", "kind", "place"),
    [
        (PartitionFacts(3), None, ""),
        (
            PartitionFacts(3, first_offset=5, unreadable_ranges=1, unreadable_bytes=99),
            "unreadable_records",
            "3:5",
        ),
        (PartitionFacts(3, misplaced_records=2, misplaced_at=8), "unreadable_records", "3:8"),
        (unread({"unknown record type 99": 2}, {(1, 3): (0, 9)}), "foreign_records", "3:7 3:8"),
        (unread({"unknown record type 99": 2}, {}), "foreign_records", "3:7 3:8"),
        (PartitionFacts(3, copies=2, abandoned=4, abandoned_at=7), "records_abandoned", "3:7"),
        (PartitionFacts(3, copies=2, contradictions=4, contradiction_at=7), "copies_contradict", "3:7"),
        (versions({(1, 2): (0, 6), (1, 3): (7, 9), (2, 3): (4, 8)}), "broker_version_changed", "3:7 3:6"),
        (versions({(1, 3): (0, 9), (1, 4): (4, 8)}), "broker_versions_mixed", "3:4 3:8"),
        # A client that gives its own expiry chooses version 1; a tombstone has no version.
        (versions({(1, 3): (0, 9), (1, 1): (4, 5), (1, None): (6, 20), (2, 3): (4, 4)}), None, ""),
    ],
)
def test_a_log_partition_is_asked_as_a_whole(facts: PartitionFacts, kind: str | None, place: str) -> None:
    found = list(find_in_log(facts, LogContext()))
    assert [(each.kind, " ".join(each.evidence), each.group) for each in found] == (
        [(kind, place, None)] if kind else []
    )


@pytest.mark.parametrize(
    ("corpus", "kinds_before_and_after"),
    [
        ("0.8.2.2-to-0.11.0.3-upgrade", {("GroupMetadata v0", "GroupMetadata v1")}),
        ("4.3.1-classic", set()),
        ("4.3.1-kip848", set()),
    ],
)
def test_an_upgrade_is_told_and_nothing_else(
    corpus: str, kinds_before_and_after: set[tuple[str, str]]
) -> None:
    told = [each.title for each in findings_in(CORPORA / corpus) if each.kind.startswith("broker_version")]
    said = (
        re.match(r"Brokers wrote (.*) to partition .* from .* on, and (.*) before", each) for each in told
    )
    assert {(each[2], each[1]) for each in said if each} == kinds_before_and_after
    assert bool(told) == bool(kinds_before_and_after)
