"""Parses the texts by which people name a moment: a time, or places in the log. No other module knows what they mean.

A time is ISO 8601 (with T or a blank), epoch milliseconds, `now`, a span back from now (-2h), or a time of today or yesterday.
Without a zone of its own it is read in that of --tz, else as UTC; `now` is this machine's clock. A text with two meanings is
refused with both spelled out, because nobody would notice an answer about another moment. Knows no source.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from difflib import get_close_matches
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.errors import UsageError
from offsets_tool.time_texts import UNITS, time_text

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MOST: Final = (1 << 63) - 1
"""No offset and no time of a record is greater."""
WRITE_A_TIME: Final = "2026-11-21T02:30:00Z, 'yesterday 14:05', -2h, now or epoch milliseconds"


class OffsetInLog(NamedTuple):
    """A place in the log: a partition of `__consumer_offsets` and an offset in it."""

    log_partition: int
    log_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A moment, or one side of a range: a time (epoch ms), or places in named log partitions."""

    time: int | None = None
    places: tuple[OffsetInLog, ...] = ()
    epochs: tuple[tuple[int, int], ...] = ()
    """Log partitions, each with the newest leader epoch whose records count; only of places that say one."""
    note: str | None = None
    """The time in UTC where the text does not say it by itself."""
    clock_text: str | None = None
    """The text of a single place that a time of day would look like too."""

    @property
    def is_given(self) -> bool:
        """Whether the bound has a time or a place; a bound without either excludes nothing."""
        return self.time is not None or bool(self.places)


NO_BOUND: Final = Bound()


@dataclass(frozen=True, slots=True)
class Clock:
    """The present time and the zone against which a text is read that does not say its day or zone."""

    now: datetime
    zone: tzinfo = UTC

    @classmethod
    def in_zone(cls, text: str | None = None) -> "Clock":
        """Return this machine's clock, for times of the named zone, else UTC; UsageError where there is no such zone."""
        return cls(datetime.now(UTC), UTC if text is None else parse_zone(text))


