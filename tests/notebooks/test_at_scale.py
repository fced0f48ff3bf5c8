"""04_at_scale_with_delta: Spark and Arrow give the same answers, and they are those of the log."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark.derived.expiry import expiry
from offsets_tool.evidence.expiring import PolicyOverrides
from spark.derived.lag import LagRequest, lag
from spark.replay.replay import replay
from tests.notebooks.execute import execute, outputs
from tests.spark import histories
from tests.spark.lakes import CORPORA, bring, rows

NAME = "04_at_scale_with_delta.ipynb"
CLUSTERS = ("2.4.1-mix", "3.9.2-txn")
FACTS = """{
    "clusters": list(ledger["cluster"]),
    "records": int(ledger["records"].sum()),
    "adds_up": bool(ledger["adds_up"].all()),
    "offenders": {f"{row.cluster} {row.group}": int(row.commits) for row in offenders.itertuples() if row.commits},
    "by_arrow": {f"{row.cluster} {row.group}": int(row.commits) for row in by_group.itertuples()},
    "minutes": int(per_minute["commits"].sum()),
    "bytes": int(compaction["bytes"].sum()),
    "history": len(history),
    "rewinds": sorted(set(rewinds["group"])),
    "behind": {f"{row.cluster} {row.group}": int(row.lag) for row in behind.itertuples()},
    "losses": {f"{row.cluster} {row.cause} {row.confidence}": int(row.offsets) for row in losses.itertuples()},
    "going": {f"{row.cluster} {row.group} {row.rule}": int(row.offsets) for row in going.itertuples()},
}"""

pytestmark = [pytest.mark.notebook, pytest.mark.spark]


def test_it_answers_of_a_lake(session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = tmp_path / "lake"
    for cluster in CLUSTERS:
        bring(session, lake, CORPORA / cluster / "segments", cluster=cluster)
    replay(str(lake), lambda: session)
    lag(str(lake), lambda: session, LagRequest())
    expiry(str(lake), lambda: session, PolicyOverrides())
    monkeypatch.setenv("OFFSETS_TOOL_LAKE", str(lake))
    facts, notebook = execute(NAME, FACTS)
    events, log = rows(lake, "events"), rows(lake, "log")
    commits = Counter(
        f"{row['cluster']} {row['group']}" for row in events if row["committed_offset"] is not None
    )
    assert facts["clusters"] == list(CLUSTERS)
    assert facts["records"] == len(events)
    assert facts["adds_up"]
    assert facts["offenders"] == facts["by_arrow"] == commits
    assert facts["minutes"] == commits.total()
    assert facts["bytes"] == sum(len(row["key"] or b"") + len(row["value"] or b"") for row in log)
    assert facts["history"] > 0 and "iris_pricing" in facts["rewinds"]
    assert facts["behind"] == behind(lake)
    weighed = histories.rows(lake, "expiry")
    assert facts["losses"] == Counter(
        f"{row['cluster']} {row['cause']} {row['confidence']}" for row in weighed if row["status"] == "removed"
    )
    assert facts["going"] == Counter(
        f"{row['cluster']} {row['group']} {row['rule']}" for row in weighed if row["expires_at"] is not None
    )
    assert len(outputs(notebook, "application/vnd.vegalite.v6+json")) == len(outputs(notebook, "image/png")) >= 2



def behind(lake: Path) -> Counter[str]:
    """Return the lag of each group: the sum over its partitions at their newest moment."""
    newest = {}
    for row in sorted(histories.rows(lake, "lag"), key=lambda row: row["timestamp"]):
        newest[row["cluster"], row["group"], row["topic"], row["partition"]] = row["lag"]
    found = Counter[str]()
    for held in histories.rows(lake, "offset_history"):
        place = (held["cluster"], held["group"], held["topic"], held["partition"])
        if held["is_effective"] and held["to_log_offset"] is None:
            found[f"{held['cluster']} {held['group']}"] += newest[place]
    return found
