"""What makes a partition's log: segments, loose files, tars and archives in one order; copies and damage. Asked of `offsets`."""

import gzip
import json
import shutil
import struct
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead
from tests.cli.test_offsets import commits, committed, invoke, rows
from tests.corpora import FIXTURES
from tests.log.displaced_batches import KEYS, VALUE
from tests.log.encoded_batches import record, v2
from tests.replay.story import commit
from tests.replay.story_segments import Placed, archive_lines, segment, write_log


def test_segments_follow_each_other_however_they_are_given(tmp_path: Path) -> None:
    first = write_log(tmp_path, commits(1, 2))
    later = [at._replace(offset=at.offset + 2) for at in commits(3, 4)]
    (tmp_path / "later.log").write_bytes(segment(later))
    assert committed(tmp_path / "later.log", first, "--log-partition", 3) == {0: 4}
    write_log(tmp_path, later, base=2)
    assert committed(tmp_path) == {0: 4}
    assert committed(tmp_path, "--as-of", "3:3") == {0: 3}


def test_files_of_two_folders_that_were_named_one_by_one_are_one_log(tmp_path: Path) -> None:
    for name, placed in (("a", commits(1, 2)), ("b", commits(1))):
        write_log(tmp_path, placed).rename(tmp_path / name)
    files = [next((tmp_path / name).glob("*.log")) for name in ("a", "b")]
    result = invoke(*files, "--log-partition", 3)
    assert result.exit_code == 2 and "partition 3 is here twice" in result.stderr
    assert "give the folders of the copies" in result.stderr


def test_loose_folders_of_nobody_knows_which_partition_are_not_one_log(tmp_path: Path) -> None:
    for name, placed in (("a", commits(1, 2)), ("b", [Placed(9, 9_000, commit("h", "t", 0, 9))])):
        write_log(tmp_path, placed).rename(tmp_path / name)
    result = invoke(tmp_path / "a", tmp_path / "b")
    assert result.exit_code == 2 and "nothing says of which partition" in result.stderr


def test_segments_of_one_folder_that_reach_into_each_other_are_no_copies(tmp_path: Path) -> None:
    """The name of the second says where the first must end: what goes on is left out, and said."""
    write_log(tmp_path, commits(1, 2, 3))
    write_log(tmp_path, [at._replace(offset=at.offset + 1) for at in commits(4)], base=1)
    assert committed(tmp_path) == {0: 4}
    result = invoke(tmp_path, "--strict")
    assert (
        result.exit_code == 3 and "offset 1 is not below 1, at which the next segment begins" in result.stderr
    )


def test_a_segment_beside_its_own_packed_copy_is_read_once(tmp_path: Path) -> None:
    folder = write_log(tmp_path, commits(1, 2))
    (log,) = folder.glob("*.log")
    (folder / f"{log.name}.gz").write_bytes(gzip.compress(log.read_bytes()))
    assert committed(tmp_path) == {0: 2}
    result = invoke(tmp_path, "--strict")
    assert (
        result.exit_code == 3
        and "2 record(s) of segments that reach into each other are left out" in result.stderr
    )


def test_segments_that_reach_into_each_other_are_named_by_inspect(tmp_path: Path) -> None:
    """Within a folder, and those in use only: what a replay leaves out there."""
    folder = write_log(tmp_path, commits(1, 2))
    (log,) = folder.glob("*.log")
    write_log(tmp_path, commits(7), suffix=".deleted")
    shutil.copytree(tmp_path, tmp_path / "other")
    (folder / f"{log.name}.gz").write_bytes(gzip.compress(log.read_bytes()))
    result = CliRunner().invoke(main, ["inspect", str(tmp_path), "--strict", "--format", "jsonl"])
    overlaps = [row["overlap"] for row in map(json.loads, result.stdout.splitlines())]
    wanted = {"source": log.as_posix(), "first_offset": 0, "last_offset": 1}
    assert [overlap for overlap in overlaps if overlap] == [wanted]
    assert result.exit_code == 3 and "1 segment(s) that reach into others" in result.stderr


