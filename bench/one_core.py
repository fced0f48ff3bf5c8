"""Readers of a segment against each other, each on the same one core: to columns, to objects, to Parquet."""

from collections.abc import Mapping
from pathlib import Path

from bench import kafka, ours, plain
from bench.benchmark import Room
from bench.generator.batches import CODECS
from bench.inputs import Input
from bench.pace import Entry, Timed, race, timed
from bench.processes import measured
from bench.table import Table, number, times, without_marks
from bench.tally import agreed
from oracle.client import Oracle

_KAFKA = "Kafka's classes in a warm JVM"
COMMITS = Input("commits")
_FEWER = Input("commits", 0.1)
_OTHERS = (
    (Input("rich"), "versions 1, 3, 4 with topic ids, metadata, tombstones, transactions"),
    (Input("rebalances"), "20 % classic group metadata, ten members each"),
    (Input("consumer-groups", 0.5), "20 % records of KIP-848 groups"),
)
_DUMP_LOG = "Kafka's dump-log --offsets-decoder, as a process"
_WARM = "Kafka's MemoryRecords and serde, warm JVM: objects, dropped"


def commits_table(room: Room) -> Table:
    """Return the table of the simplest mix, read by every reader there is."""
    oracle = room.oracle
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
    of_dump_log, of_warm = (
        {name: row.against(ran[peer]) for name, row in ran.items()} for peer in (_DUMP_LOG, _WARM)
    )
    rows = [
        (name, number(row.rate), times(of_dump_log[name].value), times(of_warm[name].value))
        for name, row in ran.items()
    ]
    ratios = {without_marks(name): ratio for name, ratio in of_warm.items() if name.startswith("**ours")}
    title = f"Commits (value version 3, {path.stat().st_size / 2**20:.0f} MB, {records:,} records), one core, checksums verified:"
    return Table(title, ("", "M records/s", "dump-log = 1", "warm JVM = 1"), rows, ratios)


def _entries(oracle: Oracle, path: Path, records: int, few: Path, fewer: int) -> list[Entry]:
    def entry(name: str, reading: ours.Reading) -> Entry:
        return Entry(name, timed(lambda: reading.run(path)), records)

    slowly = ours.Reading(fast=False)
    return [
        Entry(_DUMP_LOG, lambda: measured(kafka.dump_log(path), None).seconds, records, warms=False),
        Entry("kafka-python's records, `struct`", timed(lambda: plain.kafka_python_tally(few)), fewer, warms=False),
        Entry("plain Python, `struct`", timed(lambda: plain.struct_tally(few)), fewer, warms=False),
        Entry("Kafka's FileRecords and serde, warm JVM: objects, dropped", kafka.pace(oracle, path, memory=False), records),
        Entry(_WARM, kafka.pace(oracle, path, memory=True), records),
        Entry("**ours, reference reader**: `events` in Arrow", timed(lambda: slowly.run(few)), fewer, warms=False),
        entry("**ours**: `events` in Arrow", ours.Reading()),
        entry("**ours**: the same, keys known from the segment before", ours.Reading(keeps=True)),
        entry("**ours**: `events`, and the file's SHA-256", ours.Reading(hashes=True)),
        entry("**ours**: `events` and `log` in Arrow", ours.Reading(log=True)),
        Entry("**ours**: both written as Parquet (zstd)", timed(lambda: ours.write_and_drop(path)), records),
    ]  # fmt: skip


def mixes_table(room: Room) -> Table:
    """Return the table of the other mixes, read by this toolkit and by Kafka's classes."""
    rows, ratios = [], {}
    for input_, described in _OTHERS:
        ran = _against_kafka(room.oracle, input_)
        mine, warm = ran["ours"], ran[_KAFKA]
        ratios[described] = mine.against(warm)
        rows.append((described, number(mine.rate), number(warm.rate), times(ratios[described].value)))
    title = "Other mixes, `events` in Arrow, one core, M records/s:"
    return Table(title, ("", "ours", "Kafka, warm JVM", "ratio"), rows, ratios)


def codecs_table(room: Room) -> Table:
    """Return the table of one mix in every codec, with the time that remains after decompression."""
    rows, ratios = [], {}
    for codec in CODECS:
        input_ = Input("large-batches", 0.5, codec)
        ran = _against_kafka(room.oracle, input_, "large-batches")
        mine, warm = ran["ours"], ran[_KAFKA]
        ratios[codec] = mine.against(warm)
        if codec == "none":
            plainly = mine.median
        floor = 0.0 if codec == "none" else ran["inflate"].median
        rows.append(
            (
                codec,
                f"{input_.path().stat().st_size / 2**20:.1f}",
                number(mine.rate),
                number(warm.rate),
                times(ratios[codec].value),
                times(mine.median / (floor + plainly)),
            )
        )
    heads = ("codec", "MB", "ours", "Kafka, warm JVM", "ratio", "our time ÷ (decompressing + uncompressed)")
    return Table("Compressed, some sixty commits a batch, M records/s:", heads, rows, ratios)


def _against_kafka(oracle: Oracle, input_: Input, what: str = "") -> Mapping[str, Timed]:
    path, reading = input_.path(), ours.Reading()
    records = agreed(what or input_.mix, {
        "Kafka": kafka.tally(oracle, path, memory=True), "columns": reading.tally(path),
    }).records  # fmt: skip
    entries = [
        Entry("ours", timed(lambda: reading.run(path)), records),
        Entry(_KAFKA, kafka.pace(oracle, path, memory=True), records),
    ]
    if input_.codec != "none":
        entries.append(Entry("inflate", timed(lambda: ours.inflate_all(path)), records))
    return race(entries)
