"""What the texts of --as-of, --since, --until and --ends-at mean, and which are refused because they have two readings."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.cli import main
from offsets_tool.errors import UsageError
from offsets_tool.evidence.moments.moment_texts import (
    Bound,
    Clock,
    OffsetInLog,
    parse_bound,
    parse_time,
    parse_zone,
)
from offsets_tool.time_texts import time_text
from spark.cli import main as spark_main
from tests.replay.story import commit
from tests.replay.story_segments import in_order, write_log

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
BERLIN = Clock(NOON, parse_zone("Europe/Berlin"))
LATE = Clock(datetime(2026, 11, 22, 23, 30, tzinfo=UTC), parse_zone("+02:00"))
"""On the next day, where the zone is."""

TIMES = [
    ("2026-11-21T14:05:00Z", BERLIN, "2026-11-21T14:05:00.000Z"),
    ("2026-11-21T14:05", Clock(NOON), "2026-11-21T14:05:00.000Z"),
    ("2026-11-21 14:05", BERLIN, "2026-11-21T13:05:00.000Z"),
    ("2026-07-21 14:05", BERLIN, "2026-07-21T12:05:00.000Z"),
    ("2026-11-21 14:05 utc", BERLIN, "2026-11-21T14:05:00.000Z"),
    ("2026-11-21t14:05:00.250+0200", BERLIN, "2026-11-21T12:05:00.250Z"),
    ("2026-11-21 14:05:00 -05:30", BERLIN, "2026-11-21T19:35:00.000Z"),
    ("2026-11-21", BERLIN, "2026-11-20T23:00:00.000Z"),
    (" now ", BERLIN, "2026-11-22T12:00:00.000Z"),
    ("-2h", BERLIN, "2026-11-22T10:00:00.000Z"),
    ("-90s", BERLIN, "2026-11-22T11:58:30.000Z"),
    ("-3d", BERLIN, "2026-11-19T12:00:00.000Z"),
    ("now - 1h30m", BERLIN, "2026-11-22T10:30:00.000Z"),
    ("2h ago", BERLIN, "2026-11-22T10:00:00.000Z"),
    ("yesterday 14:05", BERLIN, "2026-11-21T13:05:00.000Z"),
    ("Today 9:00", BERLIN, "2026-11-22T08:00:00.000Z"),
    ("today 09:00:30.5Z", BERLIN, "2026-11-22T09:00:30.500Z"),
    ("today 01:00", LATE, "2026-11-22T23:00:00.000Z"),
    ("yesterday 01:00", LATE, "2026-11-21T23:00:00.000Z"),
    ("1795263000000", BERLIN, "2026-11-21T12:10:00.000Z"),
    ("999", BERLIN, "1970-01-01T00:00:00.999Z"),
]

REFUSED = [
    ("1795263000", "1970-01-21T18:41:03.000Z in epoch milliseconds, and 2026-11-21T12:10:00.000Z in seconds"),
    ("1795263000000000", "in microseconds"),
    ("1795263000000000000", "in nanoseconds"),
    ("20261121", "2026-11-21T00:00:00.000Z as a date"),
    ("202611211405", "2026-11-21T14:05:00.000Z as a date"),
    ("12:31:30", "lacks the day; write 'today 12:31:30'"),
    ("T12:31", "lacks the day; write 'today 12:31'"),
    ("12:31z", "lacks the day"),
    ("yesterday", "neither a time nor a place"),
    ("yesterday 25:00", "neither a time nor a place"),
    ("tomorrow 10:00", "neither a time nor a place"),
    ("-2mo", "neither a time nor a place"),
    ("now+2h", "neither a time nor a place"),
    ("", "neither a time nor a place"),
    ("²", "neither a time nor a place"),
    ("-90", "lacks a unit; write -90m"),
    ("-" + "9" * 17 + "w", "before all times"),
    ("3:" + "9" * 5000, "no log has a place"),
    ("2147483648:1", "no log has a place"),
    (
        "2026-03-29 02:30",
        "was left out when clocks were changed in Europe/Berlin; write 2026-03-29T00:30:00Z",
    ),
    (
        "2026-10-25 02:30",
        "is there twice when clocks were changed in Europe/Berlin; write 2026-10-25T00:30:00Z",
    ),
]


@pytest.mark.parametrize(("text", "clock", "time"), TIMES)
def test_a_text_is_a_time(text: str, clock: Clock, time: str) -> None:
    assert time_text(parse_time(text, "--as-of", clock)) == time


@pytest.mark.parametrize(("text", "said"), REFUSED, ids=lambda text: text[:20])
def test_what_has_two_readings_or_none_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)) as refused:
        parse_bound((text,), "--as-of", BERLIN)
    assert len(str(refused.value)) < 5_400


def test_a_time_that_the_text_does_not_say_in_utc_is_told() -> None:
    told = {
        text: parse_bound((text,), "--as-of", BERLIN).note
        for text in ("-2h", "2026-11-21 14:05", "2026-11-21T14:05Z", "7")
    }
    assert [text for text, said in told.items() if said] == ["-2h", "2026-11-21 14:05"]
    assert told["-2h"] == "--as-of '-2h' is 2026-11-22T10:00:00.000Z"


def test_a_number_beyond_all_times_is_later_than_all_records() -> None:
    for digits in (20, 5000):
        assert parse_time("9" * digits, "--since", BERLIN) == 1 << 63


def test_places_are_places() -> None:
    assert parse_bound(("12:48211", "3:7"), "--as-of", BERLIN) == Bound(
        places=(OffsetInLog(12, 48211), OffsetInLog(3, 7))
    )
    for lone in ("12:31", "0:00", "23:59", "9:05"):
        assert parse_bound((lone,), "--as-of", BERLIN).clock_text == lone
        assert parse_bound((lone, "1:1"), "--as-of", BERLIN).clock_text is None
    for place in ("24:31", "12:60", "3:1", "12:310", "012:31"):
        assert parse_bound((place,), "--as-of", BERLIN).clock_text is None


@given(
    st.text(max_size=30)
    | st.from_regex(r"[-+]?\d{1,25}[smhdw: TZ.+-]{0,2}\d{0,4}\s?[a-z]{0,3}", fullmatch=True)
)
def test_any_text_is_a_moment_or_is_refused(text: str) -> None:
    try:
        bound = parse_bound((text,), "--as-of", BERLIN)
    except UsageError as error:
        assert ";" in str(error)
    else:
        assert (bound.time is None) == bool(bound.places)


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)),
    st.sampled_from(["Europe/Berlin", "America/New_York", "+05:30", "UTC"]),
)
def test_a_time_in_a_zone_is_that_of_the_calendar_there(at: datetime, zone: str) -> None:
    clock = Clock(NOON, parse_zone(zone))
    try:
        read = parse_time(at.isoformat(" "), "--since", clock)
    except UsageError as error:
        assert "clocks were changed" in str(error)
        return
    back = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=read)
    assert back.astimezone(clock.zone).replace(tzinfo=None) == at.replace(
        microsecond=at.microsecond // 1000 * 1000
    )


@pytest.mark.parametrize(
    "zone", ["Europe/Berlinn", "..", "/etc/passwd", "Europe", "+25:00", "+02:75", "", "a\0b", "x" * 5000]
)
def test_a_zone_that_is_none_is_refused(zone: str) -> None:
    with pytest.raises(UsageError, match="--tz: there is no zone"):
        parse_zone(zone)


# ---- a place that looks like a time of day


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, [*map(str, args)])


COMMANDS = [
    *((command, "--as-of") for command in ("groups", "offsets", "lag", "expiry", "transactions")),
    *((command, option) for command in ("decode", "history") for option in ("--since", "--until")),
]


@pytest.mark.parametrize(("command", "option"), COMMANDS)
def test_a_lone_time_of_day_is_refused_where_there_is_no_such_place(
    tmp_path: Path, command: str, option: str
) -> None:
    write_log(tmp_path, in_order(*(commit("g", "t", 0, at) for at in range(6))), partition=3)
    for text, why in (
        ("12:31", "partition 12, which is not in this evidence"),
        ("3:10", "which ends at 6 in this evidence"),
    ):
        result = invoke(command, tmp_path, option, text, "--output", tmp_path / "out")
        assert result.exit_code == 2 and not (tmp_path / "out").exists()
        assert f"{option} {text}: as a place it is offset" in result.stderr and why in result.stderr
        assert f"as a time of day it lacks the day; write 'today {text}'" in result.stderr


@pytest.mark.parametrize(("command", "option"), COMMANDS)
def test_a_lone_time_of_day_that_is_a_place_is_said_to_be_one(
    tmp_path: Path, command: str, option: str
) -> None:
    write_log(tmp_path, in_order(*(commit("g", "t", 0, at) for at in range(12))), partition=3)
    said = f"{option} 3:10 is offset 10 of partition 3, not a time of day"
    table = invoke(command, tmp_path, option, "3:10", "--format", "table")
    assert table.exit_code == 0 and said in table.stderr
    assert table.stdout.splitlines()[0] == said
    assert said not in invoke(command, tmp_path, option, "3:10", "--format", "jsonl").stdout
    assert "time of day" not in invoke(command, tmp_path, option, "3:9", "--format", "table").output


def test_every_command_says_that_times_are_utc() -> None:
    for command in ("decode", "groups", "describe", "offsets", "lag", "expiry", "transactions", "history"):
        assert "UTC" in invoke(command, "--help").stdout and "--tz" in invoke(command, "--help").stdout


def test_a_zone_is_that_of_all_times_of_a_command(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(commit("g", "t", 0, 5), commit("g", "t", 0, 6)))
    asked = ("--since", "1970-01-01 01:00:02", "--until", "1970-01-01 01:00:03")
    assert invoke("decode", tmp_path, *asked, "--tz", "+01:00").stdout.count("\n") == 1
    assert invoke("decode", tmp_path, *asked).stdout == ""


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--since", "12:31"), "--since: '12:31' lacks the day; write 'today 12:31'"),
        (("--until", "1795263000"), "2026-11-21T12:10:00.000Z in seconds"),
        (("--ends-at", "yesterday"), "--ends-at: 'yesterday' is no time"),
        (("--tz", "Nowhere"), "there is no zone 'Nowhere'"),
    ],
)
def test_the_lakes_commands_read_times_alike(tmp_path: Path, asked: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(spark_main, ["lag", "--lake", str(tmp_path), *asked])
    assert result.exit_code == 2 and said in result.stderr
