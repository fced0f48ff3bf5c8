"""Copies of two histories, which contradict each other in one leader epoch: a snapshot was restored under a living broker, say."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from offsets_tool.log.copies.copy_facts import CopyFacts
from offsets_tool.log.copies.forks import Forks, InForce
from offsets_tool.log.copies.union import Distinct
from offsets_tool.log.copies.views import CopiesView
from offsets_tool.rows import LogRecord
from tests.depth import DEEP
from tests.evidence.copies import asked, copy, offsets, stderr_of, stdout_of
from tests.replay.random_logs import READERS, RandomLog, segment
from tests.replay.story import commit, group_metadata, member
from tests.replay.story_segments import Placed, archive_lines, in_order

SEEDS = range(12 if DEEP else 2)
COMMANDS = ("offsets", "groups", "describe --all-groups --members", "transactions", "expiry")
EARLY, OLD, NEW = 1_000, 100_000, 200_000
BETWEEN, END = "1970-01-01T00:02:30Z", "1970-01-01T01:00:00Z"


class TwoHistories(NamedTuple):
    """Copies with the same records up to the fork; what `newer` has from there on is all later than what `older` has."""

    older: Path
    newer: Path


def two_histories(folder: Path, seed: int) -> TwoHistories:
    log = RandomLog(seed, READERS["4.3.1"]).grow(30)
    common = list(log.placed)
    paths = []
    for number, time in enumerate((OLD, NEW)):
        rest = log.branch(seed + 1 + number).grow(10 + (seed + number) % 2 * 20).placed[len(common) :]
        paths.append(copy(folder / f"copy-{number}", segment(common, EARLY) + segment(rest, time)))
    return TwoHistories(*paths)


def answers(*args: object) -> list[list[dict[str, Any]]]:
    return [asked(*command.split(), *args) for command in COMMANDS]


@pytest.mark.parametrize("view", CopiesView)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_history_that_went_on_last_answers_as_if_it_were_alone(
    tmp_path: Path, seed: int, view: CopiesView
) -> None:
    copies = two_histories(tmp_path, seed)
    alone = answers(copies.newer)
    for given in (copies, copies[::-1]):
        assert answers(*given, "--view", view) == alone


@pytest.mark.parametrize("seed", SEEDS)
def test_a_named_copy_answers_as_if_it_were_alone(tmp_path: Path, seed: int) -> None:
    copies = two_histories(tmp_path, seed)
    for each in copies:
        assert answers(*copies, "--leader", f"3={each}") == answers(each)


@pytest.mark.parametrize("seed", SEEDS)
def test_at_a_time_before_the_newer_history_went_on_the_older_one_answers(tmp_path: Path, seed: int) -> None:
    copies = two_histories(tmp_path, seed)
    for view in CopiesView:
        assert asked("offsets", *copies, "--view", view, "--as-of", BETWEEN) == asked(
            "offsets", copies.older, "--as-of", BETWEEN
        )


@pytest.mark.parametrize("view", CopiesView)
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_was_deleted_that_one_history_never_had(tmp_path: Path, seed: int, view: CopiesView) -> None:
    """Whatever the cleaners of both had done."""
    copies = two_histories(tmp_path, seed)
    for each in copies:
        (each / "cleaner-offset-checkpoint").write_text("0\n1\n__consumer_offsets 3 1000\n")
    rows = asked("history", *copies, "--view", view)
    assert "absent from another copy" not in {row["what"] for row in rows}
    assert rows == asked("history", copies.newer)


COMMON = in_order(
    commit("g", "t", 0, 1), commit("h", "t", 0, 2), commit("k", "t", 0, 3), group_metadata("g", 1)
)
BRANCHES = {
    "the second is newer": (OLD, NEW),
    "the first is newer": (NEW, OLD),
    "nobody knows": (OLD, OLD + 500),
}


def branch(time: int, offset: int, *more: Placed, epoch: int = 0) -> list[Placed]:
    own = in_order(
        commit("g", "t", 0, offset),
        commit("h", "t", 0, offset),
        commit("h", "t", 0, offset),
        start=4,
        timestamp=time,
    )
    return [*COMMON, *(each._replace(leader_epoch=epoch) for each in own), *more]


@pytest.mark.parametrize("name", BRANCHES)
def test_what_two_histories_do_not_have_in_common_is_unknown_where_times_do_not_tell(
    tmp_path: Path, name: str
) -> None:
    times = BRANCHES[name]
    paths = [
        copy(tmp_path / word, branch(time, offset))
        for word, time, offset in zip("ab", times, (10, 20), strict=True)
    ]
    for view in CopiesView:
        rows = {row["group"]: row for row in asked("offsets", *paths, "--view", view)}
        found = {group: row["committed_offset"] for group, row in rows.items()}
        newest = None if name == "nobody knows" else 20 if times[1] == NEW else 10
        assert found == {"g": newest, "h": newest, "k": 3}
        assert [row["is_proven"] for row in rows.values()] == [newest is not None, newest is not None, True]
        assert ("nothing says whether" in stderr_of("offsets", *paths, "--view", view)) == (
            name == "nobody knows"
        )
    for path, offset in zip(paths, (10, 20), strict=True):
        assert offsets(*paths, "--leader", f"3={path}") == {
            ("g", "t", 0): offset, ("h", "t", 0): offset, ("k", "t", 0): 3
        }  # fmt: skip
    told = stderr_of("offsets", *paths)
    assert "at 3 offset(s), the first 4, copies have different records of one leader epoch" in told


@pytest.mark.parametrize("name", BRANCHES)
def test_that_copies_contradict_is_told_and_the_evidence_is_not_called_complete(
    tmp_path: Path, name: str
) -> None:
    paths = [
        copy(tmp_path / word, branch(time, at))
        for at, (word, time) in enumerate(zip("ab", BRANCHES[name], strict=True))
    ]
    for view in CopiesView:
        (found,) = [
            row for row in asked("findings", *paths, "--view", view) if row["kind"] == "copies_contradict"
        ]
        assert found["confidence"] == "certain"
        for command in ("diagnose", "explain --group g"):
            told = stdout_of(*command.split(), *paths, "--view", view)
            assert (
                "not complete: from 3:4 on copies contradict each other" in told and "is complete" not in told
            )


THIRD = {
    "one that ended before the fork": COMMON[:3],
    "one that goes on with the older history, where no other record of it is": [
        *COMMON[:2], *branch(OLD, 10)[6:], Placed(9, OLD + 9_000, commit("old", "t", 0, 7))
    ],
    "one that is the older history": branch(OLD, 10),
    "one that is the newer history": branch(NEW, 20),
    "one that has gone on with the newer history": [
        *branch(NEW, 20), Placed(7, NEW + 9_000, commit("k", "t", 0, 4), leader_epoch=1)
    ],
    "one that has begun another leader epoch in the older history": [
        *branch(OLD, 10), Placed(7, OLD + 9_000, commit("k", "t", 0, 9), leader_epoch=2)
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", THIRD)
def test_a_third_copy_is_of_the_history_whose_records_it_has(tmp_path: Path, name: str) -> None:
    paths = [
        copy(tmp_path / "a", branch(OLD, 10)),
        copy(tmp_path / "b", branch(NEW, 20)),
        copy(tmp_path / "c", THIRD[name]),
    ]
    last = 4 if name == "one that has gone on with the newer history" else 3
    for view in CopiesView:
        found = offsets(*paths, "--view", view)
        assert found == {("g", "t", 0): 20, ("h", "t", 0): 20, ("k", "t", 0): last}


def test_a_history_has_gone_on_at_the_time_of_its_first_record_of_its_own(tmp_path: Path) -> None:
    paths = [copy(tmp_path / "a", branch(OLD, 10)), copy(tmp_path / "b", branch(NEW, 20))]
    first = next(placed.timestamp for placed in branch(NEW, 20) if placed.timestamp >= NEW)
    for time, expected in ((first - 1, {"g": 10, "h": 10, "k": 3}), (first, {"g": 20, "h": 2, "k": 3})):
        moment = datetime.fromtimestamp(time / 1000, UTC).isoformat(timespec="milliseconds")
        rows = offsets(*paths, "--as-of", moment)
        assert {group: offset for (group, _, _), offset in rows.items()} == expected


class _Item(NamedTuple):
    record: LogRecord


def forks(*records: tuple[int, str]) -> Forks:
    """Return what records show: each with its offset and the letters of the copies that have it."""
    items: dict[int, list[Distinct[_Item]]] = {}
    for offset, letters in records:
        copies = sum(1 << "ABCDE".index(letter) for letter in letters)
        record = LogRecord(
            source="a", log_partition=3, log_offset=offset, timestamp=OLD, key=None, value=None
        )
        items.setdefault(offset, []).append(Distinct(_Item(record), 0, copies))
    return Forks.of(items.values())


def test_a_copy_that_goes_on_with_rivals_alone_is_apart_from_their_first_fork_on() -> None:
    """D has C's last record alone, E has B's too; until C's fork, C had been one log with A."""
    alone = ((4, "B"), (8, "A"), (8, "C"), (9, "BE"), (9, "CD"), (10, "CE"))
    histories = forks((3, "ABC"), (4, "AC"), (7, "AC"), *alone)
    assert histories.apart_from(0, 5) == {1: 4, 2: 8, 3: 8, 4: 4}
    assert forks((3, "ABC"), (4, "A"), (4, "BC")).apart_from(0, 4) == {1: 4, 2: 4}
    assert forks((4, "A"), (4, "B"), (5, "BD"), (6, "ABD")).apart_from(0, 4) == {1: 0}


