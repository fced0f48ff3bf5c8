"""Readers of a segment against each other, each on the same one core: to columns, to objects, to Parquet."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import sched_getaffinity, sched_setaffinity
from pathlib import Path

from bench import kafka, ours, plain
from bench.generator.batches import CODECS
from bench.inputs import Input
from bench.pace import Entry, Timed, race, timed
from bench.processes import measured
from bench.table import Table, number, times
from bench.tally import agreed
from oracle.client import Oracle

COMMITS = Input("commits")
_FEWER = Input("commits", 0.1)
_OTHERS = (
    (Input("rich"), "versions 1, 3, 4 with topic ids, metadata, tombstones, transactions"),
    (Input("rebalances"), "20 % classic group metadata, ten members each"),
    (Input("consumer-groups", 0.5), "20 % records of KIP-848 groups"),
)
_SLOW_ROUNDS = 3
_WARM = "Kafka's MemoryRecords and serde, warm JVM: objects, dropped"


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process and all that it starts on one core."""
    allowed = sched_getaffinity(0)
    sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        sched_setaffinity(0, allowed)


def commits_table(oracle: Oracle) -> Table:
    """Return the table of the simplest mix, read by every reader there is."""
    path, few = COMMITS.path(), _FEWER.path()
    dumped = kafka.tally_text(measured(kafka.dump_log(few)).output)
    agreed("the smaller segment", {
        "Kafka": kafka.tally(oracle, few, memory=True), "dump-log": dumped, "reference": ours.Reading(fast=False).tally(few),
    })  # fmt: skip
    fewer = dumped.records
    records = agreed("commits", {
        "Kafka, memory": kafka.tally(oracle, path, memory=True), "Kafka, file": kafka.tally(oracle, path, memory=False),
        "struct": plain.struct_tally(path), "kafka-python": plain.kafka_python_tally(path),
        "columns": ours.Reading().tally(path), "both tables": ours.Reading(log=True, hashes=True).tally(path),
        "Parquet": ours.tally_tables(path),
    }).records  # fmt: skip
    ran = race(_entries(oracle, path, records, few, fewer))
    slowest, warm = (
        next(row for name, row in ran.items() if name.startswith(peer)) for peer in ("Kafka's dump", _WARM)
    )
    rows = [
        (name, number(row.rate), times(row.rate / slowest.rate), times(row.rate / warm.rate))
        for name, row in ran.items()
    ]
    title = f"Commits (value version 3, {path.stat().st_size / 2**20:.0f} MB, {records:,} records), one core, checksums verified:"
    return Table(title, ("", "M records/s", "dump-log = 1", "warm JVM = 1"), rows)


def _entries(oracle: Oracle, path: Path, records: int, few: Path, fewer: int) -> list[Entry]:
    def entry(name: str, reading: ours.Reading) -> Entry:
        return Entry(name, timed(lambda: reading.run(path)), records)

    slowly = ours.Reading(fast=False)
    return [
        Entry("Kafka's dump-log --offsets-decoder, as a process", lambda: measured(kafka.dump_log(path), None).seconds,
              records, _SLOW_ROUNDS, warms=False),
        Entry("kafka-python's records, `struct`", timed(lambda: plain.kafka_python_tally(few)), fewer, _SLOW_ROUNDS, False),
        Entry("plain Python, `struct`", timed(lambda: plain.struct_tally(few)), fewer, _SLOW_ROUNDS, False),
        Entry("Kafka's FileRecords and serde, warm JVM: objects, dropped", kafka.pace(oracle, path, memory=False), records),
        Entry(_WARM, kafka.pace(oracle, path, memory=True), records),
        Entry("**ours, reference reader**: `events` in Arrow", timed(lambda: slowly.run(few)), fewer, _SLOW_ROUNDS, False),
        entry("**ours**: `events` in Arrow", ours.Reading()),
        entry("**ours**: the same, keys known from the segment before", ours.Reading(keeps=True)),
        entry("**ours**: `events`, and the file's SHA-256", ours.Reading(hashes=True)),
        entry("**ours**: `events` and `log` in Arrow", ours.Reading(log=True)),
        Entry("**ours**: both written as Parquet (zstd)", timed(lambda: ours.write_and_drop(path)), records, 5),
    ]  # fmt: skip


def mixes_table(oracle: Oracle) -> Table:
    """Return the table of the other mixes, read by this toolkit and by Kafka's classes."""
    rows = []
    for input_, described in _OTHERS:
        ran = _against_kafka(oracle, input_)
        mine, warm = ran["ours"], ran["kafka"]
        rows.append((described, number(mine.rate), number(warm.rate), times(mine.rate / warm.rate)))
    return Table(
        "Other mixes, `events` in Arrow, one core, M records/s:",
        ("", "ours", "Kafka, warm JVM", "ratio"),
        rows,
    )


def codecs_table(oracle: Oracle) -> Table:
    """Return the table of one mix in every codec, with the time that remains after decompression."""
    rows = []
    for codec in CODECS:
        input_ = Input("large-batches", 0.3, codec)
        ran = _against_kafka(oracle, input_, "large-batches")
        mine, warm = ran["ours"], ran["kafka"]
        if codec == "none":
            plainly = mine.median
        floor = 0.0 if codec == "none" else ran["inflate"].median
        rows.append(
            (
                codec,
                f"{input_.path().stat().st_size / 2**20:.1f}",
                number(mine.rate),
                number(warm.rate),
                times(mine.rate / warm.rate),
                times(mine.median / (floor + plainly)),
            )
        )
    heads = ("codec", "MB", "ours", "Kafka, warm JVM", "ratio", "our time ÷ (decompressing + uncompressed)")
    return Table("Compressed, some sixty commits a batch, M records/s:", heads, rows)


def _against_kafka(oracle: Oracle, input_: Input, what: str = "") -> Mapping[str, Timed]:
    path, reading = input_.path(), ours.Reading()
    records = agreed(what or input_.mix, {
        "Kafka": kafka.tally(oracle, path, memory=True), "columns": reading.tally(path),
    }).records  # fmt: skip
    entries = [
        Entry("ours", timed(lambda: reading.run(path)), records),
        Entry("kafka", kafka.pace(oracle, path, memory=True), records),
    ]
    if input_.codec != "none":
        entries.append(Entry("inflate", timed(lambda: ours.inflate_all(path)), records))
    return race(entries)
