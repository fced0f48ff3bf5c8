"""What `inspect` says beside its rows: what could not be read and why, with its place, and whether the ledger adds up.

Each is one sentence. Knows the rows as they are written, and nothing of how they came about.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from offsets_tool.cli.moment_notes import place
from offsets_tool.cli.reading import UNREADABLE_SHOWN
from offsets_tool.log.ledger import LedgerEntry

Row = Mapping[str, Any]
SHOWN: Final = 10
"""Problems that are named before the rest is only counted."""


def problem_count(row: Row) -> int:
    """How many records of a part have a problem."""
    counts = [*(found["records"] for found in row["problems"]), row["other_problems"]]
    return sum(map(int, counts))


def problem_notes(rows: Sequence[Row]) -> Iterator[str]:
    """What is wrong with records, file by file: the same of many is said once, with the first and the last of them.

    Unreadable ranges are named while they are read; of those, only how many more there are.
    """
    ranges = sum(len(row["unreadable"]) for row in rows)
    if ranges > UNREADABLE_SHOWN:
        yield f"{ranges - UNREADABLE_SHOWN:,} more unreadable range(s): `unreadable` of --format jsonl names all"
    found = [(row, problem) for row in rows for problem in row["problems"]]
    for row, problem in found[:SHOWN]:
        yield f"{row['source']}: {_where(problem)}{_fate(problem)}: {problem['problem']}"
    rest = sum(problem["records"] for _, problem in found[SHOWN:]) + sum(
        row["other_problems"] for row in rows
    )
    if rest:
        yield (
            f"{rest:,} more record(s) have other problems: `problems` of --format jsonl names them, "
            "and `offsets-tool decode LOG... | jq 'select(.problem)'` shows each record"
        )


def _where(problem: Row) -> str:
    first = place(problem["log_partition"], problem["first_offset"])
    if problem["records"] == 1:
        return f"the record at {first}"
    return f"{problem['records']:,} records, {first} to {problem['last_offset']},"


def _fate(problem: Row) -> str:
    if problem["kept_raw"] is None:
        return " read, but"
    return " kept raw"


def total(entries: Sequence[LedgerEntry]) -> str:
    """The sums of all files, and the verdict."""
    sums = {name: sum(getattr(e, name) for e in entries) for name in ("bytes", "batches", "records")}
    kept = sum(entry.kept_raw for entry in entries)
    verdict = (
        "the ledger adds up" if all(entry.adds_up for entry in entries) else "THE LEDGER DOES NOT ADD UP"
    )
    return (
        f"{len(entries)} file(s), {sums['bytes']:,} bytes, {sums['batches']:,} batches, {sums['records']:,} records, "
        f"{kept:,} kept raw, {sum(e.bytes_unreadable for e in entries):,} bytes unreadable: {verdict}"
    )
