"""What a storm says of its rebalances: who came and went, second halves, members that only joined again; and what to do then."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from offsets_tool.findings.group_rows import GroupRow
from offsets_tool.findings.membership.storms import REJOINING, STORM
from tests.findings.made import SECOND, TOPIC, found, group, member, states, until

APART = 5 * SECOND


def _held(*numbers: int) -> tuple[str, ...]:
    return tuple(f"{TOPIC}-{number}" for number in numbers)


def _stays(member_id: str, *given: dict[str, Any]) -> list[GroupRow]:
    """Return the rows of a member that is there in each generation, with what it had in each."""
    rows = [
        member(n, n * APART, member_id, client_id=member_id, generation=n + 1, **fields)
        for n, fields in enumerate(given)
    ]
    ended = [
        until(row, after.from_log_offset, (number + 1) * APART, "changed")
        for number, (row, after) in enumerate(pairwise(rows))
    ]
    return [*ended, *rows[-1:]]


def _states(counts: Sequence[int], **given: Any) -> list[GroupRow]:
    return [
        *states(*(group(n, n * APART, count, generation=n + 1, **given) for n, count in enumerate(counts)))
    ]


def _cooperative(rounds: int) -> list[GroupRow]:
    """A member stays, another comes, is given what the first gave up, and leaves: three rebalances each time."""
    counts = [1, *[2, 2, 1] * rounds]
    rows = _states(counts, protocol="cooperative-sticky")
    rows += _stays(
        "a", *({"assignment": _held(0, 1) if n % 3 == 0 else _held(0)} for n in range(len(counts)))
    )
    for n in range(rounds):
        first = 3 * n + 1
        given: dict[str, Any] = {"client_id": "b", "generation": first + 1}
        rows += [
            until(
                member(first, first * APART, f"b-{n}", assignment=(), **given),
                first + 1,
                (first + 1) * APART,
                "changed",
            ),
            until(
                member(first + 1, (first + 1) * APART, f"b-{n}", assignment=_held(1), **given),
                first + 2,
                (first + 2) * APART,
            ),
        ]
    return rows


class Case(NamedTuple):
    """Rows of a group, what the title of its storm has and has not, and the remedy."""

    what: str
    rows: Sequence[GroupRow]
    says: tuple[str, ...]
    never: tuple[str, ...]
    remedy: str


CASES = (
    Case(
        "second halves of cooperative rebalances",
        _cooperative(6),
        (
            "left before 6 and joined before 6",
            "6 handed out what members had given up",
            "b came and went most",
        ),
        ("same members", "a topic"),
        STORM.remedy,
    ),
    Case(
        "the same members all the time",
        [*_states([2] * 20), member(0, 0, "a"), member(0, 0, "b", assignment=())],
        ("19 had the same members as the one before",),
        ("handed out", "a topic", "came and went"),
        REJOINING,
    ),
    Case(
        "workers of Connect, which ask for no topics",
        [
            *_states([1, *[2] * 19], protocol_type="connect", protocol="sessioned"),
            member(0, 0, "a", subscription=(), assignment=()),
            member(1, APART, "b", subscription=(), assignment=()),
        ],
        ("joined before 1", "18 had the same members"),
        ("a topic", "came and went"),
        REJOINING,
    ),
    Case(
        "a member that asks for other topics each time",
        [*_states([1] * 20), *_stays("a", *({"subscription": (TOPIC, f"t-{n}")} for n in range(20)))],
        ("members asked for other topics before 19 of them",),
        ("same members", "came and went"),
        REJOINING,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_what_a_storm_says(case: Case) -> None:
    [storm] = [each for each in found([*case.rows]) if each.kind == STORM.name]
    assert all(text in storm.title for text in case.says), storm.title
    assert not any(text in storm.title for text in (*case.never, "asked for it")), storm.title
    assert storm.remedy == case.remedy
