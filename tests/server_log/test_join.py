"""Lines join the records by group, number and time: the zone is found, skew measured, what contradicts is said and not believed."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from offsets_tool.replay.changes import TopicPartition
from offsets_tool.server_log.clocks import FileClock, Misfit, clock_of, in_zone
from offsets_tool.server_log.join import (
    NO_SERVER_LOG,
    JoinedFile,
    ServerLog,
    TimeSpan,
    joined_log,
    names_group,
)
from offsets_tool.server_log.notes import notes_on
from offsets_tool.server_log.parse import ServerLogFile, read_server_log
from offsets_tool.server_log.server_line import LineKind
from tests.corpora import CORPORA, INCIDENTS
from tests.server_log.logs import joined_folders, log_of, path_of, records_of

HOUR = 3_600_000
CLASSIC = CORPORA / "4.3.1-classic"
KILLED = INCIDENTS / "member-killed"


def moved(log: ServerLogFile, by: int) -> ServerLogFile:
    """Return a log whose clock is ahead by so many milliseconds."""
    return replace(log, entries=[each._replace(at=(each.at or 0) + by) for each in log.entries])


@pytest.mark.slow
@pytest.mark.parametrize("folder", joined_folders(), ids=lambda path: path.name)
def test_all_that_brokers_wrote_fits_the_records(folder: Path) -> None:
    """But lines about epochs that a broker with a bug could not write."""
    log = log_of(folder)
    clock = clock_of(log, records_of(folder, log))
    assert clock.zone_ms == 0 and abs(clock.skew_ms) < 500 and not clock.is_contradicted
    assert not clock.misfits or folder.name == "3.9.2-newgroups"


@pytest.mark.parametrize("by", [0, HOUR, -5 * HOUR, int(5.75 * HOUR), 2_000, HOUR + 45_000, -14 * HOUR])
def test_zone_and_skew_are_found(by: int) -> None:
    log = log_of(CLASSIC)
    clock = clock_of(moved(log, by), records_of(CLASSIC, log))
    assert clock.ahead_ms == by and clock.zone_ms == round(by / 900_000) * 900_000 and clock.fitting == 31


def test_a_zone_that_is_given_is_held_against_the_records() -> None:
    log, records = log_of(CLASSIC), records_of(CLASSIC, log_of(CLASSIC))
    berlin = moved(log, HOUR)
    right = replace(berlin, entries=in_zone(berlin.entries, ZoneInfo("Europe/Berlin")))
    wrong = replace(berlin, entries=in_zone(berlin.entries, timezone(timedelta(hours=-3))))
    assert clock_of(right, records).ahead_ms == 0
    clock = clock_of(wrong, records)
    assert clock.is_contradicted and clock.ahead_ms is None
    [said] = [note for note in notes_on(joined_log([wrong], records)) if "zone" in note]
    assert "do not fit the records in the zone that is given, where they are 4h ahead of them" in said


def test_a_zone_follows_its_summer() -> None:
    at = int(datetime(2026, 7, 1, 12, tzinfo=UTC).timestamp() * 1000) + 7
    [summer, none] = in_zone(
        [
            each._replace(at=at) if not number else each._replace(at=None)
            for number, each in enumerate(log_of(CLASSIC).entries[:2])
        ],
        ZoneInfo("Europe/Berlin"),
    )
    assert summer.at == at - 2 * HOUR and none.at is None


def test_what_contradicts_the_records_is_said_and_not_believed() -> None:
    log = log_of(CLASSIC)
    left = next(each for each in log.entries if each.kind is LineKind.LEFT)
    assigned = next(
        each for each in log.entries if each.kind is LineKind.ASSIGNED and each.group != left.group
    )
    joined = next(each for each in log.entries if each.kind is LineKind.ASSIGNED and each.group == left.group)
    made = {
        assigned: (assigned._replace(members=99), Misfit.MEMBERS),
        joined: (joined._replace(at=(joined.at or 0) + 60_000), Misfit.TIME),
        left: (left._replace(at=(left.at or 0) - 120_000), Misfit.ALIVE),
    }
    wrong = replace(log, entries=[made[each][0] if each in made else each for each in log.entries])
    clock = clock_of(wrong, records_of(CLASSIC, log))
    assert clock.misfits == dict(made.values())
    server_log = joined_log([wrong], records_of(CLASSIC, log))
    assert server_log.departure(left.group or "", left.member_id or "", TimeSpan(None, None)) is None
    notes = [note for note in notes_on(server_log) if "not believed" in note]
    assert [note.split(": ")[0] for note in notes] == [joined.source, assigned.source, left.source]


def test_without_a_common_generation_the_clock_is_unknown() -> None:
    """A member's own id joins all the same."""
    log = log_of(KILLED)
    server_log = joined_log([log], records_of(CLASSIC, log))
    assert server_log.files[0].clock.ahead_ms is None
    [failed] = [each for each in log.entries if each.kind is LineKind.EXPIRED]
    found = server_log.departure(failed.group or "", failed.member_id or "", TimeSpan(0, 1))
    assert found is not None and found.source == failed.source and found.at is None
    assert any("name its zone with --server-log-zone" in note for note in notes_on(server_log))


