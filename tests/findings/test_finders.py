"""The table of finders: every kind has one name, one declaration and one line in the reference, and findings have an order."""

import re

import pytest

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finders import find_in_log, finders, kinds, log_finders, worst_first
from offsets_tool.findings.partition_facts import PartitionFacts
from offsets_tool.findings.rows import Finding, Severity
from tests.corpora import FIXTURES

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
        (PartitionFacts(3, raw_records=2, reasons={"unknown type 99": 2}), "foreign_records", "3:0"),
        (PartitionFacts(3, copies=2, abandoned=4, abandoned_at=7), "records_abandoned", "3:7"),
        (PartitionFacts(3, copies=2, contradictions=4, contradiction_at=7), "copies_contradict", "3:7"),
    ],
)
def test_a_log_partition_is_asked_as_a_whole(facts: PartitionFacts, kind: str | None, place: str) -> None:
    found = list(find_in_log(facts, LogContext()))
    assert [(each.kind, each.evidence, each.group) for each in found] == (
        [(kind, (place,), None)] if kind else []
    )
