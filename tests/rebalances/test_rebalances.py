"""What must hold of the rebalances of any log, over corpora; and what made rows come to, by a table."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.group_rows import GroupRow, LogStretch, gather
from offsets_tool.history.rows import MemberHistoryRow
from offsets_tool.rebalances.histories import GroupHistories
from offsets_tool.rebalances.holdings import topic_of
from offsets_tool.rebalances.rebalance import Rebalance
from offsets_tool.rebalances.row_builder import rebalance_rows
from offsets_tool.rebalances.rows import RebalanceRow
from tests.corpora import corpora
from tests.depth import DEEP
from tests.findings.made import (
    GROUP,
    LOG_PARTITION,
    MINUTE,
    SECOND,
    TOPIC,
    commit,
    group,
    member,
    states,
    until,
)
from tests.rebalances.rebalances_found import rebalances_found, rebalances_with_rows
from tests.replay.random_logs import READERS, RandomLog, segment

CORPORA: Final = corpora("2.4.1-mix", "4.3.1-classic")


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda path: path.name)
def test_a_row_says_what_it_is(corpus: Path) -> None:
    holds_for(rebalances_found(corpus))


@pytest.mark.parametrize("seed", range(40 if DEEP else 2))
@pytest.mark.parametrize("release", ["2.8.2", "4.3.1"])
def test_so_does_a_row_of_a_random_log(release: str, seed: int, tmp_path: Path) -> None:
    log = RandomLog(seed, READERS[release], disorder=0.1 * (seed % 2)).grow(300)
    path = tmp_path / "segments" / "__consumer_offsets-3" / f"{0:020d}.log"
    path.parent.mkdir(parents=True)
    path.write_bytes(segment(log.placed))
    rows = rebalances_found(tmp_path)
    assert rows
    holds_for(rows)


def holds_for(rows: Sequence[RebalanceRow]) -> None:
    """Assert what must hold of the rebalances of any log."""
    for row in rows:
        assert (row.generation is None) != (row.epoch is None)
        assert (row.duration_ms is None) == (row.duration_method is None)
        assert row.duration_ms is None or row.duration_ms >= 0
        assert row.to_log_offset is None or (row.from_log_offset or 0) <= row.to_log_offset
        assert (row.moved or 0) >= (row.least_moves or 0) >= 0
        assert (row.partitions or 0) >= (row.moved or 0)
        if row.cause != "unknown":
            assert (row.confidence == Confidence.AMBIGUOUS) <= bool(row.alternatives), row
        assert row.cause not in row.alternatives
        assert (row.cause in ("member_joined", "member_left")) <= bool(
            row.joined or row.left or row.confidence == Confidence.AMBIGUOUS
        ), row


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda path: path.name)
def test_who_came_and_went_adds_up(corpus: Path) -> None:
    """From one rebalance to the next: the members, those that came and those that went."""
    for rows, found in rebalances_with_rows(corpus):
        for before, after in pairwise(found):
            is_made_again = after.step.before is None or before.number >= after.number
            if after.step.first < rows.proven_from or is_made_again:
                continue
            members = {*before.holdings.after, *after.comings.joined, *_heirs(rows, after)}
            gone = {*after.comings.left, *after.comings.replaced}
            assert members - gone == after.holdings.after.keys(), (rows.group, after.number)


def _heirs(rows: GroupHistories, each: Rebalance) -> set[str]:
    names = {rows.by_member[gone][-1].instance_id for gone in each.comings.replaced}
    return {of for of, row in each.holdings.after.items() if row.instance_id in names}


class Case(NamedTuple):
    """Rows of one group, and fields of the last rebalance that they come to."""

    what: str
    rows: Sequence[GroupRow]
    expected: dict[str, Any]


def _held(log_offset: int, after: int, name: str, *numbers: int, **given: Any) -> Any:
    return member(
        log_offset, after, name, assignment=tuple(f"{TOPIC}-{number}" for number in numbers), **given
    )


def _handed_over(protocol: str, asked: str = TOPIC) -> list[GroupRow]:
    """Return three generations: in the second, a gives partition 1 up and asks for a topic; before the third, c is gone."""
    return [
        *states(
            *(
                group(n, n * SECOND, 3 - n // 2, generation=n + 1, protocol=protocol, leader="a")
                for n in range(3)
            )
        ),
        until(_held(0, 0, "a", 0, 1), 1, SECOND, "changed"),
        _held(1, SECOND, "a", 0, generation=2, subscription=(asked,)),
        _held(0, 0, "b"),
        until(_held(0, 0, "c", 2), 2, 2 * SECOND),
    ]


TWO = [
    group(0, 0, 2, protocol="range", leader="a"),
    group(9, MINUTE, 2, generation=2, protocol="range", leader="a"),
]
CASES: Final = (
    Case(
        "the first generation has nothing before it",
        [group(0, 0, 1), _held(0, 0, "a", 0)],
        {"cause": "member_joined", "confidence": "certain", "duration_ms": None, "moved": 0, "unowned": 0},
    ),
    Case(
        "a member joined, and all gave up what they had",
        [
            *states(group(0, 0, 1, protocol="range"), group(9, MINUTE, 2, generation=2, protocol="range")),
            until(_held(0, 0, "a", 0, 1), 9, MINUTE, "changed"),
            _held(9, MINUTE, "a", 0, generation=2),
            _held(9, MINUTE, "b", 1, generation=2),
            commit(5, 50 * SECOND, 10, member_id="a"),
        ],
        {
            "cause": "member_joined",
            "from_log_offset": 5,
            "duration_ms": 10 * SECOND,
            "duration_method": "last_sign",
            "moved": 1,
            "least_moves": 1,
            "unowned": 2,
        },
    ),
    Case(
        "a member was silent for its session timeout",
        [
            *states(group(0, 0, 2), group(9, 10 * SECOND, 1, generation=2)),
            until(_held(0, 0, "a", 0), 9, 10 * SECOND),
            until(_held(0, 0, "b", 1), 9, 10 * SECOND, "changed"),
            _held(9, 10 * SECOND, "b", 0, 1, generation=2),
        ],
        {"cause": "session_expired", "confidence": "likely", "alternatives": ("member_left",), "moved": 1},
    ),
    Case(
        "a member left soon after its last sign",
        [
            *states(group(0, 0, 2), group(9, SECOND, 1, generation=2)),
            until(_held(0, 0, "a", 0), 9, SECOND),
            until(_held(0, 0, "b", 1), 9, SECOND, "changed"),
            _held(9, SECOND, "b", 0, 1, generation=2),
        ],
        {"cause": "member_left", "confidence": "certain", "alternatives": ()},
    ),
    Case(
        "a member left that a rebalance may have waited for in vain",
        [
            *states(group(0, 0, 2), group(9, 3 * SECOND, 1, generation=2)),
            until(_held(0, 0, "a", 0, rebalance_timeout_ms=2 * SECOND), 9, 3 * SECOND),
            until(_held(0, 0, "b", 1), 9, 3 * SECOND, "changed"),
            _held(9, 3 * SECOND, "b", 0, 1, generation=2),
        ],
        {"cause": "member_left", "confidence": "likely", "alternatives": ("rebalance_timeout",)},
    ),
    Case(
        "a member of KIP-848 kept what it was to give up until it was removed",
        [
            *states(
                group(0, 0, 2, kind="consumer", generation=None, epoch=1, assignment_epoch=1),
                group(9, MINUTE, 1, kind="consumer", generation=None, epoch=2, assignment_epoch=1),
            ),
            until(
                _held(
                    0,
                    0,
                    "a",
                    pending_revocation=(f"{TOPIC}-0",),
                    rebalance_timeout_ms=50 * SECOND,
                    session_timeout_ms=None,
                ),
                9,
                MINUTE,
            ),
            _held(0, 0, "b", 1),
        ],
        {"cause": "rebalance_timeout", "confidence": "likely", "alternatives": ("member_left",)},
    ),
    Case(
        "a member left and another came: nobody knows which was first",
        [
            *states(group(0, 0, 1), group(9, SECOND, 1, generation=2)),
            until(_held(0, 0, "a", 0), 9, SECOND),
            _held(9, SECOND, "b", 0, generation=2),
        ],
        {"cause": "member_left", "confidence": "ambiguous", "alternatives": ("member_joined",), "moved": 1},
    ),
    Case(
        "a static member was replaced: its partitions stay where they were",
        [
            *states(group(0, 0, 1), group(9, SECOND, 1, generation=2)),
            until(_held(0, 0, "a", 0, instance_id="i"), 9, SECOND, "replaced"),
            _held(9, SECOND, "b", 0, generation=2, instance_id="i"),
        ],
        {"cause": "static_member_replaced", "joined": (), "left": (), "moved": 0},
    ),
    Case(
        "a member asks for other topics",
        [
            *states(group(0, 0, 1), group(9, SECOND, 1, generation=2)),
            until(_held(0, 0, "a", 0), 9, SECOND, "changed"),
            _held(9, SECOND, "a", 0, generation=2, subscription=("other", TOPIC)),
        ],
        {"cause": "member_resubscribed", "confidence": "certain"},
    ),
    Case(
        "the topic has a partition more",
        [
            *states(group(0, 0, 1, protocol="range"), group(9, SECOND, 1, generation=2, protocol="range")),
            until(_held(0, 0, "a", 0), 9, SECOND, "changed"),
            _held(9, SECOND, "a", 0, 1, generation=2),
        ],
        {"cause": "topics_changed", "confidence": "certain", "moved": 0, "new_partitions": 1},
    ),
    Case(
        "the same members as before",
        [
            *states(*TWO),
            until(_held(0, 0, "a", 0), 9, MINUTE, "changed"),
            _held(9, MINUTE, "a", 0, generation=2),
        ],
        {"cause": "member_rejoined", "confidence": "likely"},
    ),
    Case(
        "generations between left no record: somebody may have come and gone",
        [
            *states(group(0, 0, 1), group(9, SECOND, 1, generation=4)),
            until(_held(0, 0, "a", 0), 9, SECOND, "changed"),
            _held(9, SECOND, "a", 0, generation=4),
        ],
        {"cause": "member_rejoined", "skipped": 2, "alternatives": ("member_joined", "member_left")},
    ),
    Case(
        "what was given up the last time is handed out",
        [
            *states(
                *(group(n, n * SECOND, 2, generation=n + 1, protocol="cooperative-sticky") for n in range(3))
            ),
            until(_held(0, 0, "a", 0, 1), 1, SECOND, "changed"),
            until(_held(1, SECOND, "a", 0, generation=2), 2, 2 * SECOND, "changed"),
            until(_held(1, SECOND, "b", generation=2), 2, 2 * SECOND, "changed"),
            _held(2, 2 * SECOND, "a", 0, generation=3),
            _held(2, 2 * SECOND, "b", 1, generation=3),
        ],
        {"cause": "partitions_given_up", "moved": 1, "least_moves": 1, "unowned": 0},
    ),
    Case(
        "a member went while others gave partitions up: nobody knows which of both came first",
        _handed_over("cooperative-sticky"),
        {"cause": "member_left", "confidence": "ambiguous", "alternatives": ("partitions_given_up",)},
    ),
    Case(
        "but members that give all up before each rebalance do not join again for that",
        _handed_over("range"),
        {"cause": "member_left", "confidence": "certain", "alternatives": ()},
    ),
    Case(
        "nor is a topic given up that a member does not ask for any more",
        _handed_over("cooperative-sticky", asked="other"),
        {"cause": "member_left", "confidence": "certain", "alternatives": ()},
    ),
)


def _of_one_member(
    kind: str, protocol: str | None, before: Sequence[str], after: Sequence[str]
) -> list[GroupRow]:
    """Return rows of a group whose only member has other partitions or tasks after a rebalance, and asks for the same topics."""
    has_epochs = kind != "classic"
    given: dict[str, Any] = {"kind": kind, "protocol": protocol} | (
        {"generation": None} if has_epochs else {}
    )
    numbers = [{"epoch": n, "assignment_epoch": n} if has_epochs else {"generation": n} for n in (1, 2)]
    groups = [group(9 * n, n * MINUTE, 1, leader="a", **given, **number) for n, number in enumerate(numbers)]
    members = [
        member(
            9 * n,
            n * MINUTE,
            "a",
            group_kind=kind,
            generation=None if has_epochs else n + 1,
            member_epoch=n + 1 if has_epochs else None,
            subscription=(),
            assignment=tuple(held),
            target_assignment=tuple(held) if has_epochs else (),
        )
        for n, held in enumerate((before, after))
    ]
    return [*states(*groups), until(members[0], 9, MINUTE, "changed"), members[1]]


@pytest.mark.parametrize(
    ("kind", "protocol", "before", "after", "confidence"),
    [
        ("classic", "range", ["t-0"], ["t-0", "t-1"], "certain"),
        ("classic", "range", ["a-1-0"], ["a-1-0", "a-1-1"], "certain"),
        ("classic", "range", ["a-1-0"], ["a-1-0", "a-2-0"], "likely"),
        ("classic", "range", ["a_1-0"], ["a_1-0", "a_2-0"], "likely"),
        ("classic", "range", ["1-0"], ["1-0", "2-0"], "likely"),
        ("classic", "only-hot-partitions", ["t-0"], ["t-0", "t-1"], "likely"),
        ("consumer", "uniform", ["t-0"], ["t-0", "t-1"], "certain"),
        ("consumer", "uniform", ["t-0"], ["t-0", "u-0"], "likely"),
        ("streams", None, ["0_0"], ["0_0", "1_0"], "likely"),
        ("streams", None, ["0_0"], ["0_0", "0_1"], "likely"),
        ("streams", None, ["first-part_0"], ["first-part_0", "first-part_1"], "likely"),
        ("streams", None, ["first-part_0"], ["first-part_0", "other-part_0"], "likely"),
    ],
)
def test_topics_changed_for_certain_only_where_a_topic_has_more_partitions(
    kind: str, protocol: str | None, before: Sequence[str], after: Sequence[str], confidence: str
) -> None:
    """Any other topic, or more tasks, may be a subscription by a pattern, an assignor of the user's, or another topology."""
    row = _last(_of_one_member(kind, protocol, before, after))
    assert (row.cause, row.confidence) == ("topics_changed", confidence)


