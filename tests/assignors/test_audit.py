"""An audit says what is wrong with an assignment that no assignor of Kafka's gives, and in which words."""

from typing import Final

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from offsets_tool.assignors.audit import Agreement, AuditBasis, audit
from offsets_tool.assignors.claims import Claims, claims_by_partition
from offsets_tool.assignors.fixed import assign_ranges, assign_round_robin
from offsets_tool.assignors.sticky import complete
from offsets_tool.assignors.subscriptions import Assignment, Partition, Subscriber, Subscriptions
from tests.assignors.made import groups

A, B, C = (Subscriber(name, frozenset({"t"})) for name in "abc")
FOUR: Final = Subscriptions((A, B), {"t": 4})


def owning(member: Subscriber, *numbers: int, generation: int = 1) -> Subscriber:
    return member._replace(claims=of(*numbers), generation=generation)


def of(*numbers: int) -> frozenset[Partition]:
    return frozenset(("t", number) for number in numbers)


KEPT: Final = Subscriptions((owning(A, 0, 1, 2, 3), B), {"t": 4})
RACKS: Final = Subscriptions(tuple(each._replace(rack_id="r") for each in FOUR.members), {"t": 4})
TWO_TOPICS: Final = Subscriptions((A, Subscriber("b", frozenset("tu"))), {"t": 4, "u": 1})
CASES: Final[dict[str, tuple[str, Subscriptions, Assignment, bool, Agreement, str]]] = {
    "range": ("range", FOUR, {"a": of(0, 1), "b": of(2, 3)}, False, Agreement.EQUAL, "each partition went"),
    "other": (
        "range",
        FOUR,
        {"a": of(0, 2), "b": of(1, 3)},
        False,
        Agreement.DIFFERS,
        "t-1 belongs to member a, and member b has",
    ),
    "lost": (
        "range",
        FOUR,
        {"a": of(0, 1), "b": of(2)},
        False,
        Agreement.DIFFERS,
        "t-3 belongs to member b, and nobody has it",
    ),
    "racks": (
        "range",
        RACKS,
        {"a": of(0, 2), "b": of(1, 3)},
        False,
        Agreement.CONSISTENT,
        "the racks of replicas are not in",
    ),
    "racks, uneven": (
        "range",
        RACKS,
        {"a": of(0, 1, 2), "b": of(3)},
        False,
        Agreement.DIFFERS,
        "member a has 3 partitions",
    ),
    "old brokers": (
        "range",
        FOUR,
        {"a": of(0, 2), "b": of(1, 3)},
        True,
        Agreement.CONSISTENT,
        "as brokers up to 3.8 may",
    ),
    "stranger": ("range", FOUR, {"x": of(0)}, False, Agreement.DIFFERS, "member x is not in the group"),
    "twice": (
        "uniform",
        FOUR,
        {"a": of(0, 1), "b": of(1, 2)},
        True,
        Agreement.DIFFERS,
        "t-1 went to two members, a and b",
    ),
    "unasked": (
        "sticky",
        TWO_TOPICS,
        {"a": frozenset({("u", 0)})},
        False,
        Agreement.DIFFERS,
        "which does not ask for its topic",
    ),
    "kept": (
        "sticky",
        KEPT,
        {"a": of(1, 2), "b": of(0, 3)},
        False,
        Agreement.EQUAL,
        "given what members keep",
    ),
    "swapped": (
        "sticky",
        FOUR,
        {"a": of(0, 1), "b": of(2, 3)},
        False,
        Agreement.CONSISTENT,
        "as even as subscriptions allow",
    ),
    "uneven": (
        "sticky",
        FOUR,
        {"a": of(0, 1, 2), "b": of(3)},
        False,
        Agreement.DIFFERS,
        "which asks for t-0 too",
    ),
    "left out": ("sticky", FOUR, {"a": of(0), "b": of(1, 2)}, False, Agreement.DIFFERS, "nobody got t-3"),
    "held back": (
        "cooperative-sticky",
        KEPT,
        {"a": of(1, 2)},
        False,
        Agreement.EQUAL,
        "given what members keep",
    ),
    "not held": (
        "cooperative-sticky",
        FOUR,
        {"a": of(0, 1)},
        False,
        Agreement.DIFFERS,
        "which nobody has to give up",
    ),
    "uniform": (
        "uniform",
        KEPT,
        {"a": of(1, 2), "b": of(0, 3)},
        True,
        Agreement.CONSISTENT,
        "no member gave up",
    ),
    "needless": (
        "uniform",
        Subscriptions((owning(A, 0, 1), owning(B, 2)), {"t": 4}),
        {"a": of(0, 2), "b": of(1, 3)},
        True,
        Agreement.DIFFERS,
        "member a gave up t-1 and got t-2 instead",
    ),
    "given back": (
        "sticky",
        Subscriptions(
            (A, owning(Subscriber("b", frozenset("u")), 3, generation=0), owning(C)), {"t": 4, "u": 1}
        ),
        {"a": of(0, 1), "b": frozenset({("t", 3), ("u", 0)}), "c": of(2)},
        False,
        Agreement.CONSISTENT,
        "t-3 went to member b, which does not ask for its topic; so Kafka gives back",
    ),
    "custom": (
        "mine",
        FOUR,
        {"a": of(0)},
        False,
        Agreement.UNDECIDED,
        "mine is none of the assignors that are known: range,",
    ),
    "of clients": (
        "sticky",
        FOUR,
        {"a": of(0)},
        True,
        Agreement.UNDECIDED,
        "none of the assignors that are known: range, uniform",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_an_audit_says(name: str) -> None:
    assignor, asked, assigned, is_target, agreement, words = CASES[name]
    found = audit(assignor, asked, assigned, is_target=is_target)
    assert found.agreement is agreement and words in found.detail, found
    assert (found.basis is None) is (agreement is Agreement.UNDECIDED)


@given(asked=groups())
def test_one_partition_elsewhere_is_found(asked: Subscriptions) -> None:
    for assignor, assign in (("range", assign_ranges), ("roundrobin", assign_round_robin)):
        right = assign(asked)
        assert audit(assignor, asked, right).basis is AuditBasis.RECOMPUTED
        for wrong in _moved(asked, right):
            assert audit(assignor, asked, wrong).agreement is Agreement.DIFFERS


@given(asked=groups(are_equal=True, are_alone=True), made=st.data())
def test_a_sticky_assignment_that_is_less_even_is_found(asked: Subscriptions, made: st.DataObject) -> None:
    nothing_owned = asked._replace(members=tuple(m._replace(claims=frozenset()) for m in asked.members))
    right = complete(nothing_owned, claims_by_partition(nothing_owned), {})
    assert right is not None and audit("sticky", nothing_owned, right).agreement is Agreement.EQUAL
    rich, poor = max(right, key=lambda m: len(right[m])), min(right, key=lambda m: len(right[m]))
    assume(rich != poor and right[poor])
    moved = made.draw(st.sampled_from(sorted(right[poor])))
    wrong = {**right, rich: right[rich] | {moved}, poor: right[poor] - {moved}}
    assert audit("sticky", nothing_owned, wrong).agreement is Agreement.DIFFERS
    assert audit("uniform", nothing_owned, wrong, is_target=True).agreement is Agreement.DIFFERS


def test_nobody_is_no_group() -> None:
    with pytest.raises(ValueError, match="needs members"):
        complete(Subscriptions((), {}), Claims({}, frozenset()), {})
    assert audit("sticky", Subscriptions((), {}), {}).agreement is Agreement.CONSISTENT


def _moved(asked: Subscriptions, right: Assignment) -> list[Assignment]:
    """Return the assignment with one partition less, and with one partition moved to another member that subscribes to it."""
    owner, partitions = next((member, partitions) for member, partitions in right.items() if partitions)
    partition = min(partitions)
    less = {**right, owner: partitions - {partition}}
    others = [m.member_id for m in asked.members if m.member_id != owner and partition[0] in m.topics]
    return [less, *({**less, other: right.get(other, frozenset()) | {partition}} for other in others)]
