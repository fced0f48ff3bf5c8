"""What a story says of rebalances that have two halves, of static members that leave for now, and of a share group's state."""

from typing import Any, Final

import pytest

from offsets_tool.findings.group_rows import LogStretch, gather
from offsets_tool.history.rows import AnomalyRow
from offsets_tool.replay.changes import UNREAD
from offsets_tool.story.state import state_sentences
from offsets_tool.story.story import GroupStory
from tests.findings.made import GROUP, LOG_PARTITION, SECOND, TOPIC, commit, group, member, states, until


def _texts(rows: list[Any]) -> list[str]:
    gathered = gather(rows, LogStretch(LOG_PARTITION, 0))[GROUP]
    return [each.text for each in GroupStory(gathered, []).sentences()]


def _held(log_offset: int, name: str, *numbers: int, **given: Any) -> Any:
    held = tuple(f"{TOPIC}-{number}" for number in numbers)
    return member(log_offset, log_offset * SECOND, name, client_id=name, assignment=held, **given)


HALVES: Final = [
    *states(
        *(
            group(n, n * SECOND, 1 + bool(n), generation=n + 1, protocol="cooperative-sticky")
            for n in range(3)
        )
    ),
    until(_held(0, "a", 0, 1, 2), 1, SECOND, "changed"),
    _held(1, "a", 0),
    until(_held(1, "b"), 2, 2 * SECOND, "changed"),
    _held(2, "b", 1, 2),
]


def test_each_half_of_a_cooperative_rebalance_says_whose_partitions_went_where() -> None:
    assert _texts(HALVES)[1:] == [
        "Rebalance to generation 2: b joined; a gave up 2 partitions; 2 members.",
        "Rebalance to generation 3: nobody joined or left; b took over 2 partitions from a; 2 members.",
    ]


def test_a_static_member_that_leaves_for_now_is_told_where_it_does() -> None:
    given: dict[str, Any] = {"kind": "consumer", "generation": None, "epoch": 1, "assignment_epoch": 1}
    of_kind: dict[str, Any] = {"group_kind": "consumer", "generation": None, "member_state": "STABLE"}
    rows = [
        *states(group(0, 0, 1, **given), group(5, 5 * SECOND, 1, state="Reconciling", **given)),
        until(_held(0, "a", 0, instance_id="i", member_epoch=1, **of_kind), 5, 5 * SECOND, "changed"),
        _held(5, "a", 0, instance_id="i", member_epoch=-2, **of_kind),
    ]
    assert _texts(rows)[1] == (
        "Without a rebalance: i left for now: a static member keeps its partitions until its session ends."
    )


@pytest.mark.parametrize(
    ("kind", "says"), [("share", "__share_group_state"), ("consumer", "no committed offset.")]
)
def test_that_a_share_group_has_no_offsets_is_explained(kind: str, says: str) -> None:
    rows = [group(0, 0, 1, kind=kind, generation=None, epoch=1, assignment_epoch=1)]
    gathered = gather(rows, LogStretch(LOG_PARTITION, 0))[GROUP]
    assert any(
        each.startswith("It has no committed offset") and says in each
        for each in state_sentences(gathered, "Now")
    )


def _unread(log_offset: int, about: str | None) -> AnomalyRow:
    return AnomalyRow(GROUP, about, LOG_PARTITION, log_offset, 0, f"{UNREAD}value: unknown value version 5")


NOTHING = "It has no committed offset."
UNKNOWN = "What it has committed in 1 partition is unknown: the newest commits there were not understood."
NEGATIVE = "In 1 partition a negative number is committed, which is no offset."


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], [NOTHING]),
        ([commit(1, 0, -1)], [NOTHING, NEGATIVE]),
        ([commit(1, 0, -1001, partition=1), _unread(2, f"{TOPIC}-0")], [NEGATIVE, UNKNOWN]),
        ([_unread(2, f"{TOPIC}-0"), _unread(3, f"{TOPIC}-0")], [UNKNOWN]),
        ([_unread(2, "a-member"), _unread(3, None)], [NOTHING]),
        ([commit(5, 0, 7, end_cause=None), _unread(2, f"{TOPIC}-0")], ["It has 1 committed offset"]),
    ],
)
def test_what_is_no_offset_and_what_nobody_knows_is_no_committed_offset(
    rows: list[Any], says: list[str]
) -> None:
    gathered = gather([group(0, 0, 0, kind="simple"), *rows], LogStretch(LOG_PARTITION, 0))[GROUP]
    sentences = list(state_sentences(gathered, "Now"))[1:]
    assert len(sentences) == len(says), sentences
    assert all(sentence.startswith(text) for sentence, text in zip(sentences, says, strict=True))