def test_a_partition_that_was_a_target_before_is_not_new() -> None:
    """The member had not been given it yet when the next epoch began."""
    first, second, *members = _of_one_member("consumer", "uniform", ["t-0"], ["t-0", "t-1"])
    before, after = members
    assert isinstance(before, MemberHistoryRow)
    row = _last([first, second, before._replace(target_assignment=("t-0", "t-1")), after])
    assert (row.cause, row.confidence) == ("topics_changed", "likely")


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("t-0", "t"),
        ("a-1-12", "a-1"),
        ("a_1-0", "a_1"),
        ("1-2", "1"),
        ("0_3", "0"),
        ("first-part_10", "first-part"),
    ],
)
def test_the_topic_of_a_partition_and_the_subtopology_of_a_task(name: str, topic: str) -> None:
    assert topic_of(name) == topic


def _last(rows: Sequence[GroupRow], proven_from: int = 0) -> RebalanceRow:
    gathered = gather(rows, LogStretch(LOG_PARTITION, proven_from))[GROUP]
    return list(rebalance_rows(gathered, None))[-1]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_what_rows_come_to(case: Case) -> None:
    found = _last(case.rows)._asdict()
    assert {name: found[name] for name in case.expected} == case.expected


def test_where_records_are_missing_nobody_knows_who_came() -> None:
    """Generation 7 of a log that compaction took the others from."""
    row = _last([group(9, 0, 1, generation=7), _held(9, 0, "a", 0, generation=7)], proven_from=20)
    assert (row.cause, row.confidence, row.joined) == ("unknown", "ambiguous", ())