def test_what_damage_took_is_not_laid_to_compaction(tmp_path: Path) -> None:
    folder = write_log(tmp_path, commits(1, 2, 3, 4, 5))
    (log,) = folder.glob("*.log")
    sound = log.read_bytes()
    size = len(sound) // 5
    for damaged in (
        sound[:size] + struct.pack(">q", 2**47) + sound[size + 8 :],
        sound[: 2 * size - 1] + b"\xee" + sound[2 * size :],
    ):
        log.write_bytes(damaged)
        for command in (["history"], ["offsets", "--as-of", "3:4"], ["expiry", "--as-of", "3:4"]):
            said = CliRunner().invoke(main, [*command[:1], str(tmp_path), *command[1:]]).stderr
            assert "gone (compaction, or damage" in said, (command, said)
    log.write_bytes(sound[:size] + sound[2 * size :])
    assert "gone (compaction)" in CliRunner().invoke(main, ["history", str(tmp_path)]).stderr


def test_what_kafka_has_set_aside_is_not_replayed_unless_it_is_named(tmp_path: Path) -> None:
    folder = write_log(tmp_path, commits(1))
    write_log(tmp_path, commits(7), suffix=".deleted")
    result = invoke(tmp_path)
    assert (
        json.loads(result.stdout)["committed_offset"] == 1
        and "1 file(s) that Kafka has set aside" in result.stderr
    )
    assert committed(folder / "00000000000000000000.log.deleted") == {0: 7}
    (folder / "00000000000000000000.log").unlink()
    refused = invoke(tmp_path)
    assert refused.exit_code == 2 and "name the files to read" in refused.stderr


def test_a_log_whose_beginning_is_missing_is_said(tmp_path: Path) -> None:
    write_log(tmp_path, [at._replace(offset=at.offset + 500) for at in commits(1)], base=500)
    assert "the log begins at 3:500" in invoke(tmp_path).stderr


def test_an_archive_in_any_order_with_repeated_rows(tmp_path: Path) -> None:
    lines = archive_lines(commits(1, 2, 3)).splitlines(keepends=True)
    archive = tmp_path / "archive.jsonl"
    archive.write_text("".join((lines[2], lines[0], lines[1], lines[0])))
    assert committed(archive) == {0: 3} and committed(archive, "--as-of", "3:2") == {0: 2}
    archive.write_text(archive_lines(commits(1, 2)) + archive_lines(commits(1, 9)))
    result = invoke(archive)
    assert result.exit_code == 2 and "different records for offset 1 of partition 3" in result.stderr


def test_an_archive_that_does_not_tell_of_transactions_says_what_that_means(tmp_path: Path) -> None:
    archive = tmp_path / "archive.jsonl"
    lines = [json.loads(line) for line in archive_lines(commits(1, 2)).splitlines()]
    archive.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "2 commit(s) do not say whether they are of a transaction" in invoke(archive).stderr
    for known in ({"is_transactional": False}, {"producer_id": -1}):
        archive.write_text("".join(json.dumps(line | known) + "\n" for line in lines))
        assert invoke(archive).stderr == "" and committed(archive) == {0: 2}


@pytest.mark.parametrize("corpus", ["4.3.1-txn", "3.3.2-mix", "4.3.1-newgroups"])
def test_an_archive_of_a_log_has_the_offsets_of_the_log(tmp_path: Path, corpus: str) -> None:
    """But for what only batches tell: whose coordinator a 4.x log without newer records is of."""
    segments = FIXTURES / "corpora" / corpus / "segments"
    decoded = CliRunner().invoke(main, ["decode", str(segments), "--raw"]).stdout.splitlines()
    archive = tmp_path / "archive.jsonl"
    with archive.open("w") as out:
        for row in map(json.loads, decoded):
            batch = row["batch"]
            line = {name: row[name] for name in ("partition", "offset", "timestamp")}
            line |= {
                "key": row["key_bytes"],
                "value": row["value_bytes"],
                "producer_id": batch["producer_id"],
            }
            line |= {name: batch[name] for name in ("is_transactional", "is_control")}
            out.write(json.dumps(line) + "\n")
    assert rows(archive) == rows(segments)