@pytest.mark.parametrize("by", [24 * HOUR, -24 * HOUR, -40 * HOUR, 200 * HOUR])
@pytest.mark.parametrize("folder", [CLASSIC, KILLED], ids=lambda path: path.name)
def test_a_log_of_another_time_says_nothing_of_generations(folder: Path, by: int) -> None:
    """A group that was removed and came again counts from 1 once more: equal numbers alone are no proof."""
    log = log_of(folder)
    server_log = joined_log([moved(log, by)], records_of(folder, log))
    assert server_log.files[0].clock.ahead_ms is None
    groups = {each.group for each in log.entries if each.group is not None}
    numbered = [(name, range(99), TimeSpan(None, None)) for name in groups]
    assert not [reason for each in numbered for reason in server_log.generations(*each)]
    assert not [reason for each in numbered for reason in server_log.epochs(*each)]
    assert any("it is of another time" in note for note in notes_on(server_log))


def test_a_log_of_something_else_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("hello\n")
    log = read_server_log(str(tmp_path / "app.log"), "app.log")
    [note] = notes_on(joined_log([log], records_of(KILLED, log)))
    assert note.startswith("app.log: none of its 1 lines")


def test_no_file_says_nothing() -> None:
    assert not NO_SERVER_LOG and NO_SERVER_LOG.expiry(0, 1) is None and list(notes_on(NO_SERVER_LOG)) == []
    assert ServerLog().departure("g", "m", TimeSpan(None, None)) is None


@pytest.mark.parametrize(
    ("text", "group", "is_named"),
    [
        ("a", "a", True),
        ("a, b", "b", True),
        ("a, b, c", "b", True),
        ("a,b", "a,b", True),
        ("ab", "a", False),
        ("a b", "b", False),
    ],
)
def test_a_list_of_groups_names_a_group(text: str, group: str, is_named: bool) -> None:
    assert names_group(text, group) is is_named


def test_a_removal_is_told_by_the_line_of_its_time() -> None:
    folder = INCIDENTS / "group-deleted"
    server_log = joined_log([log_of(folder)], records_of(folder, log_of(folder)))
    [deleted] = server_log.of_kind(LineKind.GROUPS_DELETED)
    group, at = re.split(", ?", deleted.text or "")[0], deleted.at or 0
    found = server_log.removal(group, TopicPartition("t", 0), 0, at + 5)
    assert found == deleted and path_of(folder).read_text().split("\n")[deleted.line - 1].count(group)
    assert server_log.removal(group, TopicPartition("t", 0), 0, at + 10_000) is None
    assert server_log.removal("other", TopicPartition("t", 0), 0, at) is None


_LINES = """\
[2026-11-21T12:07:49,906] INFO {by} Static member B with instance id b joins the consumer group using the consumer protocol. {home}
[2026-11-21T12:07:49,906] INFO {by} Bumped group epoch to 3 with metadata hash -62. {home}
[2026-11-21T12:07:52,569] INFO {by} Static member B with instance id b temporarily left the consumer group. {home}
[2026-11-21T12:08:39,465] INFO {by} Bumped group epoch to 4 with metadata hash 18. {home}
"""


def test_an_epoch_that_a_line_tells_has_the_lines_before_it_and_no_older_ones(tmp_path: Path) -> None:
    """A static member that goes for a while begins no epoch: the one that a topic began later is not its doing."""
    path = tmp_path / "server.log"
    by = "[GroupCoordinator id=1 topic=__consumer_offsets partition=2] [GroupId static848]"
    path.write_text(_LINES.format(by=by, home="(org.apache.kafka.coordinator.group.GroupMetadataManager)"))
    server_log = ServerLog(
        [JoinedFile(read_server_log(str(path), "server.log"), FileClock(0, 0, 0, True, False, {}))]
    )
    told = {
        epoch: [
            each.cause
            for each in server_log.epochs("static848", range(epoch, epoch + 1), TimeSpan(None, None))
        ]
        for epoch in (3, 4)
    }
    assert told == {3: ["member_joined"], 4: ["topics_changed"]}
