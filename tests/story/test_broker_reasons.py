"""Rebalances have the broker's reason, and loads of the log partition stand between the sentences that they came between."""

from dataclasses import replace

import pytest

from offsets_tool.server_log.join import ServerLog, joined_log
from offsets_tool.server_log.server_line import LineKind, ServerLine
from offsets_tool.story.broker_loads import with_loads
from offsets_tool.story.sentence import Sentence
from offsets_tool.story.story import GroupStory
from tests.corpora import CORPORA, INCIDENTS
from tests.server_log.logs import log_of, records_of, rows_of

KILLED = INCIDENTS / "member-killed"


def story_of_killed_member(server_log: ServerLog) -> list[Sentence]:
    """Return the story of the incident of a killed member."""
    [rows] = rows_of(KILLED)
    return with_loads(GroupStory(rows, [], server_log=server_log).sentences(), server_log)


def with_line(kind: LineKind, log_partition: int, at: int) -> ServerLog:
    """Return the broker's log of the incident with one more line."""
    log = log_of(KILLED)
    line = ServerLine(kind, "server.log", 99, at, log_partition=log_partition, own_at=at)
    return joined_log([replace(log, entries=[*log.entries, line])], records_of(KILLED, log))


def test_a_load_stands_where_it_came() -> None:
    plain = [
        each.text
        for each in story_of_killed_member(joined_log([log_of(KILLED)], records_of(KILLED, log_of(KILLED))))
    ]
    before, after = (
        each for each in story_of_killed_member(ServerLog()) if each.text.startswith("Rebalance")
    )
    loaded = story_of_killed_member(with_line(LineKind.LOADED, 1, (after.at or 0) - 1))
    [load] = [each for each in loaded if each.kind == "broker"]
    assert load.text == "A broker has loaded log partition 1, as its coordinator (server.log:99)."
    assert (before.at or 0) < (load.at or 0) < (after.at or 0) and load.places[-1] == "server.log:99"
    assert [each.text for each in loaded if each is not load] == plain
    assert loaded.index(load) == plain.index(next(each for each in plain if each.startswith(after.text)))


@pytest.mark.parametrize(("log_partition", "by"), [(2, -1), (1, 60_000), (1, -600_000)])
def test_a_load_of_another_partition_or_time_is_not_told(log_partition: int, by: int) -> None:
    last = story_of_killed_member(ServerLog())[-1]
    loaded = story_of_killed_member(with_line(LineKind.LOADED, log_partition, (last.at or 0) + by))
    assert all(each.kind != "broker" for each in loaded)


def test_logs_of_two_brokers_join_each_by_its_own_clock() -> None:
    folder = CORPORA / "4.3.1-classic"
    log, records = log_of(folder), records_of(folder, log_of(folder))
    whole = joined_log([log], records)
    halves = (log.entries[::2], [each._replace(at=(each.at or 0) + 7_200_500) for each in log.entries[1::2]])
    parts = [replace(log, name=name, entries=list(some)) for name, some in zip("ab", halves, strict=True)]
    both = joined_log(parts, records)
    assert [each.clock.ahead_ms for each in both.files] == [0, 7_200_500]
    for kind in LineKind:
        assert [each.at for each in both.of_kind(kind)] == [each.at for each in whole.of_kind(kind)]


def test_a_reason_is_told_in_words_with_its_line() -> None:
    [*_, last] = story_of_killed_member(joined_log([log_of(KILLED)], records_of(KILLED, log_of(KILLED))))
    assert last.text.endswith("By the broker's log: sensors-1 asked to leave (server.log:24).")
    assert last.lines == ("server.log:24",)