def test_where_nothing_tells_a_copy_that_the_fewest_contradict_counts_before_one_that_reaches_further() -> (
    None
):
    histories = forks((3, "ABC"), (4, "A"), (4, "BC"))
    copies = [CopyFacts(name, end=end) for name, end in zip("ABC", (9, 5, 6), strict=True)]
    assert histories.in_force(copies) == InForce(2, None)


def test_an_archive_of_the_older_history_is_left_out(tmp_path: Path) -> None:
    archive = tmp_path / "archive.jsonl"
    archive.write_text(archive_lines(branch(OLD, 10, Placed(7, OLD + 9_000, commit("k", "t", 0, 9)))))
    newer = copy(tmp_path / "b", branch(NEW, 20))
    for view in CopiesView:
        assert offsets(newer, archive, "--view", view) == {
            ("g", "t", 0): 20,
            ("h", "t", 0): 20,
            ("k", "t", 0): 3,
        }


def test_a_plan_does_not_call_an_older_end_the_newest_record(tmp_path: Path) -> None:
    older, newer = copy(tmp_path / "a", branch(OLD, 10)), copy(tmp_path / "b", branch(NEW, 20))
    given = ("plan", older, newer, "--as-of", "3:3", "--format", "table")
    assert "Now is 1970-01-01T00:03:22Z, the newest record of this evidence" in stdout_of(*given)
    named = stdout_of(*given, "--leader", f"3={older}")
    assert "the newest record of this evidence" not in named and "go on until 1970-01-01T00:03:22Z" in named