def test_tars_and_compressed_copies(tmp_path: Path) -> None:
    folder = write_log(tmp_path, commits(1, 2))
    with tarfile.open(tmp_path / "copy.tar.gz", "w:gz") as tar:
        tar.add(folder, folder.name)
    assert committed(tmp_path / "copy.tar.gz") == {0: 2}
    packed = tmp_path / "packed" / folder.name / "00000000000000000000.log.gz"
    packed.parent.mkdir(parents=True)
    packed.write_bytes(gzip.compress(segment(commits(1, 2))))
    assert committed(tmp_path / "packed") == {0: 2}


def test_damage_is_said_and_strict_ends_with_3(tmp_path: Path) -> None:
    folder = write_log(tmp_path, commits(1, 2, 3))
    log = folder / "00000000000000000000.log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    assert committed(tmp_path) == {0: 2}
    result = invoke(tmp_path, "--strict")
    assert result.exit_code == 3 and "unreadable" in result.stderr


def test_files_of_an_unknown_partition_say_how_to_number_them(tmp_path: Path) -> None:
    write_log(tmp_path, commits(1, 2)).rename(tmp_path / "loose")
    loose = tmp_path / "loose"
    assert "; --log-partition tells the number of what is" in invoke(loose, "--as-of", "3:1").stderr
    assert committed(loose, "--as-of", "3:1", "--log-partition", 3) == {0: 1}
    lines = CliRunner().invoke(main, ["history", str(loose), "--format", "csv"]).stdout.splitlines()
    assert lines[-1].split(",")[1] == "offset 1"


def test_a_damaged_base_offset_costs_its_batch_and_nothing_else(tmp_path: Path) -> None:
    """Every command that replays: the rest is answered, the batch named, and --strict sees it."""
    placed = [Placed(at, at * 1_000, commit(f"g{at}", "t", 0, at)) for at in range(10)]
    folder = write_log(tmp_path, placed)
    log = folder / "00000000000000000000.log"
    starts = [read.batch.position for read in read_segment(log) if isinstance(read, BatchRead)]
    damaged = bytearray(log.read_bytes())
    damaged[starts[5] + 3] ^= 1
    log.write_bytes(damaged)
    write_log(tmp_path, [at._replace(offset=at.offset + 10) for at in placed], base=10)
    for command in ("groups", "offsets", "history", "expiry", "lag", "transactions"):
        for strict in ((), ("--strict",)):
            result = CliRunner().invoke(main, [command, str(tmp_path), *strict])
            assert result.exit_code == (3 if strict else 0), (command, result.stderr)
            assert "offset 4294967301 is not below 10, at which the next segment begins" in result.stderr
            assert "leave 5, as many as it has" in result.stderr and "twice" not in result.stderr
            assert ("g4" in result.stdout) == (command != "transactions")
    shown = CliRunner().invoke(main, ["decode", str(tmp_path)]).stdout.splitlines()
    assert [row["offset"] for row in map(json.loads, shown) if row["problem"]] == [(1 << 32) + 5]
    assert committed(tmp_path, "--as-of", "3:6", "--group", "g4") == {0: 4}


def test_an_offset_outside_of_its_batch_stops_nobody(tmp_path: Path) -> None:
    folder = tmp_path / "__consumer_offsets-3"
    folder.mkdir()
    key, value = KEYS[3], VALUE
    (folder / "00000000000000000000.log").write_bytes(
        v2(0, [record(-(2**31), key, value)], last_offset_delta=0)
    )
    write_log(tmp_path / "other", commits(1, 2), partition=4)
    result = invoke(tmp_path)
    assert result.exit_code == 0 and "offset -2147483648 is outside of its batch" in result.stderr
    assert len(result.stdout.splitlines()) == 1


def test_a_negative_offset_in_an_archive_is_a_problem(tmp_path: Path) -> None:
    archive = tmp_path / "archive.jsonl"
    lines = [json.loads(line) for line in archive_lines(commits(1, 2)).splitlines()]
    archive.write_text("".join(json.dumps(line) + "\n" for line in (lines[0] | {"offset": -5}, lines[1])))
    assert committed(archive) == {0: 2}
    assert invoke(archive, "--strict").exit_code == 3
