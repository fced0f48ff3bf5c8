"""Several copies of one partition as one log: by rules, by properties, and as clusters whose copies differ have answered."""

import json
import tarfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.cli import main
from offsets_tool.columns.lane.availability import ENGINE_VARIABLE, Engine
from offsets_tool.events import decode_key
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.joined_log import JoinedLog
from offsets_tool.evidence.moments.copies_asked import CopiesAsked
from offsets_tool.evidence.partition_logs import partition_logs, uncounted
from offsets_tool.log.copies.views import CopiesView
from offsets_tool.records.consumer import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)
from offsets_tool.records.offsets import LegacyOffsetCommitKey, OffsetCommitKey
from tests.corpora import REPLICATED
from tests.depth import DEEP
from tests.evidence.copies import asked, copy, offsets, rolled, stderr_of
from tests.expiry.log_cleaner import cleaned
from tests.log.encoded_batches import record, v2
from tests.replay.random_logs import CONTROL, READERS, RandomLog, segment
from tests.replay.random_logs import Placed as Batch
from tests.replay.story import (
    commit,
    commit_marker,
    group_metadata,
    group_tombstone,
    record_of,
    tombstone,
    txn_commit,
)
from tests.replay.story_segments import Placed, archive_lines, in_order
from tests.replay.story_segments import segment as placed_segment

WHOLE = [REPLICATED / name for name in ("4.1.2-nightly", "4.1.2-unclean")]
REMEMBERED = ("day 4", "phase C2")
"""Moments at which living coordinators answered from memory what no log has any more."""
PROOFS = ("is_proven", "proven_from", "proven_again_from")
"""Names of what says how sure a row is: several copies may be surer than one."""
Manifest = dict[str, Any]
Subject = tuple[str, str, int]
"""A group, a topic and a partition."""


def manifest_of(corpus: Path) -> Manifest:
    found: Manifest = json.loads((corpus / "manifest.json").read_text())
    return found


def copies_of(corpus: Path) -> list[Path]:
    return [corpus / name for name in manifest_of(corpus)["checks"]["copies"] if (corpus / name).is_dir()]


def moments(corpus: Path) -> list[Manifest]:
    checks = manifest_of(corpus)["checks"]
    every = [*checks["snapshots"], checks["final"]]
    return [each for each in every if each["consistent"] and not each["label"].startswith(REMEMBERED)]


def answered(moment: Manifest) -> dict[tuple[str, str, int], int]:
    """Return the committed offsets that the live coordinators answered."""
    return {
        (group, topic, int(partition)): answer["offset"]
        for group, facts in moment["groups"].items()
        for topic, partitions in (facts.get("offsets") or {}).items()
        for partition, answer in partitions.items()
    }


def options(corpus: Path, moment: Manifest) -> list[object]:
    """Return options for a moment by offsets and leader epochs, and the first later copy of each broker that led."""
    found: list[object] = []
    leaders, taken = moment.get("leaders") or {}, manifest_of(corpus)["checks"]["copies"]
    for number, end in moment["end_offsets"].items():
        led = leaders.get(number)
        found += ["--as-of", f"{number}:{end}" + (f"@{led['leader_epoch']}" if led else "")]
        later = [
            (facts["at_ms"], corpus / name)
            for name, facts in taken.items()
            if led and facts["broker"] == led["leader"] and facts["at_ms"] >= moment["at_ms"]
        ]
        found += ["--leader", f"{number}={min(later)[1]}"] if later else []
    return found


MOMENTS = [(corpus, moment) for corpus in WHOLE for moment in moments(corpus)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("corpus", "moment"), MOMENTS, ids=[f"{corpus.name}-{at['label'][:20]}" for corpus, at in MOMENTS]
)
def test_the_coordinators_view_is_what_living_coordinators_answered(corpus: Path, moment: Manifest) -> None:
    assert offsets(*copies_of(corpus), *options(corpus, moment)) == answered(moment)


