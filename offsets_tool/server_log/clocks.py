"""Find how far the clock of each file is from that of the records, by generations and epochs of groups that both name.

A log4j line does not say its time zone. Zones are whole quarters of an hour from UTC; the rest is skew. Where the zone is given,
another that fits better is said, and the file's times are not used. A file that names generations of the records, all at times that
no zone explains, is of another time: then neither its times nor its numbers are used.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from statistics import median_low
from typing import Final, NamedTuple

from offsets_tool.history.rows import GroupHistoryRow, MemberHistoryRow
from offsets_tool.replay.changes import GroupKind
from offsets_tool.server_log.parse import ServerLogFile, groups_in
from offsets_tool.server_log.server_line import LineKind, ServerLine

SLACK_MS: Final = 2_000
"""How far a line and the record of one thing are apart at most: the broker writes them one after the other."""
_QUARTER_MS: Final = 900_000
"""Zones differ by quarters of an hour."""
_FARTHEST: Final = 14 * 4
"""Quarters that a zone is from UTC at most."""
_MOST_SKEW_MS: Final = 60_000
"""The skew that is believed of a single line: a broker's log and its records come from one clock."""


_REMOVALS: Final = (LineKind.LEFT, LineKind.EXPIRED)


class Anchor(NamedTuple):
    """An event that a line and a record share: a group began a generation or an epoch, with members or without."""

    group: str
    is_epoch: bool
    number: int
    is_empty: bool


class Numbered(NamedTuple):
    """The record that began a generation or epoch: its time (epoch milliseconds, -1 if it has none), and its number of members."""

    at: int
    members: int


class RecordTimes:
    """Times in the records of groups that lines name: when generations and epochs began, when members were last in one."""

    def __init__(self, groups: Collection[str]) -> None:
        """Collect times of these groups alone: a log has many more."""
        self._groups = groups
        self.began: dict[Anchor, list[Numbered]] = defaultdict(list)
        self.last_in: dict[tuple[str, str], int] = {}
        """By group and member of a classic group, the time of the last record that has it; -1 if records have no times."""

    def observe(
        self, group: str, states: Iterable[GroupHistoryRow], members: Iterable[MemberHistoryRow]
    ) -> None:
        """Observe the rows of one group, in the order of the log."""
        if group not in self._groups:
            return
        before: Anchor | None = None
        for row in states:
            anchor = _anchor_of_row(row)
            if anchor is not None and anchor != before:
                self.began[anchor].append(Numbered(row.from_timestamp, row.members))
            before = anchor
        for member in members:
            if member.group_kind == GroupKind.CLASSIC:
                key = (group, member.member_id)
                self.last_in[key] = max(self.last_in.get(key, -1), member.from_timestamp)


def _anchor_of_row(row: GroupHistoryRow) -> Anchor | None:
    if row.kind == GroupKind.SIMPLE:
        return None
    if row.epoch is not None:
        return Anchor(row.group, True, row.epoch, False)
    return None if row.generation is None else Anchor(row.group, False, row.generation, row.members == 0)


_ANCHORS: Final[Mapping[LineKind, tuple[bool, bool]]] = {
    LineKind.ASSIGNED: (False, False),
    LineKind.EMPTIED: (False, True),
    LineKind.EPOCH: (True, False),
}
"""Lines that are written together with the group's record; whether they tell an epoch, and whether the group is empty."""


def anchor_of(entry: ServerLine) -> Anchor | None:
    """Return the event of a line for which the coordinator writes a record too; None for a line without such a record."""
    if entry.kind not in _ANCHORS or entry.group is None or entry.number is None:
        return None
    is_epoch, is_empty = _ANCHORS[entry.kind]
    return Anchor(entry.group, is_epoch, entry.number, is_empty)


class Misfit(StrEnum):
    """How a line contradicts the records, so that it is ignored."""

    TIME = "it names a generation or epoch that the records have at another time"
    MEMBERS = "it gives a generation another number of members than the records"
    ALIVE = "it removes a member that the records have in a later generation"


class FileClock(NamedTuple):
    """How to turn a file's times into those of the records: subtract `ahead_ms`; None if the difference is unknown."""

    ahead_ms: int | None
    zone_ms: int
    """The part of it that is a time zone."""
    fitting: int
    """Lines whose record is there at that time."""
    is_given: bool
    """Whether the lines or the user say the zone."""
    is_contradicted: bool
    """Whether another zone than the one that is given fits the records."""
    misfits: dict[ServerLine, Misfit]
    """Lines that contradict the records."""

    @property
    def skew_ms(self) -> int:
        """How far the lines are ahead of the records, apart from the time zone, in milliseconds."""
        return 0 if self.ahead_ms is None else self.ahead_ms - self.zone_ms


