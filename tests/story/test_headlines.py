"""The first sentence of a verdict counts the worst finding, wherever it stands in the list."""

from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.findings.rows import Finding, Severity
from offsets_tool.findings.sentences import at_time
from offsets_tool.review.verdict import Verdict
from offsets_tool.review.way_back import proposal_of
from offsets_tool.story.shapes import NO_EVENTS
from offsets_tool.story.verdict import Matter, Ranked, group_headline, log_headline, matters

ONE = Finding("rewind", "notice", "g", "t", 0, 1, 1, "certain", (), "A title", "A remedy", ("3:1",), 3, 1)
_SEVERITIES = st.lists(st.sampled_from([each.value for each in Severity]), min_size=1, max_size=5)


@given(severities=_SEVERITIES, of_log=_SEVERITIES, groups=st.integers(0, 3))
def test_the_worst_finding_decides(severities: list[str], of_log: list[str], groups: int) -> None:
    of_group = [ONE._replace(severity=severity) for severity in severities]
    of_log_itself = [ONE._replace(severity=severity, group=None) for severity in of_log]
    for said, findings in (
        (group_headline("g", of_group), of_group),
        (log_headline([*of_log_itself, *of_group], groups), [*of_log_itself, *of_group]),
        (Verdict([], of_log_itself, []).headline, of_log_itself),
    ):
        is_serious = any(each.severity != Severity.NOTICE for each in findings)
        assert said.startswith("Nothing serious") is not is_serious
        for word in ("critical", "warning", "notice"):
            assert (word in said) is any(each.severity == word for each in findings)


def test_without_findings_there_is_nothing() -> None:
    assert group_headline("g", []) == "Nothing stands out in group g."
    assert log_headline([], 2) == "Nothing stands out in this log, of 2 groups."
    assert log_headline([], 0) == "This log shows no group."


@given(ends=st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), min_size=2, max_size=6))
def test_the_others_are_beside_the_time_of_the_first(ends: list[tuple[int, int]]) -> None:
    """Members that were removed at one time had been heard of at several: only when they were removed is told."""
    gone = [
        ONE._replace(
            kind="member_timed_out",
            from_at=max(at - since, 0),
            to_at=at,
            evidence=("3:9", "3:1"),
            log_offset=9,
        )
        for at, since in ends
    ]
    said = Matter(tuple(gone)).what()
    first, times = ends[0][0], [at for at, _ in ends[1:]]
    if {at // 1000 for at, _ in ends} == {first // 1000}:
        assert said.endswith("at the same time.")
    elif max(times) > first:
        assert said.endswith(f"the last{at_time(max(times))}.")
    else:
        assert said.endswith(f"the first{at_time(min(times))}.")


def test_findings_of_other_remedies_are_told_apart() -> None:
    """The offsets of a share group are elsewhere: what helps it does not help the next group that was deleted."""
    share, other, third = (
        ONE._replace(kind="group_deleted", group=group, remedy=remedy)
        for group, remedy in (("s", "Where it is"), ("a", "As of"), ("b", "As of"))
    )
    told = matters([share, other, third])
    assert {matter.remedy(): {each.group for each in matter.findings} for matter in told} == {
        "Where it is": {"s"},
        "As of": {"a", "b"},
    }
    assert all(("more like it" in matter.what()) is (len(matter.findings) > 1) for matter in told)


def test_a_deleted_share_group_has_no_way_back() -> None:
    """Nor has any group that never committed here; the offsets of another group that was deleted are in this topic."""
    deleted = ONE._replace(kind="group_deleted", severity="warning", group="s")
    other = deleted._replace(group="a", log_offset=9)
    share, classic = _ranked([deleted], commits=0), _ranked([other], commits=7)
    assert proposal_of([share]) is None
    assert proposal_of([share, classic]) == other


def test_a_finding_proposes_a_way_back_by_its_severity_and_the_order_of_groups() -> None:
    late, early = (ONE._replace(severity="warning", log_offset=log_offset) for log_offset in (9, 5))
    quiet, cost = ONE._replace(log_offset=1), ONE._replace(kind="commit_flood", severity="critical")
    assert proposal_of([_ranked([quiet]), _ranked([cost, late, early])]) == early
    assert proposal_of([_ranked([cost]), _ranked([quiet])]) == quiet
    assert proposal_of([_ranked([early], log_partition=None)]) is None


def _ranked(findings: list[Finding], *, commits: int = 1, log_partition: int | None = 3) -> Ranked:
    return Ranked("g", log_partition, tuple(findings), "", (), commits, None, 0, None, NO_EVENTS)