_PLACE: Final = re.compile(r"(\d+):(\d+)(?:@(\d+))?", re.ASCII)
_CLOCK: Final = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d", re.ASCII)
_TIME_OF_DAY: Final = re.compile(
    r"t?(\d{1,2})(:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:z|utc|gmt|[+-][\d:]+)?)", re.ASCII
)
_NUMBER: Final = re.compile(r"-?\d+", re.ASCII)
_SPAN: Final = re.compile(r"(\d{1,18})\s*(ms|s|m|h|d|w)\s*", re.ASCII)
_BACK: Final = re.compile(rf"(?:(?:now)?\s*-\s*((?:{_SPAN.pattern})+)|((?:{_SPAN.pattern})+)ago)", re.ASCII)
_DAY: Final = re.compile(r"(today|yesterday)\b\s*,?\s*(.*)", re.ASCII)
_ZONE_BEHIND: Final = re.compile(r"\s*(?:utc|gmt|z)$|\s+(?=[+-]\d\d(?::?\d\d)?$)", re.ASCII)
_OFFSET: Final = re.compile(r"([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII)
_FARTHEST: Final = 14 * 60
"""Minutes that a zone is from UTC at most."""


def parse_bound(texts: tuple[str, ...], option: str, clock: Clock, *, takes_epochs: bool = False) -> Bound:
    """Return the moment that texts mean: one time, or any number of LOG_PARTITION:LOG_OFFSET; UsageError for anything else.

    `takes_epochs`: whether a place may end in @LEADER_EPOCH.
    """
    found = [place for text in texts if (place := _PLACE.fullmatch(text.strip()))]
    if len(found) == len(texts):
        places = tuple(_log_offset(place, option) for place in found)
        epochs = tuple((int(place[1]), int(place[3])) for place in found if place[3] is not None)
        if epochs and not takes_epochs:
            raise UsageError(f"{option}: only --as-of takes a leader epoch; write LOG_PARTITION:LOG_OFFSET")
        is_lone = len(texts) == 1 and _CLOCK.fullmatch(texts[0].strip())
        return Bound(places=places, epochs=epochs, clock_text=texts[0].strip() if is_lone else None)
    if len(texts) > 1:
        raise UsageError(f"{option}: give one time, or places as LOG_PARTITION:LOG_OFFSET, not both")
    time = parse_time(texts[0], option, clock, or_a_place=True)
    is_plain = _NUMBER.fullmatch(texts[0].strip()) or _has_zone(texts[0])
    return Bound(time=time, note=None if is_plain else f"{option} {texts[0]!r} is {time_text(time) or time}")


def _log_offset(found: re.Match[str], option: str) -> OffsetInLog:
    partition, offset, epoch = (_digits(digits) for digits in found.groups(default="0"))
    if max(partition, epoch) >= 1 << 31 or offset > MOST:
        raise UsageError(f"{option}: no log has a place {found[0][:60]!r}; write LOG_PARTITION:LOG_OFFSET")
    return OffsetInLog(partition, offset)


def _digits(text: str) -> int:
    return int(text) if len(text) < 20 else MOST + 1


def parse_time(text: str, option: str, clock: Clock, *, or_a_place: bool = False) -> int:
    """Return the epoch milliseconds that a text means; UsageError where it is no time, or has two readings.

    `or_a_place`: whether the option takes places too, for what an error says.
    """
    asked = text.strip().lower()
    if _NUMBER.fullmatch(asked):
        return _number(asked, option)
    if asked == "now":
        return _milliseconds(clock.now)
    if back := _BACK.fullmatch(asked):
        return _milliseconds(clock.now) - _span(back[1] or back[4], text, option)
    if of_day := _TIME_OF_DAY.fullmatch(asked):
        raise UsageError(
            f"{option}: {text!r} lacks the day; write {with_day(of_day[0].removeprefix('t').upper(), clock)}"
        )
    try:
        at = _of_day(day[1], day[2], clock) if (day := _DAY.fullmatch(asked)) else _iso(asked)
    except (ValueError, OverflowError):
        or_place = " or LOG_PARTITION:LOG_OFFSET" if or_a_place else ""
        what = "neither a time nor a place" if or_a_place else "no time"
        raise UsageError(f"{option}: {text!r} is {what}; write {WRITE_A_TIME}{or_place}") from None
    return _milliseconds(at if at.tzinfo else _in_zone(at, text, option, clock.zone))


def parse_optional_time(text: str | None, option: str, clock: Clock) -> int | None:
    """Return the epoch milliseconds that a text means, as parse_time does; None for an option that was not given."""
    return None if text is None else parse_time(text, option, clock)


def with_day(text: str, clock: Clock) -> str:
    """Return a time of day together with a day, as a message proposes it to the user."""
    return f"'today {text}', 'yesterday {text}' or '{clock.now.astimezone(clock.zone):%Y-%m-%d} {text}'"


def _milliseconds(at: datetime) -> int:
    return (at - EPOCH) // timedelta(milliseconds=1)


def _span(text: str, whole: str, option: str) -> int:
    span = sum(int(count) * UNITS[unit] for count, unit in _SPAN.findall(text))
    if span > MOST >> 1:
        raise UsageError(f"{option}: {whole!r} is before all times; give a shorter span, as in -2h or -3d")
    return span


def _iso(text: str) -> datetime:
    """Parse ISO 8601, also with a blank or a name before its zone; ValueError for other texts."""
    zone = _ZONE_BEHIND.search(text)
    if zone is None:
        return datetime.fromisoformat(text.upper())
    behind = text[zone.end() :] or "+00:00"
    return datetime.fromisoformat(text[: zone.start()].upper() + behind)


def _has_zone(text: str) -> bool:
    try:
        return _iso(text.strip().lower()).tzinfo is not None
    except ValueError:
        return False


def _of_day(day: str, text: str, clock: Clock) -> datetime:
    """Return a time of today or yesterday; ValueError without a time of day."""
    time = _TIME_OF_DAY.fullmatch(text)
    if time is None:
        raise ValueError(text)
    date = clock.now.astimezone(clock.zone).date() - timedelta(days=day == "yesterday")
    return _iso(f"{date}T{time[1]:0>2}{time[2]}")


def _in_zone(at: datetime, text: str, option: str, zone: tzinfo) -> datetime:
    """Return the time in the zone; UsageError where clocks were put forward over it, or back so that it came twice."""
    first, second = (at.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if first.utcoffset() == second.utcoffset():
        return first
    times = [each.astimezone(UTC) for each in (first, second)]
    is_there = times[0].astimezone(zone).replace(tzinfo=None, fold=0) == at
    how = "is there twice" if is_there else "was left out"
    either = " or ".join(f"{each:%Y-%m-%dT%H:%M:%SZ}" for each in sorted(times))
    raise UsageError(f"{option}: {text!r} {how} when clocks were changed in {zone}; write {either}")


def _number(text: str, option: str) -> int:
    """Return epoch milliseconds; UsageError for digits that look like another unit, or like a date without its dashes."""
    # What is beyond all times is later than every record.
    number = int(text) if len(text) < 20 else MOST + 1
    if number < 0:
        raise UsageError(
            f"{option}: {text} lacks a unit; write {text}m, {text}h or {text}d to count back from now"
        )
    for means, milliseconds in _other_readings(text, number):
        as_milliseconds = time_text(number) or "no time"
        raise UsageError(
            f"{option}: {text} is {as_milliseconds} in epoch milliseconds, and {time_text(milliseconds)} {means}; "
            f"write the one or the other, as in {time_text(milliseconds)}"
        )
    return number


def _other_readings(text: str, number: int) -> list[tuple[str, int]]:
    """Return what else digits mean to people: a time between 2001 and 2286 in another unit, or a date of this century."""
    per_second = {10: ("in seconds", 1), 16: ("in microseconds", 10**6), 19: ("in nanoseconds", 10**9)}
    if len(text) in per_second and text[0] != "0":
        means, parts = per_second[len(text)]
        return [(means, number * 1000 // parts)]
    layout = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}.get(len(text))
    if layout is None or not text.startswith("20"):
        return []
    try:
        return [("as a date", _milliseconds(datetime.strptime(text, layout).replace(tzinfo=UTC)))]
    except ValueError:
        return []


def parse_zone(text: str, option: str = "--tz") -> tzinfo:
    """Return the zone of an IANA name such as Europe/Berlin, or of an offset from UTC such as +02:00; UsageError for others."""
    asked = text.strip()
    if asked.upper() in ("UTC", "GMT", "Z"):
        return UTC
    if found := _OFFSET.fullmatch(asked):
        minutes = int(found[2]) * 60 + int(found[3] or 0)
        if minutes <= _FARTHEST and int(found[3] or 0) < 60:
            return timezone(timedelta(minutes=-minutes if found[1] == "-" else minutes))
    try:
        return ZoneInfo(asked)
    except (KeyError, ValueError, OSError):
        near = get_close_matches(asked[:60], sorted(available_timezones()), n=3)
        meant = f"; near it: {', '.join(near)}" if near else ""
        raise UsageError(
            f"{option}: there is no zone {text[:60]!r}{meant}; write a name such as Europe/Berlin, or an offset such as +02:00"
        ) from None


def as_of_bound(bound: Bound, option: str = "--as-of") -> AsOf:
    """Return the moment that a text of an option means; UsageError where it names a partition twice."""
    ends = dict(bound.places)
    if len(ends) < len(bound.places):
        raise UsageError(f"{option} names a log partition twice: give each one END_OFFSET")
    return AsOf(bound.time, ends or None, dict(bound.epochs) or None)
