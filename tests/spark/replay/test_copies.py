"""Copies of one topic in a lake: its histories are those of the command line by the view of the evidence, however copies come."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.partition_logs import uncounted
from offsets_tool.evidence.replaying import EvidenceReplay
from spark.replay.replay import Replayed, replay
from tests.corpora import REPLICATED
from tests.evidence.copies import copy, rolled
from tests.expiry.log_cleaner import cleaned
from tests.replay.random_logs import READERS, RandomLog, segment
from tests.replay.story import commit, commit_marker, txn_commit
from tests.replay.story_segments import Placed, in_order
from tests.spark.histories import Rows, histories, rows, rows_by_event, table_rows
from tests.spark.kills import Killed, killed
from tests.spark.lakes import ingest_here, no_session

CORPORA = {name: REPLICATED / name for name in ("4.1.2-nightly", "4.1.2-unclean")}


def replay_here(lake: Path) -> Replayed:
    """Replay a lake without Spark, as `ingest_here` ingests."""
    return replay(str(lake), no_session)


def copies_of(corpus: Path) -> list[Path]:
    manifest = json.loads((corpus / "manifest.json").read_text())
    return [corpus / name for name in manifest["checks"]["copies"] if (corpus / name).is_dir()]


def by_evidence(paths: list[Path], cluster: str = "c") -> Rows:
    """Return the histories that the command line replays from these copies."""
    return table_rows(cluster, _rows(paths))


def _rows(paths: list[Path]) -> Iterator[Any]:
    with EvidenceReplay(open_evidence(*paths, view="evidence")) as replayed:
        moment, logs = replayed.run(), replayed.logs(uncounted)
        for partition in moment:
            yield from rows_by_event(partition, logs[partition.log_partition].events(), moment.names.name)


@pytest.fixture(scope="module", params=CORPORA)
def corpus(request: pytest.FixtureRequest) -> tuple[list[Path], Rows]:
    """The copies of a corpus, and their histories by the command line."""
    copies = copies_of(CORPORA[request.param])
    return copies, by_evidence(copies)


def test_all_copies_at_once(tmp_path: Path, corpus: tuple[list[Path], Rows]) -> None:
    copies, expected = corpus
    ingest_here(tmp_path, *copies, cluster="c")
    assert not replay_here(tmp_path).problems
    assert histories(tmp_path) == expected
    assert all(row["copies"] for row in rows(tmp_path, "replays"))
    assert replay_here(tmp_path).run is None


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(2, 8))])
def test_copies_in_any_order_with_kills_between(
    tmp_path: Path, corpus: tuple[list[Path], Rows], seed: int
) -> None:
    copies, expected = corpus
    random = Random(seed)
    random.shuffle(copies)
    for path in copies:
        _killed_once(random, lambda path=path: ingest_here(tmp_path, path, cluster="c"))
        if random.random() < 0.7:
            _killed_once(random, lambda: replay_here(tmp_path))
    replay_here(tmp_path)
    assert histories(tmp_path) == expected


def _killed_once(random: Random, job: Callable[[], object]) -> None:
    """Run a job and kill it around a random commit, if it has so many."""
    with suppress(Killed), killed(random.randrange(4), before=random.random() < 0.5):
        job()
    job()


LOG = in_order(commit("g", "t", 0, 1), commit("h", "t", 0, 2), commit("h", "t", 0, 3), commit("k", "t", 0, 4))


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(2, 40))]
)
def test_random_logs(tmp_path: Path, seed: int) -> None:
    """Some of a log, some more that its cleaner has worked on, all of it, at other paths or at one; in any order."""
    log, random = RandomLog(seed, READERS["2.8.2"]).grow(60).placed, Random(seed)
    copies = []
    for name, share, is_cleaned in (("a", 0.4, False), ("b", 0.7, True), ("c", 0.7, False), ("d", 1, True)):
        so_far = log[: int(len(log) * share)]
        kept = cleaned(so_far, random) if is_cleaned else so_far
        copies.append(
            copy(tmp_path / name, segment(kept), cleaned_to=so_far[-1].base_offset if is_cleaned else None)
        )
    expected = by_evidence(copies)
    random.shuffle(copies)
    for path in copies:
        ingest_here(tmp_path / "lake", path, cluster="c")
        if random.random() < 0.5:
            replay_here(tmp_path / "lake")
    replay_here(tmp_path / "lake")
    assert histories(tmp_path / "lake") == expected


def test_copies_that_grow_go_on_from_a_checkpoint(tmp_path: Path) -> None:
    """One path, more of it each time: one log, as it was before there were copies."""
    for end in (2, 3, 4):
        shutil.rmtree(tmp_path / "logs", ignore_errors=True)
        copy(tmp_path / "logs", LOG[:end], cleaned_to=1)
        ingest_here(tmp_path / "lake", tmp_path / "logs", cluster="c")
        (row,) = replay_here(tmp_path / "lake").partitions
        assert not row["copies"] and row["is_from_start"] is (end == 2)
    assert histories(tmp_path / "lake") == by_evidence([tmp_path / "logs"])


def test_a_file_that_its_cleaner_wrote_anew_proves_what_was_deleted(tmp_path: Path) -> None:
    """The same path before and after: two copies, as two nights are."""
    logs = tmp_path / "logs"
    ingest_here(tmp_path / "lake", copy(logs, LOG), cluster="c")
    replay_here(tmp_path / "lake")
    before = shutil.copytree(logs, tmp_path / "night-1")
    shutil.rmtree(logs)
    ingest_here(tmp_path / "lake", copy(logs, LOG[2:], cleaned_to=3), cluster="c")
    (row,) = replay_here(tmp_path / "lake").partitions
    assert (row["absences"], row["is_from_start"]) == (1, True)
    assert histories(tmp_path / "lake") == by_evidence([before, logs])
    ended = {row["group"]: row["end_cause"] for row in rows(tmp_path / "lake", "offset_history")}
    assert ended["g"] == "absent" and ended["k"] is None


def test_a_pending_commit_whose_marker_a_cleaner_took_is_no_removal(tmp_path: Path) -> None:
    """That its transaction ended is known, how it did is not."""
    log = in_order(commit("g", "t", 0, 1), txn_commit(7, "g", "t", 0, 99))
    later = [Placed(3, 5_000, txn_commit(7, "h", "t", 0, 3)), Placed(4, 6_000, commit_marker(7))]
    copies = [copy(tmp_path / "a", log), copy(tmp_path / "b", [log[0], *later], cleaned_to=3)]
    ingest_here(tmp_path / "lake", *copies, cluster="c")
    assert not replay_here(tmp_path / "lake").problems
    assert histories(tmp_path / "lake") == by_evidence(copies)
    ended = {(row["group"], row["end_cause"]) for row in rows(tmp_path / "lake", "offset_history")}
    assert ("g", "absent") in ended and not rows(tmp_path / "lake", "removals")


def test_a_partition_that_cannot_be_joined_stops_no_other(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for name in ("one", "two"):
        folder = copy(tmp_path / name, LOG)
        (folder / "meta.properties").write_text(f"version=0\nbroker.id=1\ncluster.id={name}\n")
    other = copy(tmp_path / "other", LOG)
    ingest_here(lake, tmp_path / "one", cluster="c")
    replay_here(lake)
    before = histories(lake)
    ingest_here(lake, tmp_path / "two", cluster="c")
    ingest_here(lake, other, cluster="d")
    done = replay_here(lake)
    (problem,) = done.problems
    assert (
        problem.startswith("partition 3 of cluster 'c' could not be replayed: ") and "two clusters" in problem
    )
    found = histories(lake)
    assert {row["cluster"] for row in found["offset_history"]} == {"c", "d"}
    assert [row for row in found["offset_history"] if row["cluster"] == "c"] == before["offset_history"]
    told = {row["cluster"]: row for row in rows(lake, "replays") if row["run"] == done.run}
    assert told["c"]["problem"] in problem and told["d"]["problem"] is None
    again = replay_here(lake)
    assert (again.run, again.problems) == (None, done.problems)


def test_a_file_that_is_missing_proves_no_deletion(tmp_path: Path) -> None:
    """As on the command line; and copies of two topic ids are named."""
    log = in_order(*(commit(f"g{at}", "t", 0, at) for at in range(12)))
    for lake, cleaned_to in (("lost", 0), ("cleaned", 9)):
        copies = [copy(tmp_path / lake / "a", log[:9])]
        copies.append(rolled(tmp_path / lake / "b", log, lost=4, cleaned_to=cleaned_to))
        for path in copies:
            metadata = path / "__consumer_offsets-3" / "partition.metadata"
            metadata.write_text(f"version: 0\ntopic_id: {path.name * 22}\n")
        ingest_here(tmp_path / lake / "lake", *copies, cluster="c")
        done = replay_here(tmp_path / lake / "lake")
        assert histories(tmp_path / lake / "lake") == by_evidence(copies)
        assert done.partitions[0]["absences"] == (0 if lake == "lost" else 4)
        notes = "\n".join(done.notes)
        assert ("lacks the offsets 4 to 7" in notes) is (lake == "lost") and "have two topic ids" in notes


@pytest.mark.parametrize("times", [(100_000, 200_000), (200_000, 100_000), (100_000, 100_500)])
def test_copies_of_two_histories_are_told_apart(tmp_path: Path, times: tuple[int, int]) -> None:
    """As on the command line: nothing was deleted that one of them never had."""
    copies = []
    for name, time, groups in zip("ab", times, ("gh", "hhh"), strict=True):
        own = in_order(*(commit(each, "t", 0, time) for each in groups), start=len(LOG), timestamp=time)
        copies.append(copy(tmp_path / name, [*LOG, *own], cleaned_to=len(LOG) + 1))
    ingest_here(tmp_path / "lake", *copies, cluster="c")
    done = replay_here(tmp_path / "lake")
    assert histories(tmp_path / "lake") == by_evidence(copies)
    assert done.partitions[0]["absences"] == 0 and done.partitions[0]["contradictions"] == 2
    assert "2 offset(s) have different records of one leader epoch" in "\n".join(done.notes)
