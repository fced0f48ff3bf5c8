"""What is no more than it seems: rows of everyday doings that a rule could take for an incident, by a table as in test_rules."""

from time import process_time
from typing import Any

import pytest

from offsets_tool.findings.context import Furthest
from offsets_tool.findings.group_rows import GroupRow
from offsets_tool.replay.changes import TopicPartition
from tests.findings.made import (
    HOUR,
    MINUTE,
    SECOND,
    TOPIC,
    aborted,
    anomaly,
    commit,
    commits,
    found,
    group,
    member,
    removed,
    states,
    transaction,
    until,
)
from tests.findings.test_rules import (
    AMBIGUOUS,
    CERTAIN,
    CRITICAL,
    EMPTY,
    LIKELY,
    LIVING,
    NOTICE,
    READING,
    WARNING,
    Case,
    check,
)


def _restarts(members: int, each: int, **given: Any) -> list[GroupRow]:
    """Return a group of so many whose every member is restarted, with so many rebalances each."""
    return [
        *states(*(group(n, n * 5 * SECOND, members, generation=n, **given) for n in range(members * each)))
    ]


def _timeless(rows: list[Any]) -> list[GroupRow]:
    """Return rows as of records without timestamps: of message formats before 0.10."""
    ends = ({"to_timestamp": -1} if row.to_timestamp is not None else {} for row in rows)
    return [row._replace(from_timestamp=-1, **end) for row, end in zip(rows, ends, strict=True)]


def _conflict(*hosts: str) -> list[GroupRow]:
    """Return one static member that was replaced from these hosts, one after the other, seconds apart."""
    return [
        until(
            member(n, n * SECOND, f"m-{n}", instance_id="i", client_host=host),
            n + 1,
            (n + 1) * SECOND,
            "replaced",
        )
        for n, host in enumerate(hosts)
    ]


SYNCED = commits(10, HOUR, MINUTE, *range(100, 160, 10))
REPLACED = ("static_member_replaced", NOTICE, CERTAIN)
READ = commits(1, 0, SECOND, *range(10))
SUCCESSOR = {"producer_epoch": 2, "outcome": "committed"}

