"""Ids that no record names have the same names in the lake as on the command line, and the table says how each is known."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from offsets_tool.job_rows import SUBSCRIPTIONS
from offsets_tool.wire.json import uuid_text
from spark.replay.replay import replay
from spark.replay.topic_ids import OPTION, RECORD
from tests.replay.story import commit
from tests.replay.story_segments import in_order, write_log
from tests.replay.test_topic_candidates import (
    COMPLETE,
    EPOCH,
    A,
    B,
    C,
    is_to_read,
    owning,
    subscribes,
)
from tests.spark.histories import histories, plain_histories, replay_lake, rows
from tests.spark.lakes import ingest_here

pytestmark = pytest.mark.spark


def test_names_are_derived_told_and_said_by_records(session: SparkSession, tmp_path: Path) -> None:
    lake, logs = tmp_path / "lake", tmp_path / "logs"
    derived = (EPOCH, subscribes("orders"), is_to_read(A), COMPLETE, owning(A), commit("g", "orders", 1, 5))
    write_log(logs, in_order(*derived), partition=3)
    write_log(logs, in_order(subscribes("x", "y"), owning(B), commit("g", "x", 1, 5)), partition=4)
    write_log(logs, in_order(commit("h", "clicks", 0, 1, topic_id=C)), partition=5)
    ingest_here(lake, logs, cluster="c")
    done = replay_lake(session, lake)
    assert [row["unnamed_topic_ids"] for row in done.partitions if row["log_partition"] == 4] == [
        [uuid_text(B)]
    ]
    assert histories(lake) == plain_histories({"c": logs})
    assert topic_names_of(lake) == {uuid_text(A): ("orders", SUBSCRIPTIONS), uuid_text(C): ("clicks", RECORD)}
    assert replay_lake(session, lake).run is None
    again = replay(str(lake), lambda: session, topic_ids={uuid_text(B): ("x", OPTION)})
    assert [row["log_partition"] for row in again.partitions] == [4]
    assert topic_names_of(lake)[uuid_text(B)] == ("x", OPTION)
    owners = {row["topic"]: row["client_id"] for row in rows(lake, "offset_history")}
    assert owners == {"orders": "c", "x": "c", "clicks": None}


def topic_names_of(lake: Path) -> dict[str, tuple[str, str]]:
    return {row["topic_id"]: (row["topic"], row["method"]) for row in rows(lake, "topic_names")}
