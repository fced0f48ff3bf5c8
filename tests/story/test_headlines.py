"""The first sentence of a verdict counts the worst finding, wherever it stands in the list."""

from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.findings.rows import Finding, Severity
from offsets_tool.review.verdict import Verdict
from offsets_tool.story.verdict import group_headline, log_headline

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
    assert log_headline([], 0) == "This log has no group."
