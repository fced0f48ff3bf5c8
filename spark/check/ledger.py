"""Check the ledger of `sources`: its sums, its ranges without gaps, and that `log` and `events` have the records it accounts for.

Reads of `log` and `events` the cluster and the run of each row at most. Sums that hold by declaration are read from there.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

from offsets_tool.findings.rows import Severity
from offsets_tool.lake.copies import missing_offsets
from offsets_tool.lake.tables import EVENTS, LOG, SOURCES
from spark.check.checked import Defect, Looked
from spark.check.lake import Fields, LakeToCheck
from spark.replay.notes import partition_text

_OF_FILE: Final = ("cluster", "source", "log_partition")
_PARTS: Final = (("raw_records", "kept_raw_reasons", "records"), ("bytes_unreadable", "unreadable", "size"))
"""A number, the column that lists its parts, and what counts of each part."""


def sums(lake: LakeToCheck) -> Looked:
    """Check that the numbers of each row of `sources` add up, and that the source it points to exists."""
    pointing = _lost_pointers(lake)
    for number, row in enumerate(lake.sources):
        wrong = next(_wrong_sums(row), pointing.get(number))
        yield _problem(lake, row, wrong) if wrong else None


def _lost_pointers(lake: LakeToCheck) -> dict[int, str]:
    """Return what is wrong with rows of `sources` that point to another source, by their index in `sources`."""
    stored = {_range(row, row["source"]): row["records"] for row in lake.sources if row["same_as"] is None}
    return {
        number: f"{row['records']} records are said to be those of {row['same_as']}, which does not have them"
        for number, row in enumerate(lake.sources)
        if row["same_as"] is not None and stored.get(_range(row, row["same_as"])) != row["records"]
    }


def _wrong_sums(row: Fields) -> Iterator[str]:
    for check in SOURCES.checks:
        if row[check.total] != sum(row[part] for part in check.parts):
            yield f"{check.sql} does not hold"
    for total, parts, counted in _PARTS:
        listed = sum(part[counted] for part in row[parts])
        if row[total] != listed:
            yield f"{total} is {row[total]}, where {parts} has {listed}"


def _range(row: Fields, source: str) -> tuple[str, str, int | None, int, int]:
    return row["cluster"], source, row["log_partition"], row["range_start"], row["range_end"]


def _problem(lake: LakeToCheck, row: Fields, said: str) -> Defect:
    where = f"{row['source']} (cluster {row['cluster']!r}, run {row['run']})"
    forget = lake.command("forget", "--cluster", row["cluster"], "--source", row["path"])
    return Defect(where, Severity.CRITICAL, said, f"{forget}, then ingest it again")


def ranges(lake: LakeToCheck) -> Looked:
    """Check that the ranges of each file follow each other, from its first byte on."""
    order = itemgetter("range_start", "range_end", "run")
    by_file = sorted(lake.sources, key=lambda row: [repr(row[name]) for name in _OF_FILE])
    for _, found in groupby(by_file, itemgetter(*_OF_FILE)):
        reached = 0
        for row in sorted(found, key=order):
            start = row["range_start"]
            gap = f"bytes {reached} to {start} were not read" if reached < start else None
            twice = f"bytes {start} to {reached} were read twice" if start < reached else None
            said = gap or twice
            yield _problem(lake, row, said) if said else None
            reached = max(reached, row["range_end"])


def offsets(lake: LakeToCheck) -> Looked:
    """Check that no file between others is missing from a copy of a log partition, by the rules for all copies."""
    if _lost_pointers(lake):
        return  # `sums` names them
    for (cluster, log_partition), copy, missing in missing_offsets(lake.copies, lake.sources):
        where = f"{copy} ({partition_text(cluster, log_partition)})"
        said = ", ".join(f"{each.start} to {each.end - 1}" for each in missing)
        found = f"offsets {said} are between two of its files, and in none"
        remedy = f"find the missing segment, and {lake.command('ingest', copy, '--cluster', cluster)}"
        yield Defect(where, Severity.WARNING, found, remedy) if missing else None


def records(lake: LakeToCheck) -> Looked:
    """Check that `log` and `events` have, of each cluster and run, the records that `sources` accounts for."""
    expected: Counter[tuple[str, int]] = Counter()
    for row in lake.sources:
        there = row["records"] - (row["dropped_records"] or 0)
        expected[row["cluster"], row["run"]] += there if row["same_as"] is None else 0
    runs = {run for _, run in expected}
    for table in (LOG, EVENTS):
        stored = lake.count(table, "cluster", "run")
        for cluster, run in sorted({*expected, *stored}):
            has, says = stored[cluster, run], expected[cluster, run]
            where = f"{table.name} (cluster {cluster!r}, run {run})"
            if run not in runs:
                yield _not_counted(lake, where, has)
            else:
                yield None if has == says else _miscounted(lake, where, cluster, has, says)


def _not_counted(lake: LakeToCheck, where: str, has: int) -> Defect:
    said = f"{has} rows are of a run that is not in sources: they do not count"
    remedy = f"nothing, if that run was given up; else {lake.command('ingest', 'SOURCE...')} finishes it"
    return Defect(where, Severity.NOTICE, said, remedy)


def _miscounted(lake: LakeToCheck, where: str, cluster: str, has: int, says: int) -> Defect:
    said = f"has {has} rows, where sources accounts for {says} records"
    remedy = f"{lake.command('forget', '--cluster', cluster)}, then ingest its sources again"
    return Defect(where, Severity.CRITICAL, said, remedy)
