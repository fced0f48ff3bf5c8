"""The rows that say why a log is as large as it is: by group, and by partition with the reason why the cleaner stops.

`left_now_*` is what one run of the cleaner leaves today, `left_*` what stays when everything has been cleaned (sizes.cleaning).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from offsets_tool.rows import Row
from offsets_tool.sizes.cleaning import LeftOver
from offsets_tool.sizes.tally import Sums, Tally

NOTHING: Final = (0, 0)


class SizedPart(StrEnum):
    """What the bytes of a row are."""

    GROUP = "group"
    """Records of a group: commits, and those of the group itself."""
    MARKERS = "markers"
    """Markers that end transactions."""
    EMPTY_BATCHES = "empty batches"
    """Batches that compaction has emptied."""
    OTHER = "other records"
    """Records without a key, or whose key does not decode."""
    UNREADABLE = "unreadable"
    """Bytes in which nothing can be read."""


def group_rows(tallies: Sequence[Tally], now: int) -> list[Row]:
    """Return a row for each group of each copy of a partition, and for what no group has, the largest first.

    `now` (epoch ms) is when the cleaner would run; where segments are not known, what it would leave is None. The bytes of all rows
    of a copy are those of its segments.
    """
    rows = [row for tally in tallies for row in _rows(tally, now)]
    _add_gone(rows, tallies)
    total = sum(row["bytes"] for row in rows)
    for row in rows:
        row["share"] = row["bytes"] / total if total else 0.0
    return sorted(rows, key=lambda row: (-row["bytes"], row["group"] or "", row["part"]))


def _rows(tally: Tally, now: int) -> Iterator[Row]:
    left_now, left = tally.cleaning.left_now(now), tally.cleaning.left()
    for group, keys in tally.by_group():
        yield _group_row(tally, group, keys, left_now, left)
    for part, sums, now_left, finally_left in (
        (SizedPart.MARKERS, tally.markers, left_now.markers, left.markers),
        (SizedPart.EMPTY_BATCHES, tally.empty_batches, left_now.empty_batches, left.empty_batches),
        (SizedPart.OTHER, tally.no_key, NOTHING, NOTHING),
        (SizedPart.UNREADABLE, tally.unreadable, NOTHING, (0, tally.unreadable.bytes)),
    ):
        if sums.bytes or now_left[1]:
            yield _row(tally, part, None, sums, now_left) | _left(finally_left)


def _group_row(
    tally: Tally, group: str | None, keys: Sequence[int], left_now: LeftOver, left: LeftOver
) -> Row:
    sums, commits = Sums(), Sums()
    for key in keys:
        sums.join(tally.by_key[key])
        if tally.keys[key].is_commit:
            commits.join(tally.by_key[key])
    part = SizedPart.GROUP if group is not None else SizedPart.OTHER
    return _row(tally, part, group, sums, _sum(left_now.keys, keys)) | {
        "keys": len(keys),
        "commit_keys": sum(tally.keys[key].is_commit for key in keys),
        "commits": commits.records,
        "commit_tombstones": commits.tombstones,
        "commit_bytes": commits.bytes,
        "group_records": sums.records - commits.records,
        "group_record_bytes": sums.bytes - commits.bytes,
        "tombstones": sums.tombstones,
        "first_timestamp": sums.first_timestamp,
        "last_timestamp": sums.last_timestamp,
        **_left(_sum(left.keys, keys)),
    }


def _row(tally: Tally, part: SizedPart, group: str | None, sums: Sums, cleaned: tuple[int, int]) -> Row:
    records, size = cleaned
    return {
        "group": group,
        "part": part.value,
        "log_partition": tally.log_partition,
        "copy": tally.copy,
        "records": sums.records,
        "bytes": sums.bytes,
        "share": 0.0,
        **_NOT_OF_GROUPS,
        "left_now_records": records + sums.head_records if tally.segments else None,
        "left_now_bytes": size + sums.head_bytes if tally.segments else None,
        "left_records": 0,
        "left_bytes": 0,
        "gone_at_least": None,
        "gone_at_most": None,
    }


_NOT_OF_GROUPS: Final[Row] = dict.fromkeys(
    (
        "keys",
        "commit_keys",
        "commits",
        "commit_tombstones",
        "commit_bytes",
        "group_records",
        "group_record_bytes",
        "tombstones",
        "first_timestamp",
        "last_timestamp",
    )
)


def _left(left: tuple[int, int]) -> Row:
    return {"left_records": left[0], "left_bytes": left[1]}


def _sum(left: Mapping[int, tuple[int, int]], keys: Iterable[int]) -> tuple[int, int]:
    found = [left[key] for key in keys if key in left]
    return sum(records for records, _ in found), sum(size for _, size in found)


def _add_gone(rows: Sequence[Row], tallies: Sequence[Tally]) -> None:
    """Add to the rows how many records a copy has lost: at least those of another copy, at most all offsets without a record."""
    gone = {(tally.log_partition, tally.copy): gone_offsets(tally) for tally in tallies}
    ends = {(tally.log_partition, tally.copy): tally.next_offset or 0 for tally in tallies}
    copies: dict[tuple[str, int | None], list[Row]] = {}
    for row in rows:
        if row["part"] == SizedPart.GROUP:
            copies.setdefault((row["group"], row["log_partition"]), []).append(row)
    for same in copies.values():
        for row in same:
            end = ends[row["log_partition"], row["copy"]]
            # What stands behind the end of a copy is not gone from it.
            others = [each["records"] for each in same if ends[each["log_partition"], each["copy"]] <= end]
            row["gone_at_least"] = max(others) - row["records"] if len(others) > 1 else None
            row["gone_at_most"] = gone[row["log_partition"], row["copy"]]


def gone_offsets(tally: Tally) -> int:
    """Return how many offsets from the first segment's on have no record any more."""
    if tally.next_offset is None or tally.begins is None:
        return 0
    return max(0, tally.next_offset - tally.begins - tally.records)


