"""What each finder finds and what it does not, by a table: rows of one group, and the findings in short."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from offsets_tool.findings.context import Furthest, Moved
from offsets_tool.findings.group_rows import GroupRow
from offsets_tool.history.rows import MemberHistoryRow
from offsets_tool.replay.changes import UNREAD, TopicPartition
from tests.findings.made import (
    GROUP,
    HOUR,
    MINUTE,
    SECOND,
    START,
    TOPIC,
    aborted,
    anomaly,
    commit,
    commits,
    found,
    group,
    live,
    member,
    removed,
    states,
    transaction,
    until,
)

NOTICE, WARNING, CRITICAL = "notice", "warning", "critical"
CERTAIN, LIKELY, AMBIGUOUS = "certain", "likely", "ambiguous"
Short = tuple[str, str, str]


class Case(NamedTuple):
    """Rows of a group, its LogContext, and the findings that must result: kind, severity, confidence."""

    what: str
    rows: Sequence[GroupRow]
    found: tuple[Short, ...] = ()
    given: Mapping[str, Any] = MappingProxyType({})


def _generations(number: int, apart: int, members: int = 2) -> list[GroupRow]:
    return [*states(*(group(n, n * apart, members, generation=n + 1) for n in range(number)))]


def _waiting(
    after: int = 5 * SECOND,
    offsets: Sequence[int] = (100, 110, 120),
    apart: int = 5 * SECOND,
    empty: bool = False,
) -> list[GroupRow]:
    """A group that commits, then is silent for ten minutes until its second generation, and goes on `after` it."""
    still = 10 * apart
    until_generation = still + 10 * MINUTE
    between = [group(12, still + SECOND, 0)] if empty else []
    return [
        *states(group(0, 0, 1), *between, group(20, until_generation, 1, generation=2)),
        *commits(1, 0, apart, *range(0, 100, 10), member_id="m-1"),
        *(
            commit(21 + n, until_generation + after + n * SECOND, offset, delta=offset - 90, member_id="m-1")
            for n, offset in enumerate(offsets)
        ),
    ]


_SOON = {"until_after": 15 * MINUTE}
LIVING = group(0, 0, 1)
EMPTY = states(group(0, 0, 1), group(5, 5 * SECOND, 0, generation=2))
READING = commits(1, 0, 5 * SECOND, *range(0, 100, 10))
BACK = commits(10, 10 * SECOND, SECOND, 100, 40)
RETURN = [removed(20, MINUTE, "retention"), commit(30, HOUR, 40)]


def _other(log_offset: int, **given: Any) -> MemberHistoryRow:
    """Return a member of another application, which asks for another topic; it joins as many seconds after the start."""
    fields = {"member_id": "m-2", "client_id": "other", "subscription": ("b",), "assignment": ("b-0",)}
    return member(log_offset, log_offset * SECOND, **{**fields, **given})


def _matching(log_offset: int, after: int, *assignment: str) -> MemberHistoryRow:
    """Return a member that asks for topics by a regular expression."""
    return member(log_offset, after, subscription=(), subscribed_regex="p.*", assignment=assignment)


def _grown(*offsets: int, after: int = 10 * MINUTE) -> list[GroupRow]:
    """Return a group whose members got a second partition some time after the first, and what was committed in it then."""
    whole = (f"{TOPIC}-0", f"{TOPIC}-1")
    return [
        LIVING,
        until(member(0, 0), 20, after, "changed"),
        member(20, after, assignment=whole),
        *commits(1, 0, SECOND, 4, 8),
        *commits(21, after + SECOND, SECOND, *offsets, partition=1),
    ]


APPLICATION = [LIVING, member(0, 0)]

CASES = (
    Case(
        "offsets expired and nobody came back",
        [removed(9, 0, "retention")],
        (("offsets_expired", NOTICE, CERTAIN),),
    ),
    Case("the group came back behind", [LIVING, *RETURN], (("offsets_expired", CRITICAL, CERTAIN),)),
    Case(
        "it came back where it had been",
        [removed(9, 0, "retention"), commit(30, HOUR, 100)],
        (("offsets_expired", NOTICE, CERTAIN),),
    ),
    Case(
        "its member was there all the time and read on",
        [LIVING, member(0, 0), removed(20, MINUTE, "retention"), commit(30, HOUR, 40, member_id="m-1")],
        (("offsets_expired", NOTICE, CERTAIN),),
    ),
    Case(
        "its member was there all the time, and began again behind after a rebalance",
        [
            *states(LIVING, group(25, 2 * MINUTE, 1, generation=2)),
            member(0, 0),
            removed(20, MINUTE, "retention"),
            commit(30, HOUR, 40, member_id="m-1"),
        ],
        (("offsets_expired", CRITICAL, CERTAIN),),
    ),
    Case(
        "what went for one cause is one loss, checks apart",
        [removed(n, n * 10 * MINUTE, "retention", partition=n) for n in range(3)],
        (("offsets_expired", NOTICE, CERTAIN),),
    ),
    Case(
        "days apart they are two",
        [removed(n, n * 24 * HOUR, "retention", partition=n) for n in range(2)],
        (("offsets_expired", NOTICE, CERTAIN),) * 2,
    ),
    Case(
        "somebody deleted offsets",
        [removed(9, 0, "offsets_deleted")],
        (("offsets_deleted", WARNING, CERTAIN),),
    ),
    Case("a topic was deleted", [removed(9, 0, "topic_deleted")], (("topic_deleted", NOTICE, CERTAIN),)),
    Case(
        "a group was deleted with two topics",
        [removed(9, 0, "group_deleted"), removed(10, 0, "group_deleted", topic="b")],
        (("group_deleted", WARNING, CERTAIN),),
    ),
    Case(
        "a partition that no assignment has is committed all the time",
        [
            member(0, 0),
            *(commit(number, number * MINUTE, number, partition=number % 2) for number in range(1, 90)),
        ],
    ),
    Case("what was aborted was never there", [removed(9, 0, "aborted", producer_id=5)]),
    Case(
        "nothing explains it",
        [removed(9, 0, "unknown", confidence="ambiguous")],
        (("offsets_lost", WARNING, AMBIGUOUS),),
    ),
    Case(
        "a share group was deleted",
        [group(0, 0, 0, kind="share", to_log_offset=9, to_timestamp=1, end_cause="deleted")],
        (("group_deleted", WARNING, CERTAIN),),
    ),
    Case(
        "a classic group without offsets went",
        [group(0, 0, 0, to_log_offset=9, to_timestamp=1, end_cause="deleted")],
        (("group_expired", NOTICE, AMBIGUOUS),),
    ),
    Case(
        "a broker of 0.9 deletes a group's record and keeps the offsets",
        [group(0, 0, 0, to_log_offset=9, to_timestamp=1, end_cause="deleted"), commit(3, 0, 5)],
    ),
    Case("offsets were reset while nobody was there", [*EMPTY, *BACK], (("reset", WARNING, LIKELY),)),
    Case(
        "a client with a leader epoch may have done it",
        [*EMPTY, *commits(10, 0, SECOND, 100, 40, leader_epoch=3)],
        (("reset", WARNING, AMBIGUOUS),),
    ),
    Case("a member moved back", [LIVING, *BACK], (("rewind", NOTICE, CERTAIN),)),
    Case("a simple client moved back", BACK, (("rewind", NOTICE, CERTAIN),)),
    Case(
        "a client moves back all the time",
        commits(1, 0, SECOND, 9, 5, 9, 4, 9, 3, 9, 2, 9, 1),
        (("rewind", NOTICE, CERTAIN),),
    ),
    Case("a simple client moved on", commits(10, 0, SECOND, 40, 100)),
    Case(
        "a leap ahead",
        [LIVING, *commits(1, 0, SECOND, *range(7), 5_000)],
        (("jump", NOTICE, LIKELY),),
        {"until_after": MINUTE},
    ),
    Case(
        "a burst is no leap", [LIVING, *commits(1, 0, SECOND, *range(7), 50)], given={"until_after": MINUTE}
    ),
    Case(
        "no leap where compaction took the commits between",
        [LIVING, *commits(1, 0, SECOND, *range(7), 5_000)],
        given={"proven_from": 8, "until_after": MINUTE},
    ),
    Case(
        "a hanging transaction",
        [transaction(0, 0)],
        (("hanging_transaction", CRITICAL, LIKELY),),
    ),
    Case(
        "one that is a minute old",
        [transaction(0, 0)],
        (("hanging_transaction", WARNING, AMBIGUOUS),),
        {"until_after": 2 * MINUTE},
    ),
    Case(
        "one that just began",
        [transaction(0, 0)],
        (("hanging_transaction", NOTICE, AMBIGUOUS),),
        {"until_after": 5},
    ),
    Case(
        "a transaction took long",
        [
            transaction(
                0, 0, outcome="committed", marker_log_offset=1, marker_timestamp=START + HOUR, marker_epoch=0
            )
        ],
        (("long_transaction", NOTICE, CERTAIN),),
    ),
    Case("an application aborted", [aborted(0, 0, 50, 0)], (("transactions_aborted", NOTICE, LIKELY),)),
    Case(
        "a transaction timed out",
        [aborted(0, 0, 65 * SECOND, 1)],
        (("transaction_timed_out", WARNING, LIKELY),),
    ),
    Case(
        "a successor fenced its producer",
        [aborted(0, 0, 200, 1), transaction(9, SECOND, producer_epoch=2, outcome="committed")],
        (("transaction_fenced", WARNING, LIKELY),),
    ),
    Case(
        "with transaction version 2 an application's abort raises the epoch too",
        [aborted(0, 0, 50, 1)],
        (("transactions_aborted", NOTICE, AMBIGUOUS),),
        {"has_raised_epochs": True},
    ),
    Case(
        "with transaction version 2 a long silence may have been the timeout",
        [aborted(0, 0, 65 * SECOND, 1)],
        (("transaction_timed_out", NOTICE, AMBIGUOUS),),
        {"has_raised_epochs": True},
    ),
    Case("a member left", [until(member(0, 0), 9, 5 * SECOND)]),
    Case(
        "a member died at once",
        [until(member(0, 0), 9, 10 * SECOND + 20)],
        (("member_timed_out", NOTICE, LIKELY),),
    ),
    Case("a member that never commits left after a while", [until(member(0, 0), 9, 5 * MINUTE)]),
    Case(
        "a new member fell silent before its first commit, while another commits",
        [until(member(0, 0), 19, 15 * SECOND), commit(1, SECOND, 5, member_id="m-2")],
        (("member_timed_out", NOTICE, AMBIGUOUS),),
    ),
    Case(
        "a member that never commits left soon after a rebalance, while another commits",
        [
            until(member(0, 0), 9, HOUR, "changed"),
            until(member(9, HOUR, generation=2), 19, HOUR + 15 * SECOND),
            commit(1, SECOND, 5, member_id="m-2"),
        ],
    ),
    Case(
        "a worker of Connect left after a while",
        [
            group(0, 0, 1, protocol_type="connect", protocol="sessioned"),
            until(member(0, 0, subscription=(), assignment=()), 9, 5 * MINUTE),
        ],
    ),
    Case(
        "a member that commits every minute left after a while",
        [
            until(member(0, 0), 19, 10 * MINUTE),
            *commits(1, MINUTE, MINUTE, *range(8), member_id="m-1"),
        ],
    ),
    Case(
        "a member left long after its only commit",
        [until(member(0, 0), 19, MINUTE), commit(1, SECOND, 5, member_id="m-1")],
    ),
    Case(
        "a member fell silent after its only commit, for hardly longer than its session",
        [until(member(0, 0), 19, 15 * SECOND), commit(1, SECOND, 5, member_id="m-1")],
        (("member_timed_out", NOTICE, AMBIGUOUS),),
    ),
    Case(
        "a member that commits every few seconds fell silent for a while",
        [
            until(member(0, 0), 19, 5 * MINUTE),
            *commits(1, SECOND, 5 * SECOND, *range(8), member_id="m-1"),
        ],
        (("member_timed_out", NOTICE, AMBIGUOUS),),
    ),
    Case(
        "a member that committed every second fell silent",
        [until(member(0, 0), 19, 17 * SECOND), *commits(1, SECOND, SECOND, *range(6), member_id="m-1")],
        (("member_timed_out", NOTICE, LIKELY),),
    ),
    Case(
        "commits prolong no session of the consumer protocol",
        [
            until(member(0, 0, group_kind="consumer", session_timeout_ms=None), 19, 48 * SECOND),
            *commits(1, SECOND, SECOND, *range(6), member_id="m-1"),
        ],
        (("member_timed_out", NOTICE, AMBIGUOUS),),
    ),
    Case(
        "a classic member that commits left before its session was over",
        [until(member(0, 0), 19, 15 * SECOND), *commits(1, SECOND, SECOND, *range(6), member_id="m-1")],
    ),
    Case(
        "a static member did not come back",
        [
            until(member(0, 0, instance_id="i", member_epoch=4), 5, SECOND, "changed"),
            until(member(5, SECOND, instance_id="i", member_epoch=-2), 9, 46 * SECOND),
        ],
        (("member_timed_out", NOTICE, LIKELY),),
    ),
    Case(
        "a static member was replaced",
        [
            until(member(0, 0, instance_id="i"), 5, SECOND, "replaced"),
            member(5, SECOND, "m-2", instance_id="i"),
        ],
        (("static_member_replaced", NOTICE, CERTAIN),),
    ),
    Case(
        "a static member had said that it would be back",
        [
            until(member(0, 0, instance_id="i", member_epoch=4), 5, SECOND, "changed"),
            until(member(5, SECOND, instance_id="i", member_epoch=-2), 6, 2 * SECOND, "replaced"),
        ],
    ),
    Case(
        "two fight for an instance id",
        [
            until(member(n, n * SECOND, f"m-{n}", instance_id="i"), n + 1, (n + 1) * SECOND, "replaced")
            for n in range(5)
        ],
        (*(("static_member_replaced", NOTICE, CERTAIN),) * 5, ("instance_conflict", WARNING, AMBIGUOUS)),
    ),
    Case(
        "a client comes and goes",
        [until(member(2 * n, n * MINUTE, f"m-{n}"), 2 * n + 1, n * MINUTE + SECOND) for n in range(5)],
        (("flapping_member", NOTICE, CERTAIN),),
    ),
    Case(
        "a client whose session times out each time, with a longer pause before each round",
        [
            row
            for n in range(5)
            for row in [
                until(member(3 * n, 3 * n * MINUTE, f"m-{n}"), 3 * n + 1, 3 * n * MINUTE + 10 * SECOND)
            ]
        ],
        (("flapping_member", WARNING, CERTAIN), *(("member_timed_out", NOTICE, LIKELY),) * 5),
    ),
    Case(
        "static members that come back under other instance ids",
        [
            *states(group(0, 0, 2), group(5, 6 * MINUTE, 2, generation=2)),
            *(until(member(0, 0, f"m-{n}", instance_id=f"old-{n}"), 5, 6 * MINUTE) for n in range(2)),
            *(member(5, 6 * MINUTE, f"n-{n}", instance_id=f"new-{n}", generation=2) for n in range(2)),
        ],
        (("static_members_renamed", NOTICE, CERTAIN),),
    ),
    Case(
        "static members that come back under other instance ids one after the other",
        [
            member(0, 0, "own"),
            *(
                row
                for n in range(3)
                for row in (
                    until(member(0, 0, f"m-{n}", instance_id=f"old-{n}"), 2 * n + 2, (5 * n + 5) * MINUTE),
                    member(2 * n + 1, (5 * n + 1) * MINUTE, f"n-{n}", instance_id=f"new-{n}"),
                )
            ),
        ],
        (("static_members_renamed", NOTICE, CERTAIN),),
    ),
    Case(
        "static members that come back as themselves",
        [
            *(until(member(0, 0, f"m-{n}", instance_id=f"i-{n}"), 5, 6 * MINUTE) for n in range(2)),
            *(member(6, 7 * MINUTE, f"n-{n}", instance_id=f"i-{n}", generation=2) for n in range(2)),
        ],
    ),
    Case(
        "some static members go and some come, while others stay",
        [
            member(0, 0, "m", instance_id="stays"),
            *(until(member(0, 0, f"m-{n}", instance_id=f"old-{n}"), 5, 6 * MINUTE) for n in range(2)),
            *(member(5, 6 * MINUTE, f"n-{n}", instance_id=f"new-{n}", generation=2) for n in range(2)),
        ],
    ),
    Case("a rebalance that all wait for", _waiting(), (("slow_rebalance", NOTICE, AMBIGUOUS),), _SOON),
    Case(
        "a rebalance that all wait for, and a leap after it: one pause is told once",
        _waiting(offsets=(200, 310, 320)),
        (("slow_rebalance", NOTICE, AMBIGUOUS),),
        _SOON,
    ),
    Case(
        "a generation whose clock is ahead of its group's commits",
        _waiting(after=5 * SECOND - 10 * MINUTE),
        (("stalled", NOTICE, AMBIGUOUS),),
        _SOON,
    ),
    Case("nothing to read before a rebalance, and nothing after it", _waiting(after=4 * MINUTE), given=_SOON),
    Case(
        "nothing that moves after it",
        _waiting(offsets=(90, 90, 90)),
        (("stalled", NOTICE, AMBIGUOUS),),
        _SOON,
    ),
    Case(
        "a rebalance after a pause that is usual",
        _waiting(apart=5 * MINUTE),
        given={"until_after": 61 * MINUTE},
    ),
    Case(
        "a pause in which the group had no members",
        _waiting(empty=True),
        (("group_without_members", NOTICE, CERTAIN),),
        _SOON,
    ),
    Case(
        "many consumers of one name leave at once",
        [until(member(n, 0, f"m-{n}"), 50, SECOND) for n in range(8)],
    ),
    Case("a storm", _generations(20, 10 * SECOND), (("rebalance_storm", WARNING, CERTAIN),)),
    Case("a few rebalances", _generations(11, 10 * SECOND), (("rebalance_storm", NOTICE, CERTAIN),)),
    Case(
        "a rolling restart of many",
        _generations(20, 10 * SECOND, members=10),
        (("rebalance_storm", NOTICE, CERTAIN),),
    ),
    Case("rebalances over days", _generations(20, HOUR)),
    Case(
        "a conversion",
        [group(0, 0, 1, kind="consumer", previous_kind="classic")],
        (("group_converted", NOTICE, CERTAIN),),
    ),
    Case("a simple group gets members", [group(0, 0, 1, previous_kind="simple")]),
    Case(
        "nobody owned a partition",
        [
            LIVING,
            until(member(0, 0, "m-1", assignment=("payments-0", "payments-1")), 5, MINUTE, "changed"),
            member(5, MINUTE, "m-1", assignment=("payments-1",)),
        ],
        (("unowned_partitions", WARNING, CERTAIN),),
    ),
    Case(
        "nobody owned any of the topic, which may be gone",
        [
            LIVING,
            until(member(0, 0, "m-1"), 5, MINUTE, "changed"),
            member(5, MINUTE, "m-1", assignment=()),
            member(0, 0, "m-2", assignment=("b-0",)),
        ],
        (("unowned_partitions", NOTICE, AMBIGUOUS), ("idle_members", NOTICE, CERTAIN)),
    ),
    Case(
        "nobody owned a partition after the group had been stopped",
        [
            *states(LIVING, group(5, MINUTE, 0, generation=2), group(7, 9 * MINUTE, 1, generation=3)),
            until(
                member(0, 0, "m-1", session_timeout_ms=HOUR, assignment=("payments-0", "payments-1")),
                5,
                MINUTE,
            ),
            member(7, 9 * MINUTE, "m-2", session_timeout_ms=HOUR, assignment=("payments-1",)),
        ],
        (("unowned_partitions", WARNING, CERTAIN), ("group_without_members", NOTICE, CERTAIN)),
    ),
    Case(
        "another member asked for it only for a minute",
        [
            LIVING,
            until(
                member(0, 0, "m-1", session_timeout_ms=HOUR, assignment=("payments-0", "payments-1")),
                5,
                MINUTE,
            ),
            until(
                member(5, MINUTE, "m-2", session_timeout_ms=HOUR, assignment=("payments-1",)), 7, 2 * MINUTE
            ),
            _other(0, member_id="m-3"),
        ],
    ),
    Case(
        "members that asked for it took turns",
        [
            LIVING,
            until(
                member(0, 0, "m-1", session_timeout_ms=HOUR, assignment=("payments-0", "payments-1")),
                5,
                MINUTE,
                "changed",
            ),
            until(
                member(5, MINUTE, "m-1", session_timeout_ms=HOUR, assignment=("payments-1",)), 7, 4 * MINUTE
            ),
            member(7, 4 * MINUTE, "m-2", session_timeout_ms=HOUR, assignment=("payments-1",)),
        ],
        (("unowned_partitions", WARNING, CERTAIN),),
        {"until_after": 8 * MINUTE},
    ),
    Case(
        "a partition that was committed has no owner",
        [LIVING, member(0, 0), commit(1, 0, 5), commit(2, 0, 5, partition=1)],
        (("unowned_partitions", WARNING, CERTAIN),),
        {"until_after": 8 * MINUTE},
    ),
    Case(
        "what was committed of a topic that nobody ever had",
        [LIVING, member(0, 0, subscription=(TOPIC, "b")), commit(1, 0, 5), commit(2, 0, 5, topic="b")],
        given={"until_after": 8 * MINUTE},
    ),
    Case(
        "another member got it at once",
        [until(member(0, 0), 5, MINUTE, "changed"), member(5, MINUTE, "m-2")],
    ),
    Case(
        "two applications, one of which comes and goes",
        [*APPLICATION, until(_other(1), 3, 2 * SECOND), until(_other(4, member_id="m-3"), 5, 5 * SECOND)],
        (("mixed_subscriptions", NOTICE, CERTAIN),),
    ),
    Case(
        "two applications side by side",
        [*APPLICATION, _other(1)],
        (("mixed_subscriptions", NOTICE, CERTAIN),),
        {"until_after": 6 * MINUTE},
    ),
    Case(
        "another application joins for a moment",
        [*APPLICATION, until(_other(1), 3, 2 * SECOND)],
        (("mixed_subscriptions", NOTICE, CERTAIN),),
    ),
    Case(
        "nobody owned a partition of what an expression matches",
        [
            LIVING,
            until(_matching(0, 0, f"{TOPIC}-0", f"{TOPIC}-1"), 5, MINUTE, "changed"),
            _matching(5, MINUTE, f"{TOPIC}-1"),
        ],
        (("unowned_partitions", WARNING, CERTAIN),),
    ),
    Case(
        "an expression matches the topic no more",
        [
            LIVING,
            until(_matching(0, 0, f"{TOPIC}-0", "b-0"), 5, MINUTE, "changed"),
            _matching(5, MINUTE, "b-0"),
        ],
    ),
    Case(
        "an application takes the place of one with another topic",
        [until(member(0, 0), 3, 2 * SECOND), _other(1)],
        given={"until_after": HOUR},
    ),
    Case(
        "a member learns a topic of its pattern later than the others",
        [
            LIVING,
            until(member(0, 0), 6, 6 * MINUTE, "changed"),
            member(6, 6 * MINUTE, subscription=(TOPIC, "b")),
            _other(1, subscription=(TOPIC, "b")),
        ],
        given={"until_after": HOUR},
    ),
    Case(
        "a member asks for one topic more, for long",
        [LIVING, member(0, 0), _other(1, subscription=(TOPIC, "b"))],
        (("mixed_subscriptions", NOTICE, CERTAIN),),
        {"until_after": HOUR},
    ),
    Case(
        "partitions were added, and begun at their end",
        _grown(2_444, 2_448, 2_450, 2_455),
        (("started_late", NOTICE, AMBIGUOUS),),
    ),
    Case("partitions were added, and begun at 0", _grown(4, 8, 12, 16)),
    Case("partitions were added, and read as fast as before", _grown(150, 300, 420, 500)),
    Case("partitions were added, and their pace is not known", _grown(2_444, 2_448)),
    Case(
        "partitions were added where records are missing",
        _grown(2_444, 2_448, 2_450, 2_455),
        given={"proven_from": 3},
    ),
    Case("a member got its partitions a moment later", _grown(2_444, 2_448, 2_450, 2_455, after=SECOND)),
    Case(
        "it was committed before a member had it",
        [*_grown(), *commits(15, 9 * MINUTE, MINUTE, 2_444, 2_448, 2_450, 2_455, partition=1)],
    ),
    Case(
        "the group was down",
        states(group(0, 0, 1), group(5, MINUTE, 0, generation=2), group(9, HOUR, 1, generation=3)),
        (("group_without_members", NOTICE, CERTAIN),),
    ),
    Case(
        "a reconciliation took long",
        states(
            group(0, 0, 2, kind="consumer", state="Reconciling", epoch=2, generation=None),
            group(9, 5 * MINUTE, 2, kind="consumer", state="Stable", epoch=2, generation=None),
        ),
        (("slow_reconciliation", WARNING, CERTAIN),),
    ),
    Case(
        "a group stopped",
        [LIVING, *commits(1, 0, SECOND, *range(10), member_id="m-1")],
        (("stalled", NOTICE, AMBIGUOUS),),
    ),
    Case(
        "a group stopped and another reads on",
        [LIVING, *commits(1, 0, SECOND, *range(10))],
        (("stalled", WARNING, LIKELY),),
        {"furthest": {TopicPartition(TOPIC, 0): Furthest(500, "other")}},
    ),
    Case(
        "it stopped, but its usual pause is long",
        [LIVING, *commits(1, 0, 10 * MINUTE, *range(10))],
        given={"until_after": 2 * HOUR},
    ),
    Case(
        "it stood still, and caught up",
        [LIVING, *READING, *commits(20, HOUR, 5 * SECOND, 2_000, 3_000, 3_010, 3_020, 3_030)],
        (("stall_ended", NOTICE, AMBIGUOUS),),
    ),
    Case("it stopped, but has no members", [*EMPTY, *commits(1, 0, SECOND, *range(4))]),
    Case(
        "idle commits", [LIVING, *commits(1, 0, 5 * SECOND, *[7] * 60)], (("idle_commits", NOTICE, CERTAIN),)
    ),
    Case("a flood of commits", commits(1, 0, 20, *range(2_000)), (("commit_flood", NOTICE, CERTAIN),)),
    Case(
        "keys that were committed for a time",
        [
            row._replace(partition=n, to_log_offset=3_000 + n, to_timestamp=START + HOUR, end_cause="deleted")
            for n, row in enumerate(commits(1, 0, MINUTE, *range(1_500)))
        ],
        (("dead_keys", NOTICE, CERTAIN),),
    ),
    Case("large metadata", [commit(1, 0, 5, metadata="x" * 4_000)], (("large_metadata", NOTICE, CERTAIN),)),
    Case("expiry is due", [live(1, 3 * HOUR)], (("expiry_due", NOTICE, LIKELY),)),
    Case("expiry is far", [live(1, 3 * 24 * HOUR), live(2, None)]),
    Case(
        "an offset outlived its group",
        [commit(1, 0, 5, is_effective=False, begin_cause="hidden")],
        (("orphan_offsets", NOTICE, CERTAIN),),
    ),
    Case(
        "another copy lacks an offset",
        [commit(1, 0, 5, to_log_offset=9, to_timestamp=1, end_cause="absent")],
        (("offsets_absent", NOTICE, CERTAIN),),
    ),
    Case(
        "a topic was created again",
        commits(1, 0, SECOND, 5, topic_id="A") + commits(2, SECOND, SECOND, 6, topic_id="B"),
        (("topic_recreated", WARNING, CERTAIN),),
    ),
    Case(
        "a commit brings its own time",
        [commit(1, 0, 5, commit_timestamp=0)],
        (("commit_time_skew", NOTICE, CERTAIN),),
    ),
    Case(
        "the clock went back", [commit(1, HOUR, 5), commit(2, 0, 6)], (("clock_went_back", NOTICE, CERTAIN),)
    ),
    Case("a contradiction", [anomaly(3, 0, "a commit of nobody")], (("contradiction", NOTICE, CERTAIN),)),
    Case("a group elsewhere", [commit(1, 0, 5)], (("group_misplaced", WARNING, LIKELY),), {"partitions": 50}),
    Case(
        "a group in two places, this one is old",
        [commit(1, 0, 5)],
        (("group_misplaced", WARNING, CERTAIN),),
        {"moved": {GROUP: Moved((7, 34), 34)}},
    ),
    Case(
        "a group in two places, this one is its own",
        [commit(1, 0, 5)],
        (),
        {"moved": {GROUP: Moved((3, 7), 7)}},
    ),
    Case(
        "a group in two places, and nothing tells which is old",
        [commit(1, 0, 5)],
        (("group_misplaced", WARNING, CERTAIN),),
        {"moved": {GROUP: Moved((7, 34), None)}},
    ),
    Case(
        "a group in two places, and it is told at the first",
        [commit(1, 0, 5)],
        (),
        {"moved": {GROUP: Moved((3, 7), None)}},
    ),
    Case(
        "commits that were not understood",
        [*commits(1, 0, SECOND, *range(9)), anomaly(20, HOUR, UNREAD + "value: unknown")],
        (("foreign_records", CRITICAL, CERTAIN),),
    ),
    Case(
        "few commits that were not understood",
        [*commits(1, 0, SECOND, *range(10)), anomaly(20, HOUR, UNREAD + "value: unknown")],
        (("foreign_records", WARNING, CERTAIN),),
    ),
)


def check(case: Case) -> None:
    """Check that the rows give these findings and no others, each with its places and without a gap in its title."""
    findings = found(list(case.rows), **case.given)
    assert sorted((each.kind, each.severity, each.confidence) for each in findings) == sorted(case.found)
    for each in findings:
        assert GROUP in each.title and each.evidence[0] == f"7:{each.log_offset}"
        assert "None" not in each.title


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_rows_give_these_findings_and_no_others(case: Case) -> None:
    check(case)


def _idle_among(protocol: str | None, *owned: tuple[str, ...], topics: tuple[str, ...]) -> str:
    """Return the remedy for the idle members of a group, of whose members each has these partitions."""
    members = [
        member(0, 0, f"m-{number}", subscription=topics, assignment=names, client_id=f"c-{number}")
        for number, names in enumerate(owned)
    ]
    [idle] = [
        finding.remedy
        for finding in found([group(0, 0, len(owned), protocol=protocol), *members])
        if finding.kind == "idle_members"
    ]
    return idle


NONE: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("remedy", "words"),
    [
        (
            _idle_among("range", ("a-0", "a-1"), NONE, topics=("a",)),
            "Look at the group's assignor range, which",
        ),
        (_idle_among("range", ("a-0",), NONE, topics=("a",)), "Stop the members"),
        (
            _idle_among("range", ("a-0", "b-0"), NONE, NONE, topics=("a", "b")),
            "Name another assignor than range",
        ),
        (_idle_among("range", ("a-0",), ("a-1",), NONE, topics=("a",)), "Stop the members"),
        (_idle_among("roundrobin", ("a-0",), ("b-0",), NONE, topics=("a", "b")), "Stop the members"),
        (_idle_among("mine", ("a-0", "a-1"), NONE, topics=("a",)), "Look at the group's assignor mine"),
        (_idle_among(None, ("a-0", "a-1"), NONE, topics=("a",)), "Look at the group's assignor, which"),
        (_idle_among("stream", ("a-0", "b-0"), NONE, topics=("a", "b")), "Stop the members"),
        (_idle_among("range", NONE, NONE, topics=("a",)), "Look whether the topics that they ask for exist"),
    ],
)
def test_idle_members_are_told_to_stop_only_where_that_helps(remedy: str, words: str) -> None:
    assert re.match(words, remedy), remedy


@pytest.mark.parametrize(
    ("owned", "words"),
    [
        ((f"{TOPIC}-0", f"{TOPIC}-1"), "Look at the group's assignor, which"),
        ((f"{TOPIC}-0",), "Stop the members"),
    ],
)
def test_idle_members_that_ask_by_an_expression_are_told_the_same(owned: tuple[str, ...], words: str) -> None:
    idle = _matching(0, 0)._replace(member_id="m-2")
    rows = [group(0, 0, 2, kind="consumer"), _matching(0, 0, *owned), idle]
    [remedy] = [finding.remedy for finding in found(rows) if finding.kind == "idle_members"]
    assert remedy.startswith(words)


def test_a_pause_over_which_the_assignor_changed_says_both() -> None:
    """Also where the group had been written empty several times in between."""
    rows = states(
        group(0, 0, 1, protocol="range"),
        group(5, MINUTE, 0),
        group(6, 2 * MINUTE, 0, generation=2),
        group(7, HOUR, 1, generation=3, protocol="cooperative-sticky"),
        group(8, 2 * HOUR, 0),
        group(9, 3 * HOUR, 1, generation=4, protocol="cooperative-sticky"),
    )
    first, second = found([*rows])
    assert first.title.endswith("since then its assignor is cooperative-sticky, before it was range")
    assert "two rolling restarts" in first.remedy
    assert "assignor" not in second.title + second.remedy


def test_different_topics_are_told_with_who_asks_for_them() -> None:
    [finding] = [
        finding
        for finding in found([*APPLICATION, _other(1), _other(1, member_id="m-3", client_id="another")])
        if finding.kind == "mixed_subscriptions"
    ]
    assert finding.title.endswith(": client for payments; other and another for b")
    assert finding.evidence == ("7:1",)
