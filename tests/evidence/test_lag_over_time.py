"""The lag of a group over time rests on the ends that files tell, and grows while nothing is committed."""

from offsets_tool.evidence.answers.lag_over_time import group_lag
from offsets_tool.evidence.ends import EndSources
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.evidence.findings.finding import LogFindings
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.plots.group_pictures import group_pictures
from tests.corpora import FIXTURES

BROKER = str(FIXTURES / "lag" / "broker")


def test_lag_at_commits_and_between() -> None:
    with EvidenceReplay(open_evidence(BROKER)) as replay:
        found = {each.rows.group: each.rows for each in LogFindings(replay, PolicyOverrides()).groups()}
        ends = EndSources([BROKER])
        rows = group_lag(replay, found["lag-lost"], ends)
        assert {(row.topic, row.lag, row.method) for row in rows} == {("lag-created", 300, "index")}
        assert len({row.timestamp for row in rows}) > 20
        (lag,) = (each for each in group_pictures(found["lag-lost"], lag=rows) if each.name == "lag")
        assert lag.sentence.startswith("1 partition; lag at most 300 offsets, of lag-created-0 at ")
        assert group_lag(replay, found["lag-lost"], EndSources()) == []