def partition_rows(tallies: Iterable[Tally], groups: Sequence[Row]) -> list[Row]:
    """Return a row for each copy of a partition, the largest first; `groups` are the rows of `group_rows`."""
    of: dict[tuple[int | None, str | None], list[Row]] = {}
    for row in groups:
        of.setdefault((row["log_partition"], row["copy"]), []).append(row)
    rows = [_partition_row(tally, of.get((tally.log_partition, tally.copy), [])) for tally in tallies]
    return sorted(rows, key=lambda row: (-row["bytes"], row["log_partition"] or 0))


def _partition_row(tally: Tally, rows: Sequence[Row]) -> Row:
    sums = {name: _total(rows, name) for name in _SUMMED}
    largest = max(
        (row for row in rows if row["part"] == SizedPart.GROUP), key=lambda row: row["bytes"], default=None
    )
    first = tally.cleaning.first_unstable_offset
    return {
        "log_partition": tally.log_partition,
        "copy": tally.copy,
        "segments": tally.segments,
        **{name: sums[name] for name in _SUMMED},
        "groups": sum(row["part"] == SizedPart.GROUP for row in rows),
        "largest_group": largest["group"] if largest else None,
        "largest_group_bytes": largest["bytes"] if largest else None,
        "begins": tally.begins,
        "end": tally.next_offset,
        "uncleanable_from": tally.uncleanable_from,
        "active_from": tally.active_from,
        "first_unstable_offset": first,
        "open_producer_ids": sorted(tally.cleaning.open_producers),
        "held_bytes": tally.held_bytes,
        "gone_offsets": gone_offsets(tally),
    }


def _total(rows: Sequence[Row], name: str) -> int | None:
    """Return the sum of a column; None where it is not known."""
    values = [row[name] for row in rows]
    return None if None in values else sum(values)


_SUMMED: Final = (
    "records",
    "bytes",
    "left_now_records",
    "left_now_bytes",
    "left_records",
    "left_bytes",
)