@pytest.mark.parametrize("corpus", WHOLE, ids=lambda path: path.name)
def test_the_evidence_has_every_living_group_and_none_that_was_deleted(corpus: Path) -> None:
    manifest = manifest_of(corpus)
    deleted = {
        deed["group"] for deed in manifest["story"] if "group" in deed and "delet" in deed["what"].lower()
    }
    final = manifest["checks"]["final"]["groups"]
    living = {group for group, facts in final.items() if facts.get("state") not in (None, "Dead")}
    found = {row["group"] for row in asked("groups", *copies_of(corpus), "--view", "evidence")}
    assert deleted - set(final)
    assert not (deleted - set(final)) & found and not living - deleted - found


@pytest.mark.slow
@pytest.mark.parametrize("corpus", sorted(REPLICATED.iterdir()), ids=lambda path: path.name)
def test_a_union_has_every_record_of_every_copy_once(corpus: Path) -> None:
    def identity(row: Manifest) -> str:
        parts = [row[name] for name in ("partition", "offset", "key", "value")]
        return json.dumps(
            [*parts, row["batch"]["partition_leader_epoch"], row.get("control")], sort_keys=True
        )

    had: dict[str, set[str]] = {}
    for each in copies_of(corpus):
        for row in asked("decode", each):
            had.setdefault(identity(row), set()).add(str(each))
    rows = asked("decode", "--union", *copies_of(corpus))
    assert len(rows) == len(had)
    assert {identity(row): set(row["copies"]) for row in rows} == had


def test_abandoned_records_are_those_of_no_broker_in_the_end() -> None:
    """By the truth of the story: the lone leader's, from where the others went on."""
    corpus = REPLICATED / "4.1.2-unclean"
    rows = asked("decode", "--union", *copies_of(corpus))
    abandoned = {(row["partition"], row["offset"]) for row in rows if row["branch"] == "abandoned"}
    forks = {0: 52, 1: 52, 2: 51}
    lone = {
        (row["partition"], row["offset"])
        for row in rows
        if row["offset"] >= forks[row["partition"]] and row["batch"]["partition_leader_epoch"] <= 1
    }
    assert abandoned == lone and len(abandoned) > 50


def events_of(
    folders: list[Path], view: CopiesView = CopiesView.EVIDENCE
) -> list[tuple[int, bytes | None, bytes | None, bool]]:
    """Return the events of copies as offset, key, value, and whether the event is an absence."""
    evidence = open_evidence(*folders)
    evidence.leave_out_set_aside()
    logs = partition_logs(evidence.sources, uncounted)
    return [
        (each.record.log_offset, each.record.key, each.record.value, each.is_absence)
        for copies in logs.values()
        for each in JoinedLog(copies, AsOf(), CopiesAsked(view)).events()
    ]


def random_log(seed: int) -> list[Batch]:
    return RandomLog(seed, READERS["4.3.1"]).grow(60).placed


def records_of(log: list[Batch]) -> list[tuple[int, bytes | None, bytes | None, bool]]:
    return [(*record, False) for batch in log for record in batch.records]


@pytest.mark.parametrize("view", CopiesView)
@pytest.mark.parametrize("seed", range(4 if DEEP else 2))
def test_one_copy_given_twice_is_one_copy(tmp_path: Path, seed: int, view: CopiesView) -> None:
    log = random_log(seed)
    once, twice = copy(tmp_path / "a", segment(log)), copy(tmp_path / "b", segment(log))
    assert events_of([once], view) == events_of([once, twice], view) == records_of(log)


