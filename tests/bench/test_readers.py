"""Every reader that is timed finds the same in a segment, and a disagreement is not passed over."""

import subprocess
from pathlib import Path
from random import Random

import pytest

from bench import kafka, ours, plain
from bench.generator.batches import write_batches
from bench.generator.mixes import MIXES
from bench.pace import ONCE, Entry, Ratio, Timed, race, ratio
from bench.processes import measured
from bench.tally import Tally, Unequal, agreed
from offsets_tool.errors import OffsetsToolError
from oracle.client import Oracle


def made(mix: str, folder: Path, codec: str = "none") -> Path:
    path = folder / "__consumer_offsets-0" / "00000000000000000000.log"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(write_batches(MIXES[mix](Random(5)), 200_000, codec))
    return path


@pytest.mark.java
def test_all_readers_find_the_same_commits(oracle: Oracle, tmp_path: Path) -> None:
    path = made("commits", tmp_path)
    dumped = subprocess.run(kafka.dump_log(path), capture_output=True, check=True).stdout
    tally = agreed(
        "commits",
        {
            "dump-log": kafka.tally_text(dumped),
            "memory": kafka.tally(oracle, path, memory=True),
            "file": kafka.tally(oracle, path, memory=False),
            "struct": plain.struct_tally(path),
            "kafka-python": plain.kafka_python_tally(path),
            "reference": ours.Reading(fast=False).tally(path),
            "columns": ours.Reading().tally(path),
            "hashed": ours.Reading(log=True, hashes=True).tally(path),
            "Parquet": ours.tally_tables(path),
        },
    )
    assert tally.records == tally.commits > 1000
    assert ours.inspected(path) == (tally.records, tally.commits, tally.groups)


@pytest.mark.java
@pytest.mark.parametrize(
    ("mix", "codec"),
    [("rich", "none"), ("rebalances", "none"), ("consumer-groups", "none"), ("large-batches", "lz4")],
)
def test_kafka_and_ours_find_the_same_in_other_mixes(
    mix: str, codec: str, oracle: Oracle, tmp_path: Path
) -> None:
    path = made(mix, tmp_path, codec)
    tally = agreed(mix, {"Kafka": kafka.tally(oracle, path, memory=True), "ours": ours.Reading().tally(path)})
    assert tally.records > 100
    ours.inflate_all(path)


def test_the_plain_reader_refuses_what_it_does_not_read(tmp_path: Path) -> None:
    path = made("commits", tmp_path)
    data = bytearray(path.read_bytes())
    data[500] ^= 1
    path.write_bytes(data)
    for reader in (plain.struct_tally, plain.kafka_python_tally):
        with pytest.raises(ValueError, match="checksum"):
            reader(path)
    with pytest.raises(ValueError, match="not compressed"):
        plain.struct_tally(made("large-batches", tmp_path, "zstd"))
    with pytest.raises(ValueError, match="versions 0 to 3"):
        plain.struct_tally(made("rich", tmp_path))


def test_readers_that_disagree_are_named() -> None:
    with pytest.raises(Unequal, match=r"rich: .*ours: \(2, 1, 7, 1\); Kafka: \(2, 1, 8, 1\)"):
        agreed("rich", {"ours": Tally(2, 1, 7, 1), "Kafka": Tally(2, 1, 8, 1)})


def test_entries_run_in_turn() -> None:
    ran: list[str] = []

    def entry(name: str, rounds: int) -> Entry:
        return Entry(name, lambda: float(ran.append(name) or len(ran)), 2_000_000, rounds, warms=False)

    timed = race([entry("a", 3), entry("b", 2)])
    assert ran == ["a", "b", "a", "b", "a"]
    assert timed["a"].seconds == (1, 3, 5)
    assert timed["a"].rate == 2 / 3


@pytest.mark.parametrize(("seconds", "rounds"), [(0.1, 9), (1.0, 4), (30.0, 3)])
def test_what_takes_long_has_fewer_rounds_but_three(seconds: float, rounds: int) -> None:
    assert race([Entry("ours", lambda: seconds, 1, warms=False)])["ours"].seconds == (seconds,) * rounds


def test_what_takes_long_is_warm_after_four_runs() -> None:
    seconds = iter([64.0, 32.0, 16.0, 8.0, 1.0])
    assert race([Entry("jvm", lambda: next(seconds), 1, rounds=1)])["jvm"].seconds == (1.0,)


@pytest.mark.parametrize(
    ("theirs", "ours", "value", "spread"),
    [
        ((4.0, 6.0, 5.0), (2.0, 3.0, 2.5), 2.0, 0.0),  # a round that was slow for both is no spread
        ((4.0, 4.0, 4.0), (2.0, 1.0, 4.0), 2.0, 0.75),
        ((4.0, 4.0), (2.0, 2.0, 9.0), 2.0, 0.0),
        ((4.0,), (2.0,), 2.0, ONCE),
    ],
)
def test_a_ratio_is_the_median_of_rounds(
    theirs: tuple[float, ...], ours: tuple[float, ...], value: float, spread: float
) -> None:
    assert ratio("Kafka", theirs, ours) == Ratio("Kafka", value, spread)
    of_record = Timed("ours", 200, ours).against(Timed("Kafka", 100, theirs))
    assert of_record == Ratio("Kafka", 2 * value, spread)


def test_what_becomes_faster_is_run_until_it_no_longer_does() -> None:
    seconds = iter([0.8, 0.4, 0.2, 0.2, 0.2, 0.2, 0.1])
    timed = race([Entry("jvm", lambda: next(seconds), 1, rounds=1)])
    assert timed["jvm"].seconds == (0.1,)


def test_a_process_that_fails_says_why() -> None:
    with pytest.raises(OffsetsToolError, match="no such file"):
        measured(["bash", "-c", "echo no such file >&2; exit 3"])
    assert measured(["echo", "x"]).output == b"x\n"
    assert measured(["echo", "x"], None).output == b""