def test_a_member_that_keeps_what_it_is_to_give_up_holds_the_others_back() -> None:
    given: dict[str, Any] = {"kind": "consumer", "generation": None}
    epochs = states(
        group(0, 0, 1, epoch=1, assignment_epoch=1, **given),
        group(5, SECOND, 2, epoch=2, assignment_epoch=2, state="Reconciling", **given),
        group(8, 31 * SECOND, 2, epoch=2, assignment_epoch=2, **given),
    )
    of_kind: dict[str, Any] = {"group_kind": "consumer", "generation": None, "session_timeout_ms": None}
    rows = [
        *epochs,
        until(_held(0, 0, "a", 0, 1, member_epoch=1, member_state="STABLE", **of_kind), 6, SECOND, "changed"),
        until(
            _held(
                6,
                SECOND,
                "a",
                0,
                pending_revocation=(f"{TOPIC}-1",),
                member_state="UNREVOKED_PARTITIONS",
                **of_kind,
            ),
            7,
            30 * SECOND,
            "changed",
        ),
        _held(7, 30 * SECOND, "a", 0, member_epoch=2, member_state="STABLE", **of_kind),
        until(
            _held(5, SECOND, "b", member_epoch=2, member_state="STABLE", **of_kind), 8, 31 * SECOND, "changed"
        ),
        _held(8, 31 * SECOND, "b", 1, member_epoch=2, member_state="STABLE", **of_kind),
    ]
    row = _last(rows)
    assert (row.epoch, row.outcome, row.duration_ms, row.moved, row.unowned) == (
        2,
        "settled",
        30 * SECOND,
        1,
        1,
    )
    assert [(each.member_id, each.partitions, each.held_ms) for each in row.held_back] == [
        ("a", (f"{TOPIC}-1",), 29 * SECOND)
    ]