@pytest.mark.parametrize("seed", range(4 if DEEP else 2))
def test_the_order_of_copies_does_not_matter(tmp_path: Path, seed: int) -> None:
    log, random = random_log(seed), Random(seed)
    copies = [
        copy(tmp_path / "whole", segment(log[: len(log) * 2 // 3])),
        copy(tmp_path / "clean", segment(cleaned(log, random)), cleaned_to=log[-1].base_offset),
        copy(tmp_path / "short", segment(log[: len(log) // 3])),
    ]
    wanted = {view: events_of(copies, view) for view in CopiesView}
    for _ in range(3):
        random.shuffle(copies)
        assert {view: events_of(copies, view) for view in CopiesView} == wanted


@pytest.mark.parametrize("seed", range(4 if DEEP else 2))
def test_overlapping_pieces_are_the_log(tmp_path: Path, seed: int) -> None:
    log = random_log(seed)
    third = len(log) // 3
    pieces = [log[: 2 * third], log[third:]]
    folders = [
        copy(tmp_path / str(number), segment(piece), base=piece[0].base_offset)
        for number, piece in enumerate(pieces)
    ]
    assert events_of(folders) == records_of(log)


@pytest.mark.parametrize("seed", range(4 if DEEP else 2))
def test_what_a_night_lost_an_earlier_night_still_has(tmp_path: Path, seed: int) -> None:
    """Every record of every night is there, each once; what the last night lacks is known to be gone."""
    log, random = random_log(seed), Random(seed)
    nights, had = [], set()
    for number in range(3):
        so_far = log[: len(log) * (number + 1) // 3]
        kept = cleaned(so_far, random) if number else so_far
        folder = tmp_path / f"night-{number}"
        nights.append(copy(folder, segment(kept), cleaned_to=so_far[-1].base_offset))
        had |= set(records_of(kept))
    records = [found for found in events_of(nights) if not found[-1]]
    assert set(records) == had and len(records) == len(had)


LOST = in_order(commit("g", "t", 0, 1), commit("h", "t", 0, 2), commit("h", "t", 0, 3))
LATER = [*LOST[2:], Placed(3, 9_000, commit("h", "t", 0, 3))]


def test_a_deletion_is_proven_by_a_copy_that_no_longer_has_the_key(tmp_path: Path) -> None:
    early, late = copy(tmp_path / "night-1", LOST), copy(tmp_path / "night-2", LATER, cleaned_to=2)
    for view in CopiesView:
        assert offsets(early, late, "--view", view) == {("h", "t", 0): 3}
    assert "2 key(s) were deleted" in stderr_of("offsets", early, late, "--view", "evidence")
    (row,) = asked("history", early, late, "--view", "evidence", "--group", "g", "--kind", "offsets")[-1:]
    assert row["what"] == "absent from another copy"
    assert offsets(early, late, "--as-of", "3:1") == {("g", "t", 0): 1}


def test_a_damaged_copy_proves_no_deletion(tmp_path: Path) -> None:
    """What it lacks may be in the bytes that cannot be read."""
    whole, damaged = copy(tmp_path / "a", LOST), copy(tmp_path / "b", [*LOST, LATER[1]])
    (log,) = damaged.rglob("*.log")
    data = bytearray(log.read_bytes())
    data[len(data) // 8] ^= 0xFF
    log.write_bytes(data)
    assert offsets(whole, damaged, "--view", "evidence") == {("g", "t", 0): 1, ("h", "t", 0): 3}


def test_an_uncleaned_value_that_a_copy_lacks_below_its_beginning_proves_nothing(tmp_path: Path) -> None:
    early, late = copy(tmp_path / "a", LOST), copy(tmp_path / "b", LATER, base=2)
    assert offsets(early, late, "--view", "evidence") == {("g", "t", 0): 1, ("h", "t", 0): 3}
    # What lies below the log start of the copy that decides does not count after a load.
    assert offsets(early, late) == {("h", "t", 0): 3}
    assert offsets(early, late, "--leader", f"3={early}") == {("g", "t", 0): 1, ("h", "t", 0): 3}


def test_a_replica_that_was_away_answers_what_the_others_deleted(tmp_path: Path) -> None:
    log = in_order(
        commit("g", "t", 0, 1), commit("h", "t", 0, 2), tombstone("g", "t", 0), commit("h", "t", 0, 3)
    )
    whole, zombie = copy(tmp_path / "a", log), copy(tmp_path / "b", [log[0], log[3]])
    assert offsets(whole, zombie, "--leader", f"3={zombie}") == {("g", "t", 0): 1, ("h", "t", 0): 3}
    assert offsets(whole, zombie, "--leader", f"3={whole}") == {("h", "t", 0): 3}
    assert offsets(whole, zombie, "--view", "evidence") == {("h", "t", 0): 3}


def test_an_aborted_value_that_was_cleaned_is_no_deletion(tmp_path: Path) -> None:
    """The cleaner takes what was aborted without a newer record of its key."""
    log = in_order(commit("g", "t", 0, 1), txn_commit(7, "g", "t", 0, 2), commit("h", "t", 0, 3))
    whole, clean = copy(tmp_path / "a", log), copy(tmp_path / "b", [log[0], log[2]], cleaned_to=3)
    assert offsets(whole, clean, "--view", "evidence") == {("g", "t", 0): 1, ("h", "t", 0): 3}


def test_a_value_that_its_transaction_ended_behind_is_not_the_last(tmp_path: Path) -> None:
    """The marker does not bring back what is older than the plain commit between."""
    log = in_order(
        txn_commit(7, "g", "t", 0, 1), commit("g", "t", 0, 2), commit_marker(7), commit("h", "t", 0, 3)
    )
    whole, clean = copy(tmp_path / "a", log), copy(tmp_path / "b", log[1:], cleaned_to=3)
    assert offsets(whole, clean, "--view", "evidence") == {("g", "t", 0): 2, ("h", "t", 0): 3}


def test_a_pending_commit_whose_marker_was_cleaned_is_not_committed_by_the_next_marker(
    tmp_path: Path,
) -> None:
    """A cleaner stops before the first open transaction: the one that it took had ended."""
    log = in_order(commit("g", "t", 0, 1), txn_commit(7, "g", "t", 0, 99))
    later = [Placed(3, 5_000, txn_commit(7, "h", "t", 0, 3)), Placed(4, 6_000, commit_marker(7))]
    early, late = copy(tmp_path / "a", log), copy(tmp_path / "b", [log[0], *later], cleaned_to=3)
    assert offsets(early, late, "--view", "evidence") == {("g", "t", 0): 1, ("h", "t", 0): 3}
    rows = asked("transactions", early, late, "--view", "evidence")
    assert [(row["outcome"], row["groups"]) for row in rows] == [("committed", ["h"])]


@pytest.mark.parametrize("seed", range(12 if DEEP else 4))
def test_the_state_of_all_nights_is_that_of_the_whole_log(tmp_path: Path, seed: int) -> None:
    log, random = random_log(seed), Random(seed)
    nights = []
    for number in range(3):
        so_far = log[: len(log) * (number + 1) // 3]
        kept = cleaned(so_far, random) if number else so_far
        nights.append(copy(tmp_path / f"night-{number}", segment(kept)))
    whole = copy(tmp_path / "whole", segment(log))
    for command in ("offsets", "groups"):
        names = ("log_offset", "is_proven", "proven_from", "proven_again_from", "coordinator")
        mine, theirs = (
            [
                {name: value for name, value in row.items() if name not in names}
                for row in asked(command, *given)
            ]
            for given in ((*nights, "--view", "evidence"), (whole,))
        )
        assert mine == theirs


CONVERTED = in_order(
    group_metadata("foo", 1),
    commit("foo", "t", 0, 5),
    group_tombstone("foo"),
    record_of(ConsumerGroupMetadataKey(group_id="foo"), ConsumerGroupMetadataValue(epoch=3)),
    commit("h", "t", 0, 1),
)


def test_a_key_of_another_kind_of_group_takes_nothing_from_what_it_became(tmp_path: Path) -> None:
    early = copy(tmp_path / "a", CONVERTED[:2])
    late = copy(tmp_path / "b", [CONVERTED[1], *CONVERTED[3:]], cleaned_to=4)
    rows = {row["group"]: row["kind"] for row in asked("groups", early, late, "--view", "evidence")}
    assert rows == {"foo": "consumer", "h": "simple"}
    assert offsets(early, late, "--view", "evidence")["foo", "t", 0] == 5


MEMBER = ConsumerGroupMemberMetadataValue(
    instance_id=None,
    rack_id=None,
    client_id="c",
    client_host="/127.0.0.1",
    subscribed_topic_names=("t",),
    subscribed_topic_regex=None,
    server_assignor=None,
)


def test_the_end_of_an_absent_group_is_told_once(tmp_path: Path) -> None:
    group = in_order(
        record_of(ConsumerGroupMetadataKey(group_id="foo"), ConsumerGroupMetadataValue(epoch=3)),
        record_of(ConsumerGroupMemberMetadataKey(group_id="foo", member_id="m"), MEMBER),
        commit("foo", "t", 0, 5),
        commit("h", "t", 0, 1),
        commit("h", "t", 0, 1),
    )
    early, late = copy(tmp_path / "a", group[:3]), copy(tmp_path / "b", group[4:], cleaned_to=4)
    rows = asked("history", early, late, "--view", "evidence", "--group", "foo")
    ends = [(row["kind"], row["what"]) for row in rows if row["log_offset"] == 3]
    assert ends == [
        ("offsets", "absent from another copy"),
        ("members", "absent from another copy"),
        ("groups", "absent from another copy"),
    ]
    assert {row["group"] for row in asked("groups", early, late, "--view", "evidence")} == {"h"}


def test_one_flipped_bit_in_a_leader_epoch_abandons_nothing(tmp_path: Path) -> None:
    """No checksum covers it."""
    log = in_order(*(commit("g", "t", each, each) for each in range(5)))
    sound = copy(tmp_path / "a", log)
    for at in (0, 2, 4):
        odd = [each._replace(leader_epoch=1) if number == at else each for number, each in enumerate(log)]
        odd += in_order(*(commit("g", "t", 5, 5) for _ in range(3)), start=5)
        damaged = copy(tmp_path / f"b{at}", odd)
        for view in CopiesView:
            assert len(offsets(sound, damaged, "--view", view)) == 6, (at, view)


def test_an_archive_proves_no_deletion(tmp_path: Path) -> None:
    """It may have begun late, or hold a part."""
    archive = tmp_path / "archive.jsonl"
    archive.write_text(archive_lines(LATER))
    folder = copy(tmp_path / "a", LOST)
    assert offsets(folder, archive, "--view", "evidence") == {("g", "t", 0): 1, ("h", "t", 0): 3}
    assert offsets(folder, archive, "--as-of", "1970-01-01T00:01:00Z")["h", "t", 0] == 3


FORK = [each._replace(leader_epoch=1) for each in in_order(commit("g", "t", 0, 1), commit("g", "t", 0, 2))]
NEXT = [Placed(1, 5_000, commit("g", "t", 0, 7), leader_epoch=3)]


def test_the_branch_of_an_epoch_is_chosen(tmp_path: Path) -> None:
    lone, others = copy(tmp_path / "lone", FORK), copy(tmp_path / "others", [FORK[0], *NEXT])
    assert offsets(lone, others) == {("g", "t", 0): 7}
    assert offsets(lone, others, "--as-of", "3:2@1") == {("g", "t", 0): 2}
    assert offsets(lone, others, "--as-of", "3:2@3") == {("g", "t", 0): 7}
    assert offsets(lone, others, "--as-of", "1970-01-01T00:00:02Z") == {("g", "t", 0): 2}
    assert offsets(lone, others, "--as-of", "1970-01-01T00:00:05Z") == {("g", "t", 0): 7}
    assert "not on the branch of leader epoch 3: in " in stderr_of("offsets", lone, others)
    # A copy that is not on the branch says so itself, though it is alone.
    assert offsets(others, "--as-of", "3:2@1") == {("g", "t", 0): 1}


def test_copies_that_contradict_each_other_are_told(tmp_path: Path) -> None:
    one = copy(tmp_path / "a", in_order(commit("g", "t", 0, 1)))
    other = copy(tmp_path / "b", in_order(commit("g", "t", 0, 2)))
    assert "copies have different records of one leader epoch" in stderr_of("offsets", one, other)
    assert offsets(one, other, "--leader", f"3={other}") == {("g", "t", 0): 2}
    rows = asked("copies", one, other)
    assert [(row["copy"], row["contradicting"], row["missing"]) for row in rows] == [
        (str(one), 1, 0),
        (str(other), 1, 0),
    ]
    (difference, _) = asked("copies", one, other, "--records")
    assert difference["difference"] == "contradicting"


def test_copies_of_two_clusters_are_refused(tmp_path: Path) -> None:
    copies = [copy(tmp_path / name, LOST) for name in ("a", "b")]
    for number, folder in enumerate(copies):
        (folder / "meta.properties").write_text(f"version=1\nnode.id=1\ncluster.id=cluster-{number}\n")
    result = CliRunner().invoke(main, ["offsets", *map(str, copies)])
    assert result.exit_code == 2 and "are of two clusters" in result.stderr


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (("--leader", "3=nobody"), "no copy of partition 3 has this name; there are "),
        (("--leader", "nobody"), "write 12=brokers/1"),
        (("--leader", "3=a", "--leader", "3=b"), "names two copies for partition 3"),
        (("--leader", "3=a", "--view", "evidence"), "drop --leader"),
    ],
)
def test_what_cannot_be_asked_of_copies(tmp_path: Path, options: tuple[str, ...], remedy: str) -> None:
    copies = [copy(tmp_path / name, LOST) for name in ("a", "b")]
    result = CliRunner().invoke(main, ["groups", *map(str, copies), *options])
    assert result.exit_code == 2 and remedy in result.stderr


def test_only_as_of_takes_a_leader_epoch(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["decode", str(copy(tmp_path, LOST)), "--since", "3:1@2"])
    assert result.exit_code == 2 and "only --as-of takes a leader epoch" in result.stderr


def test_a_misplaced_record_hides_no_other(tmp_path: Path) -> None:
    """A batch whose offset was damaged stands for itself, and the rest of its copy is still the same as the others'."""
    sound, damaged = copy(tmp_path / "a", LOST), copy(tmp_path / "b", LOST)
    (log,) = damaged.rglob("*.log")
    data = bytearray(log.read_bytes())
    data[0] = 0x40
    log.write_bytes(data)
    rows = asked("decode", "--union", sound, damaged)
    assert sorted(len(row["copies"]) for row in rows) == [1, 1, 2, 2]
    assert [row["contradicting"] for row in asked("copies", sound, damaged)] == [0, 0]
    assert offsets(sound, damaged) == {("g", "t", 0): 1, ("h", "t", 0): 3}


def test_inspect_names_the_copy_of_each_file_and_says_how_copies_are_compared(tmp_path: Path) -> None:
    copies = [copy(tmp_path / name, LOST) for name in ("a", "b")]
    assert [row["copy"] for row in asked("inspect", *copies)] == [str(folder) for folder in copies]
    assert "1 partition(s) are here in up to 2 copies" in stderr_of("inspect", *copies)
    assert "copies" not in stderr_of("inspect", copies[0])


def test_copies_in_tars_answer_as_their_folders_do(tmp_path: Path) -> None:
    """Also by what the cleaner's checkpoint says."""
    folders = [copy(tmp_path / "a", LOST), copy(tmp_path / "b", LATER, cleaned_to=2)]
    tars = [tmp_path / f"{folder.name}.tar" for folder in folders]
    for folder, path in zip(folders, tars, strict=True):
        with tarfile.open(path, "w") as tar:
            tar.add(folder, "data")
    asked_of = [asked("history", *given, "--view", "evidence") for given in (folders, tars)]
    assert asked_of[0] == asked_of[1] and any(
        row["what"] == "absent from another copy" for row in asked_of[0]
    )
    assert offsets(*tars, "--leader", f"3={tars[0]}")["h", "t", 0] == 3


def test_the_first_later_record_ends_a_moment_in_all_copies(tmp_path: Path) -> None:
    """A copy without the record before it has those behind it, whose clocks went back, even so."""
    log = [
        Placed(at, 1_000 * time, commit(*told_, 0, at))
        for at, (time, told_) in enumerate([(1, ("g", "t")), (9, ("g", "t")), (2, ("h", "t"))])
    ]
    whole, clean = copy(tmp_path / "a", log), copy(tmp_path / "b", log[1:])
    for leader in (whole, clean):
        given = (whole, clean, "--as-of", "1970-01-01T00:00:03Z", "--leader", f"3={leader}")
        assert offsets(*given) == {("g", "t", 0): 0}


def test_the_time_at_which_a_tombstone_may_go_is_not_when_it_was_written(tmp_path: Path) -> None:
    """The cleaner keeps it where the base timestamp was (KAFKA-8522)."""
    first, gone = commit("g", "t", 0, 1), tombstone("g", "t", 0)
    horizon = 86_400_000
    only = record(0, gone.key, None, timestamp_delta=2_000 - horizon)
    marked = v2(1, [only], attributes=0x40, base_timestamp=horizon, max_timestamp=2_000)
    log = placed_segment([Placed(0, 1_000, first)]) + marked
    copies = [copy(tmp_path / name, log) for name in ("a", "b")]
    for given in (copies, copies[:1]):
        assert offsets(*given, "--as-of", "1970-01-01T00:00:03Z") == {}


def test_a_leader_may_be_named_of_one_copy_however_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy(tmp_path / "a", LOST)
    asked_of = [asked("history", folder)]
    monkeypatch.setenv(ENGINE_VARIABLE, Engine.FAST)
    assert [*asked_of, asked("history", folder)] == [asked("history", folder, "--leader", f"3={folder}")] * 2


def test_a_file_that_is_missing_proves_no_deletion(tmp_path: Path) -> None:
    """Unless the copy's cleaner had been there; the copy that decides for the coordinator had its records."""
    log = in_order(*(commit(f"g{at}", "t", 0, at) for at in range(12)))
    paths = [copy(tmp_path / "night-1", log[:9]), rolled(tmp_path / "night-2", log, lost=4)]
    for view in CopiesView:
        assert len(offsets(*paths, "--view", view.value)) == 12
        assert "night-2 lacks the offsets 4 to 7 between two of its files" in stderr_of(
            "offsets", *paths, "--view", view.value
        )
    assert "night-2 lacks the offsets 4 to 7" in stderr_of("copies", *paths)
    paths[1] = rolled(tmp_path / "cleaned", log, lost=4, cleaned_to=9)
    assert len(offsets(*paths, "--view", "evidence")) == 8
    assert "lacks" not in stderr_of("offsets", *paths)


def test_copies_of_two_topic_ids_are_joined_and_named(tmp_path: Path) -> None:
    log = in_order(commit("g", "t", 0, 1), commit("g", "t", 0, 2))
    paths = [copy(tmp_path / name, log) for name in ("a", "b")]
    for path, id_ in zip(paths, ("oHkKSdyAQACNgMdq4zrp6Q", "a9rRjk-eSxWMjzMtiKnjtA"), strict=True):
        (path / "__consumer_offsets-3" / "partition.metadata").write_text(f"version: 0\ntopic_id: {id_}\n")
    assert len(offsets(*paths)) == 1
    assert "have two topic ids" in stderr_of("offsets", *paths) and "have two topic ids" in stderr_of(
        "copies", *paths
    )
    assert {row["topic_id"] for row in asked("copies", *paths)} == {
        "oHkKSdyAQACNgMdq4zrp6Q",
        "a9rRjk-eSxWMjzMtiKnjtA",
    }


def test_what_one_copy_alone_still_has_is_recovered(tmp_path: Path) -> None:
    """Neither what all have, nor what no other copy had reached, nor what an archive never had."""
    log = in_order(commit("g", "t", 0, 1), *(commit("h", "t", 0, at) for at in range(4)))
    archive = tmp_path / "archive.jsonl"
    archive.write_text(archive_lines(log[1:2]))
    paths = [copy(tmp_path / "a", log[:4]), copy(tmp_path / "b", log[3:], cleaned_to=4), archive]
    rows = {row["offset"]: row["is_recovered"] for row in asked("decode", "--union", *paths)}
    assert rows == {0: True, 1: False, 2: True, 3: False, 4: False}
    recovered = {row["log_offset"]: row["is_recovered"] for row in asked("copies", "--records", *paths)}
    assert recovered == {0: True, 1: False, 2: True}
    assert (
        f"2 record(s) are recovered: of the copies that had them one alone still has each, {paths[0]}"
        in stderr_of("offsets", *paths, "--view", "evidence")
    )
    assert "recovered" not in stderr_of("offsets", *paths)


TOOK_OVER = 20
AWAY = {
    "an offset and then its group": [tombstone("g", "t", 0), tombstone("g", "t", 1), group_tombstone("g")],
    "a group, whose offsets' tombstones are gone": [group_tombstone("g")],
    "one offset": [tombstone("g", "t", 0)],
}


@pytest.mark.parametrize("has_group_record", [False, True])
@pytest.mark.parametrize("name", AWAY)
def test_what_a_copy_missed_while_it_was_away_counts_for_nothing_once_it_leads(
    tmp_path: Path, name: str, has_group_record: bool
) -> None:
    """At every moment of its epoch, by place as by time, it answers as if it were alone; the other copy answers otherwise."""
    own = [group_metadata("g", 1)] if has_group_record else [commit("k", "t", 0, 4)]
    common = in_order(*own, commit("g", "t", 0, 1), commit("g", "t", 1, 2), commit("h", "t", 0, 3))
    missed = in_order(*AWAY[name], start=10, timestamp=11_000)
    led = [
        each._replace(leader_epoch=1)
        for each in in_order(*(commit("h", "t", 0, at) for at in range(4)), start=TOOK_OVER, timestamp=21_000)
    ]
    is_clean = name.endswith("are gone")
    kept = [each for each in common if not (is_clean and each.offset in (1, 2))]
    there = copy(tmp_path / "there", [*kept, *missed, *led])
    away = copy(tmp_path / "away", [*common, *led])
    for end in range(TOOK_OVER + 1, TOOK_OVER + 5):
        for moment in (f"3:{end}@1", f"1970-01-01T00:00:{end:02}.500Z"):
            given = (there, away, "--leader", f"3={away}", "--as-of", moment)
            alone = (away, "--as-of", moment.removesuffix("@1"))
            assert offsets(*given) == offsets(*alone)
            assert {row["group"] for row in asked("groups", *given)} == {
                row["group"] for row in asked("groups", *alone)
            }
        given = (there, away, "--leader", f"3={there}", "--as-of", f"3:{end}@1")
        assert is_clean or ("g", "t", 0) not in offsets(*given)


def _keyed_in_both_versions(log: list[Batch]) -> set[Subject]:
    """Return what was committed under keys of both versions, which a cleaner takes for two: it may keep the older one."""
    kinds: dict[Subject, set[type]] = {}
    for batch in log:
        for _, key, _ in () if batch.attributes & CONTROL else batch.records:
            name = decode_key(key).data
            if isinstance(name, LegacyOffsetCommitKey | OffsetCommitKey):
                kinds.setdefault((name.group, name.topic, name.partition), set()).add(type(name))
    return {subject for subject, types in kinds.items() if len(types) > 1}


def _known_offsets(*args: object) -> dict[Subject, Manifest]:
    """Return the rows of `offsets` by their subject, without what says how sure they are."""
    return {
        (row["group"], row["topic"], row["partition"]): {
            name: row[name] for name in row if name not in PROOFS
        }
        for row in asked("offsets", *args)
    }


@pytest.mark.parametrize("seed", range(40 if DEEP else 4))
def test_a_copy_that_missed_what_its_leader_cleaned_answers_as_if_it_were_alone(
    tmp_path: Path, seed: int
) -> None:
    """It was away until its leader's cleaner had been there; then it leads, and nobody has cleaned its log since."""
    random = Random(seed)
    log = random_log(seed)
    left = random.randrange(10, len(log) // 2)
    clean = cleaned(log, random)
    reached = log[left].base_offset
    own = [*log[:left], *(each for each in clean if each.base_offset >= reached)]
    grown = RandomLog(seed, READERS["4.3.1"]).grow(60)
    start = len(grown.placed)
    after = grown.grow(8).placed[start:]
    led = segment(after, leader_epoch=1)
    away = copy(tmp_path / "away", segment(own) + led)
    there = copy(tmp_path / "there", segment(clean if seed % 2 else log) + led)
    twofold = _keyed_in_both_versions([*log, *after])
    for batch in after:
        end = batch.records[-1][0] + 1
        moment = ("--as-of", f"3:{end}@1", "--leader", f"3={away}")
        joined, alone = (
            _known_offsets(*given) for given in ((there, away, *moment), (away, "--as-of", f"3:{end}"))
        )
        # What one copy alone leaves unknown, the other may tell.
        unknown = twofold | {subject for subject, row in alone.items() if row["log_offset"] is None}
        assert {subject: row for subject, row in joined.items() if subject not in unknown} == {
            subject: row for subject, row in alone.items() if subject not in unknown
        }, end
        joined_groups, groups = (
            [{name: row[name] for name in row if name not in PROOFS} for row in asked("groups", *given)]
            for given in ((there, away, *moment), (away, "--as-of", f"3:{end}"))
        )
        uncounted = {group for group, _, _ in unknown}
        for row in (*joined_groups, *groups):
            row["offsets"] = None if row["group"] in uncounted else row["offsets"]
        assert joined_groups == groups, end