CAUGHT_UP = commits(20, HOUR, 5 * SECOND, 2_000, 3_000, 3_010, 3_020, 3_030)
REMOVED = {"to_log_offset": 3_000, "to_timestamp": HOUR, "end_cause": "deleted"}
CASES = (
    Case(
        "offsets that are copied into an empty group every minute",
        [*EMPTY, *SYNCED],
        (("reset", NOTICE, AMBIGUOUS),),
    ),
    Case(
        "they are copied, and then an admin turns them back",
        [*EMPTY, *SYNCED[:-1], SYNCED[-1]._replace(delta=-50)],
        (("reset", NOTICE, AMBIGUOUS), ("reset", WARNING, LIKELY)),
    ),
    Case(
        "an admin sets offsets forward once",
        [*EMPTY, *commits(10, HOUR, MINUTE, 100, 400)],
        (("reset", WARNING, LIKELY),),
    ),
    Case(
        "the last commit of a member comes just after its leaving",
        [*EMPTY, *commits(9, 5 * SECOND - 40, 80, 100, 101)],
        (("reset", WARNING, AMBIGUOUS),),
    ),
    Case(
        "compaction may have taken the group's members",
        [*EMPTY, *commits(10, MINUTE, SECOND, 100, 40)],
        (("reset", WARNING, AMBIGUOUS),),
        {"proven_from": 50},
    ),
    Case(
        "a producer that died came back before its transaction timed out",
        [aborted(0, 0, 30 * SECOND, 1), transaction(9, 50 * SECOND, **SUCCESSOR)],
        (("transaction_timed_out", WARNING, AMBIGUOUS),),
    ),
    Case(
        "a short timeout, and a successor at once",
        [aborted(0, 0, 3 * SECOND, 1), transaction(9, 4 * SECOND, **SUCCESSOR)],
        (("transaction_fenced", WARNING, AMBIGUOUS),),
    ),
    Case(
        "with transaction version 2 a transaction of another group raised the epoch in between",
        [aborted(0, 0, 50, 1), transaction(9, 100, **SUCCESSOR)],
        (("transaction_fenced", NOTICE, AMBIGUOUS),),
        {"has_raised_epochs": True},
    ),
    Case(
        "a producer went over to transaction version 2, and then its application aborted",
        [
            aborted(0, 0, 50, 0, outcome="committed"),
            aborted(5, MINUTE, MINUTE + 20 * SECOND, 1),
        ],
        (("transaction_timed_out", NOTICE, AMBIGUOUS),),
        {"has_raised_epochs": True},
    ),
    Case(
        "the topic was deleted and created again: it begins at 0",
        [*EMPTY, removed(9, MINUTE, "topic_deleted"), commit(30, HOUR, 5)],
        (("topic_deleted", NOTICE, CERTAIN),),
    ),
    Case(
        "offsets expired under a consumer that read on",
        [LIVING, member(0, 0), removed(9, MINUTE, "retention"), commit(30, 2 * MINUTE, 110, member_id="m-1")],
        (("offsets_expired", NOTICE, CERTAIN),),
    ),
    Case(
        "offsets expired under a client that never joins, and may have read on",
        [group(0, 0, 0, kind="simple"), removed(9, MINUTE, "retention"), commit(30, 2 * MINUTE, 110)],
        (("offsets_expired", NOTICE, CERTAIN),),
    ),
    Case(
        "offsets expired while nobody was there, and the group came back ahead",
        [*EMPTY, removed(9, MINUTE, "retention"), commit(30, 2 * MINUTE, 110)],
        (("offsets_expired", CRITICAL, CERTAIN),),
    ),
    Case(
        "a rolling restart of 50", _restarts(50, 2, protocol="range"), (("rebalance_storm", NOTICE, CERTAIN),)
    ),
    Case(
        "a rolling restart of 50 that rebalance in two steps",
        _restarts(50, 4, protocol="cooperative-sticky"),
        (("rebalance_storm", NOTICE, CERTAIN),),
    ),
    Case(
        "a storm of an eager group",
        _restarts(5, 8, protocol="range"),
        (("rebalance_storm", WARNING, CERTAIN),),
    ),
    Case("rebalances of a log without times", _timeless(_restarts(5, 8))),
    Case(
        "a rolling restart of consumers with one name on one host",
        [
            until(member(0, 0, f"m-{n}", session_timeout_ms=45 * SECOND), 10 + n, (10 + n) * SECOND)
            for n in range(8)
        ],
    ),
    Case(
        "a member that had committed steadily was idle, and then left",
        [until(member(0, 0), 19, 18 * SECOND), *commits(1, SECOND, SECOND, *range(6), member_id="m-1")],
        (("member_timed_out", NOTICE, AMBIGUOUS),),
    ),
    Case(
        "a member left by chance when its session would soon have timed out",
        [until(member(0, 0), 9, 10 * SECOND + 410)],
    ),
    Case(
        "an admin removed a static member that was away",
        [
            until(
                member(0, 0, instance_id="i", member_epoch=4, session_timeout_ms=None), 5, SECOND, "changed"
            ),
            until(
                member(5, SECOND, instance_id="i", member_epoch=-2, session_timeout_ms=None), 9, 6 * SECOND
            ),
        ],
        (("member_timed_out", NOTICE, AMBIGUOUS),),
        {"session_timeout_ms": 5 * SECOND},
    ),
    Case(
        "a group that has read all, behind a transaction's marker",
        [LIVING, *READ],
        (("stalled", NOTICE, AMBIGUOUS),),
        {"furthest": {TopicPartition(TOPIC, 0): Furthest(10, "other")}},
    ),
    Case(
        "a group that no longer asks for the topic",
        [LIVING, member(0, 0, assignment=("b-0",)), *READ],
        given={"furthest": {TopicPartition(TOPIC, 0): Furthest(500, "other")}},
    ),
    Case(
        "another group read a topic of that name that was deleted",
        [LIVING, removed(0, 0, "topic_deleted", partition=9), *READ],
        (("stalled", NOTICE, AMBIGUOUS), ("topic_deleted", NOTICE, CERTAIN)),
        {"furthest": {TopicPartition(TOPIC, 0): Furthest(500, "other")}},
    ),
    Case(
        "partitions that nobody owns in a log without times",
        _timeless(
            [LIVING, until(member(0, 0), 5, MINUTE, "changed"), member(5, MINUTE, assignment=("b-0",))]
        ),
    ),
    Case(
        "nothing was written for an hour, and then as much as usual",
        [LIVING, *READING, *commits(20, HOUR, 5 * SECOND, *range(100, 200, 10))],
    ),
    Case(
        "records come once an hour, many at once",
        [LIVING, *commits(1, 0, HOUR, *range(0, 9_000, 1_000))],
        given={"until_after": 9 * HOUR},
    ),
    Case(
        "it went on far ahead when its members were back",
        [*states(LIVING, group(15, 2 * MINUTE, 0), group(19, 59 * MINUTE, 1)), *READING, *CAUGHT_UP],
        (("group_without_members", NOTICE, CERTAIN),),
    ),
    Case(
        "compaction took what it committed meanwhile",
        [LIVING, *READING, *CAUGHT_UP],
        given={"proven_from": 20},
    ),
    Case("a group caught up, in a log without times", _timeless([LIVING, *READING, *CAUGHT_UP])),
    Case(
        "half of many keys was removed",
        [
            row._replace(partition=n, **({} if n % 2 else REMOVED))
            for n, row in enumerate(commits(1, 0, MINUTE, *range(2_200)))
        ],
    ),
    Case("many commits of a log without times", _timeless(commits(1, 0, 20, *range(2_000)))),
    Case(
        "many commits of transactions are counted once",
        [
            each
            for row in commits(1, 0, 500, *range(600))
            for each in (
                row._replace(is_effective=False),
                row._replace(from_log_offset=row.from_log_offset + 1_000),
            )
        ],
    ),
    Case(
        "a contradiction where compaction took records",
        [anomaly(3, 0, "a commit of nobody")],
        (("contradiction", NOTICE, AMBIGUOUS),),
        {"proven_from": 50},
    ),
    Case(
        "a transaction whose marker may be behind the end of this partition's copy",
        [transaction(0, 0)],
        (("hanging_transaction", WARNING, AMBIGUOUS),),
        {"own_until_after": MINUTE},
    ),
    Case(
        "one instance crashes and starts again on its host",
        _conflict("a", "a", "a", "a", "a"),
        (("instance_conflict", WARNING, AMBIGUOUS), *(REPLACED,) * 5),
    ),
    Case(
        "two hosts take an instance id from each other in turn",
        _conflict("a", "b", "a", "b", "a"),
        (("instance_conflict", WARNING, LIKELY), *(REPLACED,) * 5),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_what_is_everyday_is_not_said_to_be_more(case: Case) -> None:
    check(case)


def test_a_group_of_many_partitions_is_asked_once_for_each_topic() -> None:
    """Ten thousand partitions that nobody owned are one finding, within seconds though many members came and went."""
    names = tuple(f"{TOPIC}-{number}" for number in range(10_000))
    gone = [
        until(member(n, n, f"m-{n}", subscription=("b",), assignment=()), n + 1, n + 1) for n in range(2_000)
    ]
    had = until(member(3_000, HOUR, assignment=names), 3_001, HOUR + 1, "changed")
    began = process_time()
    findings = found([LIVING, *gone, had, member(3_001, HOUR + 1, assignment=())], until_after=3 * HOUR)
    assert process_time() - began < 3
    assert [each.kind for each in findings if each.kind == "unowned_partitions"] == ["unowned_partitions"]