def in_zone(entries: Iterable[ServerLine], zone: tzinfo) -> list[ServerLine]:
    """Return entries with times in UTC; lines that do not say their zone are taken to be of `zone`."""
    return [
        entry if entry.is_zoned else entry._replace(at=_in_utc(entry.at, zone), is_zoned=True)
        for entry in entries
    ]


def _in_utc(at: int | None, zone: tzinfo) -> int | None:
    if at is None:
        return None
    seconds, fraction = divmod(at, 1000)
    try:
        local = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=zone)
        return int(local.timestamp()) * 1000 + fraction
    except (ValueError, OverflowError):
        return None


def clock_of(file: ServerLogFile, records: RecordTimes) -> FileClock:
    """Return the clock of a file, from the times of generations and epochs that it and the records share."""
    pairs = [pair for entry in file.entries if (pair := _pair(entry, records)) is not None]
    is_given = any(entry.is_zoned for entry in file.entries)
    by_zone = Counter(zone for _, apart in pairs for zone in {_zone(each) for each, _ in apart})
    zones = [zone for zone in by_zone if abs(zone) <= _FARTHEST]
    best = max(zones, key=lambda zone: (by_zone[zone], -abs(zone)), default=None)
    if best is None:
        is_believed = is_given and not pairs
        of_another = _of_another_time(file) if pairs else {}
        return FileClock(0 if is_believed else None, 0, 0, is_given, False, of_another)
    near = [
        min(((each - best * _QUARTER_MS, of) for each, of in apart), key=_by_distance) for _, apart in pairs
    ]
    skew = median_low([each for each, _ in near if abs(each) <= _QUARTER_MS // 2])
    misfits = {
        entry: why
        for (entry, _), (each, of) in zip(pairs, near, strict=True)
        if (why := _misfit(entry, each - skew, of)) is not None
    }
    fitting = len(pairs) - len(misfits)
    is_contradicted = is_given and best != 0
    is_doubtful = fitting == 1 and abs(skew) > _MOST_SKEW_MS
    ahead = None if is_contradicted or is_doubtful else best * _QUARTER_MS + skew
    if is_doubtful:
        misfits = _of_another_time(file)
    if ahead is not None:
        misfits |= _alive(file, records, ahead)
    return FileClock(ahead, best * _QUARTER_MS, fitting, is_given, is_contradicted, misfits)


def _of_another_time(file: ServerLogFile) -> dict[ServerLine, Misfit]:
    """Return the lines of generations and epochs of a file whose times are all others than those of the records.

    A group that was removed and came again counts from 1 once more: by their numbers alone they would join a later life's records.
    """
    return {
        entry: Misfit.TIME
        for entry in file.entries
        if entry.group is not None and entry.number is not None and entry.at is not None
    }


def _zone(apart: int) -> int:
    return round(apart / _QUARTER_MS)


def _by_distance(found: tuple[int, Numbered]) -> int:
    return abs(found[0])


def _misfit(entry: ServerLine, apart: int, of: Numbered) -> Misfit | None:
    """Return how a line contradicts the record that is nearest to it, `apart` milliseconds; None if they agree."""
    if abs(apart) > SLACK_MS:
        return Misfit.TIME
    return Misfit.MEMBERS if entry.members not in (None, of.members) else None


def _alive(file: ServerLogFile, records: RecordTimes, ahead: int) -> dict[ServerLine, Misfit]:
    """Return the lines that say a member was removed, although a later record has it in a generation that began after."""
    return {
        entry: Misfit.ALIVE
        for entry in file.entries
        if entry.kind in _REMOVALS
        and entry.at is not None
        and records.last_in.get((entry.group or "", entry.member_id or ""), -1) > entry.at - ahead + SLACK_MS
    }


def _pair(entry: ServerLine, records: RecordTimes) -> tuple[ServerLine, list[tuple[int, Numbered]]] | None:
    """Return a line with each record that it may be about, and how far it is ahead of each; None without such a record."""
    anchor = anchor_of(entry)
    if anchor is None or entry.at is None:
        return None
    apart = [(entry.at - each.at, each) for each in records.began.get(anchor, ()) if each.at >= 0]
    return (entry, apart) if apart else None


def record_times(files: Iterable[ServerLogFile]) -> RecordTimes:
    """Return an empty RecordTimes for the groups that these files name."""
    return RecordTimes(groups_in(files))
