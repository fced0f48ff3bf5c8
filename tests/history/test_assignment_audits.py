"""What real clients and brokers assigned is what their assignors give; and what cannot be decided says why."""

from collections import Counter
from dataclasses import replace
from typing import Final

import pytest

from offsets_tool.as_of.selection import Wanted
from offsets_tool.assignors.audit import Agreement
from offsets_tool.assignors.subscriptions import Subscriber, Subscriptions
from offsets_tool.events import Value
from offsets_tool.evidence.answers.assignments import audits_of
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.history.assignment_audits import AssignmentAuditRow, AssignmentAudits
from offsets_tool.records.classic import GroupMetadataValue
from offsets_tool.replay.changes import (
    Change,
    ChangeKind,
    CommittedOffset,
    Group,
    GroupKind,
    GroupOf,
    GroupState,
    TopicPartition,
)
from offsets_tool.replay.state import State
from tests.assignors.made import group_value
from tests.corpora import corpora, folder_of
from tests.records import subscriptions

UNDECIDED: Final = (
    "share out other things",
    "is none of the assignors that are known",
    "the assignors of share groups",
    "the assignors of streams groups",
    "a conversion took it over",
    "the log lacks records",
)


def audits(corpus: str) -> list[AssignmentAuditRow]:
    with EvidenceReplay(open_evidence(folder_of(corpus) / "segments")) as replay:
        return audits_of(replay, Wanted())


@pytest.mark.parametrize("corpus", [path.name for path in corpora("2.4.1-mix", "3.3.2-mix", "4.3.1-classic")])
def test_real_assignments_are_what_assignors_give(corpus: str) -> None:
    found = audits(corpus)
    assert not [row for row in found if row.agreement == Agreement.DIFFERS]
    undecided = [row.detail for row in found if row.agreement == Agreement.UNDECIDED]
    assert all(any(words in detail for words in UNDECIDED) for detail in undecided), undecided


def test_every_assignor_is_audited() -> None:
    found = Counter(
        (row.assignor, row.agreement) for corpus in ("3.3.2-mix", "4.3.1-kip848") for row in audits(corpus)
    )
    for assignor in ("range", "roundrobin", "sticky", "cooperative-sticky"):
        assert found[assignor, Agreement.EQUAL], (assignor, found)
    assert found[None, Agreement.CONSISTENT]


MEMBERS: Final = tuple(Subscriber(name, frozenset({"t"})) for name in "ab")
RIGHT: Final = {"a": frozenset({("t", 0), ("t", 1)}), "b": frozenset({("t", 2)})}


def classic(
    generation: int,
    offset: int,
    assigned: dict[str, frozenset[tuple[str, int]]],
    value: GroupMetadataValue | None = None,
) -> Change:
    value = value or group_value("range", Subscriptions(MEMBERS, {}), assigned)
    group = Group(
        "g",
        GroupKind.CLASSIC,
        GroupState.STABLE,
        offset,
        2,
        generation=generation,
        metadata=Value(3, "", value),
    )
    return Change(0, offset, offset * 10, offset, ChangeKind.SET, GroupOf("g"), None, group)


def audits_after(*changes: Change, committed: State | None = None) -> list[AssignmentAuditRow]:
    following = AssignmentAudits(str, committed=committed)
    return [row for change in changes if (row := following.follow(change)) is not None]


def test_a_generation_is_audited_once() -> None:
    """The record is written again where a static member comes back."""
    gone = Change(0, 9, 90, 9, ChangeKind.DELETED, GroupOf("g"))
    rows = audits_after(
        classic(1, 1, RIGHT), classic(1, 2, RIGHT), classic(2, 3, RIGHT), gone, classic(2, 10, RIGHT)
    )
    assert [(row.generation, row.log_offset, row.agreement) for row in rows] == [
        (1, 1, Agreement.EQUAL),
        (2, 3, Agreement.EQUAL),
        (2, 10, Agreement.EQUAL),
    ]


def test_partitions_that_were_known_before_make_it_undecided() -> None:
    """The topic may have been made anew with fewer of them; a later commit proves nothing."""
    four = {"a": frozenset({("t", 0), ("t", 1)}), "b": frozenset({("t", 2), ("t", 3)})}
    rows = audits_after(classic(1, 1, four), classic(2, 2, RIGHT))
    assert [row.agreement for row in rows] == [Agreement.EQUAL, Agreement.UNDECIDED]
    assert rows[1].detail == "topic t had 4 partitions before; it is equal if there are now 3"
    commit = CommittedOffset(5, -1, "", 0, -1, None, log_offset=5)
    state = State(offsets={"g": {TopicPartition("t", 3): commit}})
    assert [
        row.agreement for row in audits_after(classic(1, 1, RIGHT), classic(2, 7, RIGHT), committed=state)
    ] == [
        Agreement.EQUAL,
        Agreement.UNDECIDED,
    ]


def made_of(
    protocol: str, *members: tuple[str, bytes], assigned: dict[str, frozenset[tuple[str, int]]] | None = None
) -> AssignmentAuditRow:
    """Return the audit of a group's first generation, of members with these subscriptions."""
    asked = Subscriptions(tuple(Subscriber(name, frozenset({"t"})) for name, _ in members), {})
    value, blobs = group_value(protocol, asked, assigned or {}), dict(members)
    said = tuple(replace(member, subscription=blobs[member.member_id]) for member in value.members)
    row = AssignmentAudits(str).follow(classic(1, 5, assigned or {}, replace(value, members=said)))
    assert row is not None
    return row


@pytest.mark.parametrize("protocol", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_over_no_partition_nothing_agrees(protocol: str) -> None:
    row = made_of(protocol, ("a", subscriptions.said(0, 0)), ("b", subscriptions.said(0, 0)))
    assert (row.agreement, row.basis, row.partitions) == (Agreement.UNDECIDED, None, 0)
    assert "no record names a partition" in row.detail


def test_a_topic_of_which_no_partition_is_known_is_named() -> None:
    assigned = {"a": frozenset({("orders", 0)}), "b": frozenset({("orders", 1)})}
    row = made_of("range", *((name, subscriptions.said(3, 3)) for name in "ab"), assigned=assigned)
    assert row.agreement == Agreement.EQUAL and row.detail.endswith("no partition of topic pay is known")


@pytest.mark.parametrize(
    ("protocol", "cut", "agreement"),
    [
        ("range", subscriptions.said(1, 0), Agreement.EQUAL),
        ("roundrobin", subscriptions.said(-1, 0), Agreement.EQUAL),
        ("cooperative-sticky", subscriptions.said(1, 0), Agreement.UNDECIDED),
        ("cooperative-sticky", subscriptions.said(0, 0), Agreement.EQUAL),
        ("range", subscriptions.said(1, 0, 7), Agreement.UNDECIDED),
    ],
)
def test_a_cut_subscription_is_audited_as_far_as_it_reads(
    protocol: str, cut: bytes, agreement: Agreement
) -> None:
    """What a member owned stands behind the topics: of all assignors only cooperative-sticky asks for it there."""
    assigned = {"a": frozenset({("orders", 0), ("pay", 0)}), "b": frozenset({("orders", 1), ("pay", 1)})}
    row = made_of(protocol, ("a", cut), ("b", subscriptions.said(0, 0)), assigned=assigned)
    assert row.agreement == agreement, row