def test_a_plan_says_that_what_is_committed_now_is_unknown(tmp_path: Path) -> None:
    paths = [
        copy(tmp_path / word, branch(time, at))
        for at, (word, time) in enumerate((("a", OLD), ("b", OLD + 500)))
    ]
    rows = {row["group"]: row for row in asked("plan", *paths, "--as-of", "3:3")}
    assert [(row["current_offset"], row["is_current_proven"], row["new_offset"]) for row in rows.values()] == [
        (None, False, 1), (None, False, 2), (3, True, 3)
    ]  # fmt: skip
    told = stdout_of("plan", *paths, "--as-of", "3:3", "--format", "table")
    assert "What is committed now is unknown for 2 of them." in told and "no committed offset" not in told


def test_a_finding_that_spans_the_place_where_histories_part_is_not_certain(tmp_path: Path) -> None:
    """The other history may have had what this one lacked."""
    empty = in_order(group_metadata("g", 1, member("m")), group_metadata("g", 2))
    later = [
        [*empty, Placed(2, time, group_metadata("g", 3, member("m", client_id=str(time))))]
        for time in (OLD * 100, NEW * 100)
    ]
    older, newer = (copy(tmp_path / word, log) for word, log in zip("ab", later, strict=True))
    for given, wanted in (((newer,), "certain"), ((older, newer), "likely")):
        rows = {row["kind"]: row for row in asked("findings", *given)}
        assert rows["group_without_members"]["confidence"] == wanted
