"""What holds can still be replayed after records were taken out; they stay out; histories stay; a kill is finished by the next."""

import shutil
from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest

from offsets_tool.log.archive.delta import delta_rows
from spark.check.check import check
from spark.derived.forget import forget
from spark.derived.retain import Retained, retain
from tests.corpora import CORPORA
from tests.evidence.copies import copy
from tests.replay.story import commit
from tests.replay.story_segments import in_order, segment
from tests.spark.histories import histories
from tests.spark.kills import Killed, killed
from tests.spark.lakes import ingest_here
from tests.spark.replay.test_copies import replay_here

LOG = in_order(*(commit(f"g{at % 3}", "t", 0, at) for at in range(12)))
"""Commits of three groups in turn, a second apart, the first at a second after 1970."""
HELD = {
    "offset_history": (
        "group",
        "topic",
        "partition",
        "is_effective",
        "committed_offset",
        "commit_log_offset",
    ),
    "group_history": ("group", "kind", "state", "generation", "epoch", "members"),
    "member_history": ("group", "member_id"),
}
"""What of open rows follows from what was written last for each key."""


def rows_at_the_end(lake: Path) -> dict[str, list[str]]:
    """Return by table the rows of histories that hold at the end of the log."""
    found = histories(lake)
    return {
        table: sorted(
            repr([row[name] for name in names]) for row in found[table] if row["to_log_offset"] is None
        )
        for table, names in HELD.items()
    }


def without_groups(holds: dict[str, list[str]], known: set[str | None]) -> dict[str, list[str]]:
    """Return rows that hold without simple groups of which no record is left."""
    groups = [row for row in holds["group_history"] if literal_eval(row)[0] in known or "'simple'" not in row]
    return holds | {"group_history": groups}


def wrong(lake: Path) -> list[str]:
    return [f"{each.what}: {each.where}: {each.problem}" for each in check(str(lake)) if not each.is_ok]


def offsets(lake: Path, table: str = "log") -> list[int]:
    return sorted(row["log_offset"] for row in delta_rows(lake / table, ["log_offset"]).to_pylist())


def older_than(lake: Path, timestamp: int) -> Retained:
    return retain(str(lake), 1_000, timestamp + 1_000)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Two nights of a log, the second with all of the first, and a cluster of its own that is younger."""
    young = [each._replace(timestamp=each.timestamp + 90_000) for each in LOG[:3]]
    for cluster, nights in {"c": (LOG[:8], LOG), "d": (young,)}.items():
        for number, log in enumerate(nights):
            ingest_here(tmp_path / "lake", copy(tmp_path / cluster / str(number), log), cluster=cluster)
    replay_here(tmp_path / "lake")
    return tmp_path / "lake"


@pytest.mark.parametrize(
    ("corpus", "share"),
    [
        ("3.9.2-txn", 0.6),
        *(
            pytest.param(name, share, marks=pytest.mark.deep)
            for name in (
                "3.7.2-txn",
                "4.3.1-txn",
                "2.4.1-mix",
                "4.3.1-kip848",
                "3.9.2-compaction",
                "0.11.0.3-mix",
            )
            for share in (0.3, 0.6, 1)
        ),
    ],
)
def test_what_holds_is_replayed_from_what_is_left(tmp_path: Path, corpus: str, share: float) -> None:
    lake = tmp_path / "lake"
    ingest_here(lake, CORPORA / corpus / "segments", cluster="c")
    replay_here(lake)
    before, holds = histories(lake), rows_at_the_end(lake)
    times = sorted(delta_rows(lake / "log", ["timestamp"]).column("timestamp").to_pylist())
    done = older_than(lake, times[int((len(times) - 1) * share)] + 1)
    assert sum(each.dropped_records for each in done.partitions) > len(times) * share / 5
    assert wrong(lake) == []
    assert histories(lake) == before
    shutil.rmtree(lake / "_checkpoints")
    again = replay_here(lake)
    found, left = (
        rows_at_the_end(lake),
        delta_rows(lake / "events", ["group", "log_partition", "log_offset"]).to_pylist(),
    )
    # As a cleaner does: of a group whose transactions all were aborted, nothing is left, nor the group.
    assert without_groups(holds, {row["group"] for row in left}) == found
    assert wrong(lake) == []
    proven = {row["log_partition"]: row["proven_from_log_offset"] for row in again.partitions}
    for each in done.partitions:
        behind = [row["log_offset"] for row in left if row["log_partition"] == each.log_partition]
        between = sorted((proven[each.log_partition], each.proven_from_log_offset))
        assert not any(offset in range(*between) for offset in behind)


def test_only_what_is_superseded_and_older_goes(lake: Path) -> None:
    """Below second 9 the last commits of the three groups stay; the other cluster's records are younger."""
    done = older_than(lake, 9_000)
    assert done == Retained([("c", 3, 5, 5)], [])
    assert offsets(lake) == offsets(lake, "events") == sorted([*range(5, 12), *range(3)])
    assert [row["dropped_records"] for row in sources(lake)] == [5, 5, None, None]
    assert older_than(lake, 9_000) == Retained([], [])
    assert [each.dropped_records for each in older_than(lake, 60_000).partitions] == [4]
    assert wrong(lake) == []


