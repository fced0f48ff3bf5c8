"""What a broker's line makes certain, and what it leaves to the records: a member that joins again may have many reasons."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.findings.group_rows import GroupRow, GroupRows, LogStretch, gather
from offsets_tool.rebalances.members import GroupMembers
from offsets_tool.rebalances.row_builder import rebalance_rows
from offsets_tool.rebalances.rows import RebalanceRow
from offsets_tool.rebalances.steps import steps_of
from offsets_tool.server_log.join import NO_SERVER_LOG, ServerLog
from offsets_tool.story.story import why
from tests.findings.made import (
    GROUP,
    LOG_PARTITION,
    MINUTE,
    SECOND,
    START,
    TOPIC,
    group,
    member,
    states,
    until,
)
from tests.server_log.logs import log_saying


def _at(after: int) -> str:
    return datetime.fromtimestamp((START + after) / 1000, UTC).isoformat(timespec="milliseconds")[:23]


def _preparing(after: int, generation: int, reason: str) -> str:
    return (
        f"{_at(after)} Preparing to rebalance group {GROUP} in state PreparingRebalance with old generation "
        f"{generation} (reason: {reason})."
    )


def _rows(rows: Sequence[GroupRow]) -> GroupRows:
    return gather(rows, LogStretch(LOG_PARTITION, 0))[GROUP]


def _last(rows: Sequence[GroupRow], server_log: ServerLog = NO_SERVER_LOG) -> RebalanceRow:
    return list(rebalance_rows(_rows(rows), None, server_log))[-1]


def _generations(number: int, members: Sequence[int] = (), **given: Any) -> list[GroupRow]:
    counts = members or [2] * number
    return [*states(*(group(n, n * MINUTE, counts[n], generation=n + 1, **given) for n in range(number)))]


def _of(name: str, log_offset: int, *topics: str, **given: Any) -> Any:
    held = tuple(f"{topic}-0" for topic in topics)
    return member(
        log_offset, log_offset * MINUTE, name, **{"subscription": topics, "assignment": held, **given}
    )


BROUGHT: Final = [
    *_generations(3, (1, 2, 2)),
    _of("a", 0, TOPIC),
    until(_of("b", 1, "other", assignment=()), 2, 2 * MINUTE, "changed"),
    _of("b", 2, "other"),
]
"""A member brought a topic, of which the leader learns once it has assigned: then it joins again, and the topic is assigned."""
GROWN: Final = [
    *_generations(2, protocol="range"),
    until(_of("a", 0, TOPIC), 1, MINUTE, "changed"),
    _of("a", 1, TOPIC, assignment=(f"{TOPIC}-0", f"{TOPIC}-1")),
]
CREATED: Final = [
    *_generations(3),
    until(_of("a", 0, TOPIC, "later", assignment=(f"{TOPIC}-0",)), 2, 2 * MINUTE, "changed"),
    _of("a", 2, TOPIC, "later"),
]
"""A topic that is there from the third generation on, and was asked for all the time."""
SAME: Final = [*_generations(2), _of("a", 0, TOPIC), _of("b", 0, TOPIC, assignment=())]
GIVEN_UP: Final = [
    *_generations(3),
    until(_of("a", 0, TOPIC), 1, MINUTE, "changed"),
    _of("a", 1, TOPIC, assignment=()),
    until(_of("b", 0, TOPIC, assignment=()), 2, 2 * MINUTE, "changed"),
    _of("b", 2, TOPIC),
]
JOINED: Final = [*_generations(2, (1, 2)), _of("a", 0, TOPIC), _of("b", 1, TOPIC, assignment=())]
RESUBSCRIBED: Final = [
    *_generations(2),
    until(_of("a", 0, TOPIC), 1, MINUTE, "changed"),
    _of("a", 1, "other"),
]
REJOINS: Final = "Leader a re-joining group during Stable"
METADATA: Final = f"{REJOINS}; client reason: cached metadata has changed"
UPDATES: Final = "Updating metadata for member a during Stable"


class Case(NamedTuple):
    """Rows of a group, the line on its last rebalance, and the cause that this comes to."""

    what: str
    rows: Sequence[GroupRow]
    reason: str | None
    cause: str
    confidence: str = "certain"


CASES: Final = (
    Case("a topic that a member brought", BROUGHT, None, "member_rejoined", "likely"),
    Case("nor does the leader's word make it another", BROUGHT, METADATA, "member_rejoined"),
    Case("a topic that has a partition more", GROWN, METADATA, "topics_changed"),
    Case("and without a client's reason", GROWN, REJOINS, "topics_changed"),
    Case("a topic that was made", CREATED, None, "topics_changed", "likely"),
    Case("and the leader says so", CREATED, METADATA, "topics_changed"),
    Case("a leader that says no reason", CREATED, REJOINS, "member_rejoined"),
    Case("no topic is another", SAME, METADATA, "member_rejoined"),
    Case("other metadata are no other topics", SAME, UPDATES, "member_rejoined"),
    Case("partitions that were given up", GIVEN_UP, UPDATES, "partitions_given_up"),
    Case("other topics", RESUBSCRIBED, UPDATES, "member_resubscribed"),
    Case("one came while others were waited for", JOINED, REJOINS, "member_rejoined"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_what_a_line_makes_certain(case: Case) -> None:
    last = max(row.generation for row in _rows(case.rows).groups if row.generation)
    line = [] if case.reason is None else [_preparing((last - 1) * MINUTE - SECOND, last - 1, case.reason)]
    found = _last(case.rows, log_saying(*line) if line else NO_SERVER_LOG)
    assert (found.cause, found.confidence) == (case.cause, case.confidence)


def test_a_member_that_joins_again_is_not_said_to_have_asked_for_other_topics() -> None:
    rows = _rows(SAME)
    log = log_saying(_preparing(MINUTE - SECOND, 1, UPDATES))
    *_, step = steps_of(rows, GroupMembers(rows))
    said = why(step, rows, GroupMembers(rows), log)
    assert said is not None and said.text == "By the broker's log: a joined again (server.log:1)."


@given(st.lists(st.integers(0, 3_000), min_size=2, max_size=6), st.booleans())
def test_each_epoch_has_the_line_of_its_own_members(pauses: list[int], has_epoch_lines: bool) -> None:
    """Members of a share group leave within moments: no sentence has a line about a neighbour, and none lacks its own."""
    names = [f"m-{number}" for number in range(len(pauses) + 1)]
    times = [10 * MINUTE + sum(pauses[:number]) + number for number in range(len(pauses))]
    of_kind: dict[str, Any] = {"kind": "share", "generation": None}
    epochs = [
        group(2 * number, at, len(names) - number, epoch=1 + number, assignment_epoch=1 + number, **of_kind)
        for number, at in enumerate([0, *times])
    ]
    fields: dict[str, Any] = {"group_kind": "share", "generation": None, "member_state": "STABLE"}
    members = [
        until(member(0, 0, name, client_id=name, **fields), 2 * number, at)
        for number, (name, at) in enumerate(zip(names, times, strict=False), 1)
    ]
    lines = [
        line
        for number, (name, at) in enumerate(zip(names, times, strict=False), 2)
        for line in (
            f"{_at(at)} [GroupId {GROUP}] Member {name} left the share group.",
            f"{_at(at)} [GroupId {GROUP}] Bumped group epoch to {number} with metadata hash 7.",
        )
        if has_epoch_lines or "Bumped" not in line
    ]
    rows = _rows([*states(*epochs), *members, member(0, 0, names[-1], client_id=names[-1], **fields)])
    log = log_saying(*lines)
    steps = [step for step in steps_of(rows, GroupMembers(rows)) if step.turnover.left]
    assert [len(step.turnover.left) for step in steps] == [1] * len(pauses)
    for step in steps:
        said = why(step, rows, GroupMembers(rows), log)
        assert said is not None and {each.member_id for each in said.causes} == {*step.turnover.left}
    assert {row.cause for row in rebalance_rows(rows, None, log) if row.left} == {"member_left"}


@given(st.sets(st.integers(0, 6)))
def test_lines_that_are_missing_make_no_other_cause_certain(missing: set[int]) -> None:
    """Members that come or go change what is known of topics, and lines of one epoch stand beside those of the next."""
    began: dict[str, Any] = {"kind": "consumer", "generation": None}
    epochs = ((0, 0, 1), (1, MINUTE, 2), (2, MINUTE + SECOND, 1))
    of: dict[str, Any] = {"group_kind": "consumer", "generation": None, "member_state": "STABLE"}
    groups = [
        group(at, after, members, epoch=1 + at, assignment_epoch=1 + at, **began)
        for at, after, members in epochs
    ]
    b = until(member(1, MINUTE, "b", **of), 2, MINUTE + SECOND)
    rows = _rows([*states(*groups), member(0, 0, "a", **of), b])
    lines = [
        f"{_at(0)} [GroupId {GROUP}] Bumped group epoch to 1 with metadata hash 7.",
        f"{_at(MINUTE)} [GroupId {GROUP}] Member b joins the consumer group using the consumer protocol.",
        f"{_at(MINUTE)} [GroupId {GROUP}] Computed new metadata hash: 8.",
        f"{_at(MINUTE)} [GroupId {GROUP}] Bumped group epoch to 2 with metadata hash 8.",
        f"{_at(MINUTE + SECOND)} [GroupId {GROUP}] Member b left the consumer group.",
        f"{_at(MINUTE + SECOND)} [GroupId {GROUP}] Computed new metadata hash: 7.",
        f"{_at(MINUTE + SECOND)} [GroupId {GROUP}] Bumped group epoch to 3 with metadata hash 7.",
    ]
    log = log_saying(*(line for number, line in enumerate(lines) if number not in missing))
    found = {row.epoch: row.cause for row in rebalance_rows(rows, None, log)}
    assert (found[2], found[3]) == ("member_joined", "member_left")


def test_what_a_new_member_subscribes_to_is_its_joining() -> None:
    rows = _rows(
        [
            group(1, SECOND, 1, kind="share", generation=None, epoch=2, assignment_epoch=2),
            member(1, SECOND, "a", group_kind="share", generation=None, member_state="STABLE"),
        ]
    )
    subscribed = f"{_at(SECOND)} [GroupId {GROUP}] Member a updated its subscribed topics to: [{TOPIC}]."
    joined = f"{_at(SECOND)} [GroupId {GROUP}] Member a joins the share group using the share protocol."
    bumped = f"{_at(SECOND)} [GroupId {GROUP}] Bumped group epoch to 2 with metadata hash 7."
    for lines in ((joined, subscribed, bumped), (subscribed, bumped)):
        assert _last([*rows.groups, *rows.members], log_saying(*lines)).cause == "member_joined"
        *_, step = steps_of(rows, GroupMembers(rows))
        said = why(step, rows, GroupMembers(rows), log_saying(*lines))
        assert said is not None and [each.cause for each in said.causes] == ["member_joined"]
