"""The rows that say why a log is as large as it is: by group, and by partition with the reason why the cleaner stops.

`left_now_*` is what one run of the cleaner leaves today, `left_*` what stays when everything has been cleaned (sizes.cleaning).
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.rows import Row
from offsets_tool.sizes.tally import KeySum, Sums, Tally
from offsets_tool.table_rows import LogPartition
from offsets_tool.wire.schema import Int64, String

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


class SizeRow(NamedTuple):
    """The records of a group in one copy of a log partition, or what no group has; what is not of groups is null for these."""

    group: Annotated[String | None, "The group; null for what no group has."]
    part: Annotated[String, "group, markers, empty batches, other records or unreadable."]
    log_partition: LogPartition
    copy: Annotated[String | None, "The copy of the log; null where there is no folder that tells it."]
    records: Annotated[Int64, "Records."]
    bytes: Annotated[Int64, "Their share of the bytes of the segments."]
    share: Annotated[float, "That share of all bytes here, from 0 to 1."]
    keys: Annotated[Int64 | None, "Distinct keys."]
    commit_keys: Annotated[Int64 | None, "Those of them that are of committed offsets."]
    commits: Annotated[Int64 | None, "Commits and their tombstones."]
    commit_tombstones: Annotated[Int64 | None, "Those of them that are tombstones."]
    commit_bytes: Annotated[Int64 | None, "Bytes of commits and their tombstones."]
    group_records: Annotated[Int64 | None, "Records of the group itself."]
    group_record_bytes: Annotated[Int64 | None, "Bytes of these."]
    tombstones: Annotated[Int64 | None, "Records that delete their key."]
    first_timestamp: Annotated[Int64 | None, "Earliest time of a record, epoch milliseconds."]
    last_timestamp: Annotated[Int64 | None, "Latest time of a record, epoch milliseconds."]
    left_now_records: Annotated[
        Int64 | None, "Records that one run of the cleaner would leave; null without segments."
    ]
    left_now_bytes: Annotated[Int64 | None, "Bytes of these."]
    left_records: Annotated[Int64, "Records that stay when everything has been cleaned."]
    left_bytes: Annotated[Int64, "Bytes of these."]
    gone_at_least: Annotated[Int64 | None, "Records that another copy has more; null without another."]
    gone_at_most: Annotated[Int64 | None, "Offsets of this copy that have no record any more."]


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
    left_now, left = (tally.cleaning.left_now(now, len(tally.keys)), tally.cleaning.left(len(tally.keys)))
    yield from _rows_of_groups(tally, left_now.keys, left.keys)
    for part, sums, now_left, finally_left in (
        (SizedPart.MARKERS, tally.markers, left_now.markers, left.markers),
        (SizedPart.EMPTY_BATCHES, tally.empty_batches, left_now.empty_batches, left.empty_batches),
        (SizedPart.OTHER, tally.no_key, NOTHING, NOTHING),
        (SizedPart.UNREADABLE, tally.unreadable, NOTHING, (0, tally.unreadable.bytes)),
    ):
        if sums.bytes or now_left[1]:
            row = _row(tally, part, None, sums, now_left)
            yield row | {"left_records": finally_left[0], "left_bytes": finally_left[1]}


_SUMMED_BY_GROUP: Final = (
    *("records", "bytes", "tombstones", "head_records", "head_bytes"),
    *("left_now_records", "left_now_bytes", "left_records", "left_bytes"),
    *("keys", "commit_keys", "commits", "commit_bytes", "commit_tombstones"),
)


def _rows_of_groups(tally: Tally, left_now: Array, left: Array) -> Iterator[Row]:
    """Yield a row for each group, None for keys that do not decode, given records and bytes that are left of each key."""
    groups = [(facts.group is not None, facts.group or "") for facts in tally.keys]
    order = sorted(range(len(groups)), key=groups.__getitem__)
    begins = [at for at, key in enumerate(order) if not at or groups[key] != groups[order[at - 1]]]
    if not begins:
        return
    is_commit = np.array([facts.is_commit for facts in tally.keys], np.int64)
    ones, commits = np.ones_like(is_commit), tally.sums[: KeySum.HEAD_RECORDS] * is_commit
    summed = (*tally.sums[: KeySum.FIRST_TIMESTAMP], *left_now, *left, ones, is_commit, *commits)
    sums = np.add.reduceat(np.stack(summed)[:, order], begins, axis=1).T.tolist()
    first, last = tally.sums[KeySum.FIRST_TIMESTAMP :, order]
    times = zip(
        np.minimum.reduceat(first, begins).tolist(), np.maximum.reduceat(last, begins).tolist(), strict=True
    )
    for begin, numbers, (began, ended) in zip(begins, sums, times, strict=True):
        is_group, group = groups[order[begin]]
        row: Row = dict(zip(_SUMMED_BY_GROUP, numbers, strict=True))
        whole = Sums(row["records"], row["bytes"], row.pop("head_records"), row.pop("head_bytes"))
        cleaned = row.pop("left_now_records"), row.pop("left_now_bytes")
        part = SizedPart.GROUP if is_group else SizedPart.OTHER
        yield (
            _row(tally, part, group if is_group else None, whole, cleaned)
            | row
            | {
                "group_records": row["records"] - row["commits"],
                "group_record_bytes": row["bytes"] - row["commit_bytes"],
                "first_timestamp": None if began > ended else began,
                "last_timestamp": None if began > ended else ended,
            }
        )


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
