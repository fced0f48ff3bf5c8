"""What is said of offsets that moved: whose they were, sums that say so, one finding a deed, how bad it is, and its rebalance."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offsets_tool.findings.group_rows import GroupRow
from offsets_tool.findings.offsets.handovers import HANDOVER
from offsets_tool.findings.rows import Finding
from offsets_tool.history.rows import GroupHistoryRow, MemberHistoryRow, OffsetHistoryRow
from offsets_tool.server_log.clocks import FileClock
from offsets_tool.server_log.join import JoinedFile, ServerLog
from offsets_tool.server_log.parse import ServerLogFile
from offsets_tool.server_log.server_line import LineKind, ServerLine
from tests.depth import DEEP
from tests.findings.made import (
    GROUP,
    HOUR,
    MINUTE,
    SECOND,
    START,
    TOPIC,
    commit,
    commits,
    found,
    group,
    member,
    states,
    until,
)

KINDS: Final = ("rewind", "jump", "reset")


class Said(NamedTuple):
    """Rows of a group; the kinds, severities and confidences of what moved, and what the titles say and do not."""

    what: str
    rows: Sequence[GroupRow]
    found: tuple[tuple[str, str, str], ...]
    says: tuple[str, ...] = ()
    says_not: tuple[str, ...] = ()
    given: Mapping[str, Any] = MappingProxyType({})
    is_of_rebalance: bool = False


def _names(*partitions: int) -> tuple[str, ...]:
    return tuple(f"{TOPIC}-{partition}" for partition in partitions)


def _owner(member_id: str, *partitions: int, at: int = 0, after: int = 0, **fields: Any) -> MemberHistoryRow:
    return member(
        at, after, member_id, **{"client_id": member_id, "assignment": _names(*partitions), **fields}
    )


def _read(partition: int, member_id: str | None, *, first: int = 1, step: int = 10) -> list[OffsetHistoryRow]:
    """Return ten commits of a partition from log offset `first` on, a second apart."""
    return commits(
        first, 0, SECOND, *range(0, 10 * step, step), partition=partition, member_id=member_id, generation=1
    )


def _moved(
    log_offset: int, after: int, partition: int, delta: int, member_id: str | None, **fields: Any
) -> OffsetHistoryRow:
    return commit(
        log_offset,
        after,
        90 + delta,
        **{"partition": partition, "delta": delta, "member_id": member_id, **fields},
    )


ONE_HOUR: Final = [group(0, 0, 1)]
A: Final = _owner("a", 0, 1)
B: Final = _owner("b", 2, 3)
TWO: Final = [group(0, 0, 2), A, B]
"""Two members, who own two partitions each."""
READ: Final = [row for at, owner in enumerate("aabb") for row in _read(at, owner, first=1 + 20 * at)]
"""What they have read."""
NOTICE, WARNING = "notice", "warning"
CERTAIN, LIKELY, AMBIGUOUS = "certain", "likely", "ambiguous"


def _handed_over(*, from_: str = "a", to: str = "b", protocol: str = "range") -> list[GroupRow]:
    """Return two generations: of the two partitions that one member had, the other has partition 1 from the second on."""
    after = 30 * SECOND
    return [
        *states(group(0, 0, 2, protocol=protocol), group(100, after, 2, generation=2, protocol=protocol)),
        until(_owner(from_, 0, 1), 100, after, "changed"),
        _owner(from_, 0, at=100, after=after, generation=2),
        until(_owner(to), 100, after, "changed"),
        _owner(to, 1, at=100, after=after, generation=2),
    ]


def _scaled_out(*leaps: tuple[int, int], protocol: str = "range", **fields: Any) -> list[GroupRow]:
    """Return two generations: partitions 2 and 3 go to a new member, which commits these deltas of partitions next."""
    after = 20 * SECOND
    return [
        *states(group(0, 0, 1, protocol=protocol), group(100, after, 2, generation=2, protocol=protocol)),
        until(_owner("a", 0, 1, 2, 3), 100, after, "changed"),
        _owner("a", 0, 1, at=100, after=after, generation=2),
        _owner("b", 2, 3, at=100, after=after, generation=2),
        *(row for at in range(4) for row in _read(at, "a", first=1 + 20 * at)),
        *(
            _moved(101 + number, after + SECOND, at, delta, "b", generation=2, **fields)
            for number, (at, delta) in enumerate(leaps)
        ),
    ]


def _again(times: int) -> list[GroupRow]:
    """Return a member that keeps partition 0 over rebalances, and leaps after so many of them."""
    rows: list[Any] = [_owner("a", 0), *_read(0, "a")]
    generations = [group(0, 0, 1)]
    for number in range(times):
        log_offset, after = 100 * (number + 1), (number + 1) * 10 * MINUTE
        generations.append(group(log_offset, after, 1, generation=number + 2))
        before = commits(log_offset - 20, after - 10 * SECOND, SECOND, *range(0, 100, 10), member_id="a")
        rows += [*before, _moved(log_offset + 1, after + SECOND, 0, 500, "a", generation=number + 2)]
    return [*states(*generations), *rows]


def _preparing(at: int, generation: int) -> ServerLog:
    line = ServerLine(
        LineKind.PREPARING,
        "server.log",
        7,
        START + at,
        group=GROUP,
        number=generation,
        reason="Adding new member c with group instance id None",
    )
    file = ServerLogFile("server.log")
    file.entries.append(line)
    return ServerLog([JoinedFile(file, FileClock(0, 0, 1, True, False, {}))])


EPOCHS: Final = [
    *states(
        group(0, 0, 1, kind="consumer", epoch=1, generation=None),
        group(50, 20 * SECOND, 2, kind="consumer", epoch=2, generation=None),
    ),
    until(_owner("a", 0, 1, group_kind="consumer", generation=None), 50, 20 * SECOND, "changed"),
    _owner(
        "a", 0, at=50, after=20 * SECOND, pending_revocation=_names(1), group_kind="consumer", generation=None
    ),
    *_read(1, "a"),
]

CASES: Final = (
    Said(
        "one request that went back and ahead in turn",
        [
            *(row for at in range(4) for row in _read(at, None, first=1 + 20 * at)),
            *(
                _moved(100 + at, MINUTE, at, delta, None, commit_timestamp=START + MINUTE)
                for at, delta in enumerate((-20, 5_000, -30, -40))
            ),
        ],
        (("rewind", NOTICE, CERTAIN), ("jump", NOTICE, LIKELY)),
        (r"3 offsets .* moved 90 back in all at", r"1 offset .* in partition 1 moved 5,000 ahead at"),
    ),
    Said(
        "as far in each partition",
        [*TWO, *READ, *(_moved(100 + at, MINUTE, at, -20, "a") for at in (0, 1))],
        (("rewind", NOTICE, CERTAIN),),
        (
            r"2 offsets .* moved 40 back in all \(20 each\) at .*, by a member of the group; a owned the partitions$",
        ),
    ),
    Said(
        "partitions of two owners",
        [*TWO, *READ, *(_moved(100 + at, MINUTE, at, -20, owner) for at, owner in enumerate("aabb"))],
        (("rewind", NOTICE, CERTAIN),),
        (r"by members of the group; a owned partitions 0 and 1, b partitions 2 and 3$",),
    ),
    Said(
        "more partitions than are named, of two owners",
        [
            group(0, 0, 2),
            _owner("a", *range(6)),
            _owner("b", 6, 7),
            *(row for at, owner in enumerate("aaaaaabb") for row in _read(at, owner, first=1 + 20 * at)),
            *(_moved(200 + at, MINUTE, at, -20, owner) for at, owner in enumerate("aaaaaabb")),
        ],
        (("rewind", NOTICE, CERTAIN),),
        (r"by members of the group; a owned 6 partitions, b partitions 6 and 7$",),
    ),
    Said(
        "the owner of one is not known, and nobody owned another",
        [
            *TWO,
            *READ,
            _moved(100, MINUTE, 0, -20, None, is_owner_known=False),
            _moved(101, MINUTE, 1, -20, None),
            _moved(102, MINUTE, 2, -20, "b"),
        ],
        (("rewind", NOTICE, CERTAIN),),
        (r"; unknown members owned partition 0, nobody partition 1, b partition 2$",),
    ),
    Said(
        "one whose owner is not known",
        [*TWO, *READ, _moved(100, MINUTE, 0, -20, None, is_owner_known=False)],
        (("rewind", NOTICE, CERTAIN),),
        (r"; who owned the partition is not known$",),
        ("nobody",),
    ),
    Said(
        "a member is called as an operator knows it",
        [
            group(0, 0, 1),
            _owner("id-1", 0, client_id="reader"),
            *_read(0, "id-1"),
            _moved(50, MINUTE, 0, -20, "id-1"),
        ],
        (("rewind", NOTICE, CERTAIN),),
        (r"; reader owned the partition$",),
    ),
    Said(
        "two of one client id are told apart by their hosts",
        [
            group(0, 0, 2),
            _owner("id-1", 0, client_id="reader", client_host="/10.0.0.1"),
            _owner("id-2", 1, client_id="reader", client_host="/10.0.0.2"),
            *_read(0, "id-1"),
            _moved(50, MINUTE, 0, -20, "id-1"),
        ],
        (("rewind", NOTICE, CERTAIN),),
        (r"; reader on 10\.0\.0\.1 owned the partition$",),
    ),
    Said(
        "a static member is called by its instance",
        [
            group(0, 0, 1),
            _owner("id-1", 0, instance_id="pod-1"),
            *_read(0, "id-1"),
            _moved(50, MINUTE, 0, -20, "id-1"),
        ],
        (("rewind", NOTICE, CERTAIN),),
        (r"; pod-1 owned the partition$",),
    ),
    Said(
        "many records are read again",
        [*ONE_HOUR, A, *_read(0, "a", step=5_000), _moved(50, MINUTE, 0, -200_000, "a")],
        (("rewind", WARNING, CERTAIN),),
    ),
    Said(
        "many records are no more than two steps of a group that reads fast",
        [*ONE_HOUR, A, *_read(0, "a", step=100_000), _moved(50, MINUTE, 0, -200_000, "a")],
        (("rewind", NOTICE, CERTAIN),),
    ),
    Said(
        "ten thousand records are many",
        [*ONE_HOUR, A, *_read(0, "a"), _moved(50, MINUTE, 0, -10_000, "a")],
        (("rewind", WARNING, CERTAIN),),
    ),
    Said(
        "one less are not",
        [*ONE_HOUR, A, *_read(0, "a"), _moved(50, MINUTE, 0, -9_999, "a")],
        (("rewind", NOTICE, CERTAIN),),
    ),
    Said(
        "many records are skipped",
        [*ONE_HOUR, A, *_read(0, "a"), _moved(50, MINUTE, 0, 300_000, "a")],
        (("jump", WARNING, LIKELY),),
    ),
    Said(
        "many records came while nobody read",
        [*ONE_HOUR, A, *_read(0, "a"), _moved(50, 9 * HOUR, 0, 300_000, "a")],
        (("jump", NOTICE, LIKELY),),
        given={"until_after": 9 * HOUR},
    ),
    Said(
        "the new owner went back",
        [*_handed_over(), *_read(1, "a"), _moved(101, 31 * SECOND, 1, -40, "b", generation=2)],
        (("rewind", NOTICE, CERTAIN),),
        (
            r"; b owned the partition: its first commit after it took the partition over from a with generation 2$",
        ),
        is_of_rebalance=True,
    ),
    Said(
        "the new owner had committed before it went back",
        [
            *_handed_over(),
            *_read(1, "a"),
            commit(101, 31 * SECOND, 100, partition=1, delta=10, member_id="b"),
            _moved(102, 32 * SECOND, 1, -40, "b", generation=2),
        ],
        (("rewind", NOTICE, CERTAIN),),
        says_not=("rebalance", "generation", "took"),
    ),
    Said(
        "the owner kept the partition over a rebalance",
        [*_handed_over(), *_read(0, "a"), _moved(101, 31 * SECOND, 0, -40, "a", generation=2)],
        (("rewind", NOTICE, CERTAIN),),
        (r"; a owned the partition: its first commit after the rebalance to generation 2$",),
        is_of_rebalance=True,
    ),
    Said(
        "the old owner went back just before it gave the partition up",
        [*_handed_over(), *_read(1, "a"), _moved(99, 29 * SECOND, 1, -40, "a", generation=1)],
        (("rewind", NOTICE, CERTAIN),),
        (r"; a owned the partition: its last commit before b took the partition over with generation 2$",),
        is_of_rebalance=True,
    ),
    Said(
        "the owner went back, committed again, and gave the partition up later",
        [
            *_handed_over(),
            *_read(1, "a"),
            _moved(98, 28 * SECOND, 1, -40, "a", generation=1),
            commit(99, 29 * SECOND, 60, partition=1, delta=10, member_id="a"),
        ],
        (("rewind", NOTICE, CERTAIN),),
        says_not=("took",),
    ),
    Said(
        "the broker had begun to prepare a rebalance, over which the owner kept the partition",
        [*_handed_over(), *_read(0, "a"), _moved(99, 29 * SECOND, 0, -40, "a", generation=1)],
        (("rewind", NOTICE, CERTAIN),),
        (r": while the broker prepared the rebalance to generation 2, as the broker's log says$",),
        given={"server_log": _preparing(25 * SECOND, 1)},
        is_of_rebalance=True,
    ),
    Said(
        "the broker began to prepare it afterwards",
        [*_handed_over(), *_read(0, "a"), _moved(99, 20 * SECOND, 0, -40, "a", generation=1)],
        (("rewind", NOTICE, CERTAIN),),
        says_not=("rebalance",),
        given={"server_log": _preparing(25 * SECOND, 1)},
    ),
    Said(
        "a member of KIP-848 had the partition to give up",
        [*EPOCHS, _moved(51, 21 * SECOND, 1, -40, "a", generation=None, group_epoch=2)],
        (("rewind", NOTICE, CERTAIN),),
        (r"; a owned the partition: while it had to give the partition up$",),
        is_of_rebalance=True,
    ),
    Said(
        "a new owner skipped two partitions",
        _scaled_out((2, 400), (3, 410)),
        (("jump", NOTICE, AMBIGUOUS),),
        (
            r"2 offsets .* moved 810 ahead in all at .*; b owned the partitions: the first commits after the partitions changed",
        ),
        is_of_rebalance=True,
    ),
    Said("one alone may be a burst", _scaled_out((2, 400)), ()),
    Said("some steps are no leap", _scaled_out((2, 50), (3, 60)), ()),
    Said(
        "a new owner that is faster reads what had waited, in several large steps",
        _scaled_out((2, 400), (3, 410), (2, 390), (3, 420)),
        (),
    ),
    Said(
        "the group was down, and what had come meanwhile is read at once",
        [
            *states(
                group(0, 0, 1),
                group(90, 20 * SECOND, 0, generation=2),
                group(100, 10 * MINUTE, 1, generation=3),
            ),
            until(_owner("a", 0, 1), 90, 20 * SECOND),
            _owner("b", 0, 1, at=100, after=10 * MINUTE, generation=3),
            *_read(0, "a"),
            *_read(1, "a", first=21),
            *(_moved(101 + at, 10 * MINUTE + SECOND, at, 900, "b", generation=3) for at in (0, 1)),
        ],
        (),
    ),
    Said("after two rebalances a single partition may have had two bursts", _again(2), ()),
    Said(
        "a partition that leaps after each rebalance",
        _again(3),
        (("jump", NOTICE, AMBIGUOUS),) * 3,
        (r"its first commit after the rebalance to generation 4$",),
        given={"until_after": HOUR},
        is_of_rebalance=True,
    ),
)


def _moves(case: Said) -> list[Finding]:
    return [
        each
        for each in found(list(case.rows), **{"until_after": 2 * MINUTE, **case.given})
        if each.kind in KINDS
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_what_is_said_of_a_move(case: Said) -> None:
    moves = _moves(case)
    assert sorted((each.kind, each.severity, each.confidence) for each in moves) == sorted(case.found)
    titles = [each.title for each in moves]
    for pattern in case.says:
        assert any(re.search(pattern, title) for title in titles), titles
    for word in case.says_not:
        assert not any(word in title for title in titles), titles
    for each in moves:
        assert (each.remedy == HANDOVER) == case.is_of_rebalance


@st.composite
def _deeds(draw: st.DrawFn) -> dict[int, tuple[str, int]]:
    """Return, by partition, its owner and how far it moved."""
    deltas = st.sampled_from([-30, -20, -20, 5_000, 7_000])
    partitions = draw(st.lists(st.integers(0, 9), min_size=1, unique=True))
    return {at: (draw(st.sampled_from("abcde")), draw(deltas)) for at in partitions}


@settings(max_examples=400 if DEEP else 60, deadline=None)
@given(_deeds())
def test_a_deed_is_one_finding_for_each_direction_and_its_title_is_true(
    deed: dict[int, tuple[str, int]],
) -> None:
    owned = defaultdict[str, list[int]](list)
    for at, (owner, _) in deed.items():
        owned[owner].append(at)
    rows: list[GroupHistoryRow | MemberHistoryRow | OffsetHistoryRow] = [group(0, 0, len(owned))]
    rows += [_owner(owner, *partitions) for owner, partitions in owned.items()]
    for number, (at, (owner, delta)) in enumerate(deed.items()):
        rows += [*_read(at, owner, first=1 + 20 * number), _moved(1_000 + number, MINUTE, at, delta, owner)]
    moves = [each for each in found(list(rows), until_after=2 * MINUTE) if each.kind in KINDS]
    directions = {delta > 0 for _, delta in deed.values()}
    assert len(moves) == len(directions)
    for each in moves:
        mine = {at: of for at, of in deed.items() if (of[1] > 0) == (each.kind == "jump")}
        total = sum(abs(delta) for _, delta in mine.values())
        sums = r" in all" if len(mine) > 1 else ""
        assert re.search(rf"^{len(mine)} offsets? .* moved {total:,} (back|ahead){sums}", each.title), (
            each.title
        )
        _check_owners(each.title.partition("; ")[2], mine)


def _check_owners(said: str, mine: Mapping[int, tuple[str, int]]) -> None:
    """Check that each owner that is named owned just the partitions that stand beside its name."""
    owners = {owner for owner, _ in mine.values()}
    if len(owners) == 1:
        assert said == f"{owners.pop()} owned the partition{'s' if len(mine) > 1 else ''}"
        return
    for part in re.split(r", (?=[a-e] |\d others)", said):
        owner, _, text = part.replace(" owned", "").partition(" ")
        if text == "others the rest":
            continue
        partitions = {at for at, (name, _) in mine.items() if name == owner}
        numbers = {int(number) for number in re.findall(r"\d+", text)}
        assert numbers == (partitions if text.startswith("partition") else {len(partitions)}), said
