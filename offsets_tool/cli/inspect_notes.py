"""The notes of `offsets-tool inspect`: where something could not be read and why, and whether the ledger adds up.

Each note is one sentence, made from the rows as they are written.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from offsets_tool.evidence.evidence import UNREADABLE_NAMED
from offsets_tool.evidence.moments.moment_notes import offset_text
from offsets_tool.evidence.sources import Source
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.rows import Row

SHOWN: Final = 10
"""How many problems get a note of their own; the others are counted."""


def problem_count(row: Row) -> int:
    """Return how many records of a row's source have a problem."""
    counts = [*(found["records"] for found in row["problems"]), row["other_problems"]]
    return sum(map(int, counts))


def problem_notes(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a note for each kind of problem in a file, with the first and the last record that has it.

    Unreadable ranges got their notes while they were read; here only the number of the others follows.
    """
    ranges = sum(len(row["unreadable"]) for row in rows)
    if ranges > UNREADABLE_NAMED:
        yield f"{ranges - UNREADABLE_NAMED:,} more unreadable range(s): `unreadable` of --format jsonl names all"
    found = [(row, problem) for row in rows for problem in row["problems"]]
    for row, problem in found[:SHOWN]:
        yield f"{row['source']}: {_where(problem)}{_outcome(problem)}: {problem['problem']}"
    rest = sum(problem["records"] for _, problem in found[SHOWN:]) + sum(
        row["other_problems"] for row in rows
    )
    if rest:
        yield (
            f"{rest:,} more record(s) have other problems: `problems` of --format jsonl names them, "
            "and `offsets-tool decode LOG... | jq 'select(.problem)'` shows each record"
        )


class Reached:
    """Finds overlapping segments: remembers for each partition's folder the segment that reaches furthest."""

    def __init__(self) -> None:
        self._furthest: dict[tuple[str, int | None], LedgerEntry] = {}

    def overlap(self, source: Source, entry: LedgerEntry) -> Row | None:
        """Return the offsets that a segment shares with an earlier one of its folder, as a row; None where it shares none.

        Call it for each source in the order of reading. Set-aside files are left out.
        """
        if (
            source.segment is None
            or source.is_set_aside
            or entry.first_offset is None
            or entry.last_offset is None
        ):
            return None
        folder = PurePosixPath(source.name).parent.as_posix(), source.log_partition
        before = self._furthest.get(folder)
        if before is None or before.last_offset is None or before.first_offset is None:
            self._furthest[folder] = entry
            return None
        if before.last_offset < entry.last_offset:
            self._furthest[folder] = entry
        first = max(before.first_offset, entry.first_offset)
        last = min(before.last_offset, entry.last_offset)
        return (
            {"source": before.source, "first_offset": first, "last_offset": last} if first <= last else None
        )


def overlap_note(source: str, overlap: Row) -> str:
    """Return a sentence on a segment that overlaps another, as `Reached.overlap` found it."""
    return (
        f"{source}: offsets {overlap['first_offset']} to {overlap['last_offset']} are in {overlap['source']} too: a replay takes "
        "each offset once, from the first that has it; give one of the two if they are copies"
    )


def _where(problem: Row) -> str:
    first = offset_text(problem["log_partition"], problem["first_offset"])
    if problem["records"] == 1:
        return f"the record at {first}"
    return f"{problem['records']:,} records, {first} to {problem['last_offset']},"


def _outcome(problem: Row) -> str:
    if problem["kept_raw"] is None:
        return " read, but"
    return " kept raw"


def copies_notes(sources: Iterable[Source]) -> Iterator[str]:
    """Yield a note on partitions with several copies, and on the command that compares them."""
    copies: dict[int, set[str]] = {}
    for source in sources:
        if source.log_partition is not None and source.copy is not None and not source.is_set_aside:
            copies.setdefault(source.log_partition, set()).add(source.copy)
    several = {number: len(found) for number, found in copies.items() if len(found) > 1}
    if several:
        yield (
            f"{len(several)} partition(s) are here in up to {max(several.values())} copies: `offsets-tool copies` says what each "
            "has, and commands that replay make one log of them"
        )