def test_ranges_of_one_run_lose_their_own_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long file is read in pieces, each with a row of its own."""
    monkeypatch.setattr("spark.ingest.plan.PIECE", 250)
    ingest_here(tmp_path / "lake", copy(tmp_path / "c", LOG), cluster="c")
    replay_here(tmp_path / "lake")
    older_than(tmp_path / "lake", 9_000)
    told = [
        (row["first_offset"], row["last_offset"], row["dropped_records"])
        for row in sources(tmp_path / "lake")
    ]
    assert len(told) > 3
    assert [gone for _, _, gone in told] == [
        max(0, min(end, 4) - start + 1) or None for start, end, _ in told
    ]


def sources(lake: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = delta_rows(lake / "sources").to_pylist()
    return sorted(rows, key=lambda row: (row["run"], row["range_start"]))


def test_what_went_does_not_come_back_and_replays_go_on(lake: Path, tmp_path: Path) -> None:
    """As if nothing had gone: from the checkpoint, histories are those of a lake that keeps all."""
    whole = Path(shutil.copytree(lake, tmp_path / "whole"))
    older_than(lake, 9_000)
    for number in (0, 1):
        assert ingest_here(lake, tmp_path / "c" / str(number), cluster="c").run is None
    more = copy(tmp_path / "c" / "2", in_order(*(commit(f"g{at % 4}", "t", 0, at) for at in range(14))))
    (more / "__consumer_offsets-3" / f"{0:020}.log").write_bytes(
        segment([*LOG, *in_order(commit("g3", "t", 0, 7), start=12, timestamp=13_000)])
    )
    for each in (lake, whole):
        ingest_here(each, more, cluster="c")
        replay_here(each)
    assert histories(lake) == histories(whole)
    assert wrong(lake) == []
    replays = delta_rows(lake / "replays").to_pylist()
    newest = max((row for row in replays if row["cluster"] == "c"), key=lambda row: row["run"])
    assert (newest["is_from_start"], newest["proven_from_log_offset"]) == (False, 5)


@pytest.mark.parametrize(
    ("step", "before"),
    [(0, False), (2, False), *(pytest.param(step, True, marks=pytest.mark.deep) for step in range(4))],
)
def test_killed_it_is_finished_by_the_next(lake: Path, tmp_path: Path, step: int, before: bool) -> None:
    whole = Path(shutil.copytree(lake, tmp_path / "whole"))
    with pytest.raises(Killed), killed(step, before=before):
        older_than(lake, 9_000)
    assert any("retain was interrupted" in each for each in wrong(lake))
    older_than(lake, 9_500)
    older_than(whole, 9_500)
    left = [each for each in wrong(lake) if before and each.startswith("left over: ")]
    assert wrong(lake) == left, "a file that was written before it was named, at most"
    assert len(left) == before
    for table in ("log", "events", "sources", "replays"):
        assert delta_rows(lake / table).to_pylist() == delta_rows(whole / table).to_pylist(), table


def test_what_is_in_no_history_yet_stays(lake: Path, tmp_path: Path) -> None:
    ingest_here(
        lake, copy(tmp_path / "c" / "2", [*LOG, *in_order(commit("x", "t", 0, 1), start=12)]), cluster="c"
    )
    done = older_than(lake, 9_000)
    assert done.partitions == []
    assert "partition 3 of cluster 'c' is left as it is: its histories do not have all of it" in done.notes[0]
    replay_here(lake)
    assert older_than(lake, 9_000).partitions != []


def test_a_source_can_be_forgotten_afterwards(lake: Path, tmp_path: Path) -> None:
    """The second night inherits what is left of the first one's records, and how many are gone."""
    older_than(lake, 9_000)
    forget(str(lake), "c", str(tmp_path / "c" / "0"))
    replay_here(lake)
    assert wrong(lake) == []
    assert offsets(lake) == sorted([*range(5, 12), *range(3)])
