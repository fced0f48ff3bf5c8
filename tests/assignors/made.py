"""Groups as assignors are asked about them, made at random, and as the records of a classic group hold them."""

from collections import defaultdict
from collections.abc import Iterable
from random import Random

from hypothesis import strategies as st

from offsets_tool.assignors.subscriptions import Assignment, Partition, Subscriber, Subscriptions
from offsets_tool.records import embedded
from offsets_tool.records.classic import GroupMetadataValue, MemberMetadata
from offsets_tool.wire.walk import encode

GENERATION = 7
LETTERS = "abY\ue000\U0001f98a"
NAMES = ("orders", "a", "Z", "\ue000", "\U0001f98a")
"""Java sorts the last but one behind the last, by UTF-16 units; Python would not."""


def groups(*, are_equal: bool | None = None, are_alone: bool = False) -> st.SearchStrategy[Subscriptions]:
    """Make members of a group that may have owned partitions before; with `are_alone` no partition is claimed twice.

    With `are_equal` all subscribe to the same topics. Each group is made from one drawn number, which is faster.
    """
    numbers = st.integers(0, 2**32)
    return numbers.map(lambda seed: _group(Random(seed), are_equal=are_equal, are_alone=are_alone))


def _group(random: Random, *, are_equal: bool | None, are_alone: bool) -> Subscriptions:
    counts = {topic: random.randint(1, 9) for topic in random.sample(NAMES, random.randint(1, 4))}
    ids = list(
        {"".join(random.choices(LETTERS, k=random.randint(1, 5))) for _ in range(random.randint(1, 6))}
    )
    ids.sort()
    is_equal = random.random() < 0.5 if are_equal is None else are_equal
    claims = _claims(random, counts, ids, are_alone=are_alone)
    members = tuple(
        Subscriber(
            member_id,
            frozenset(counts if is_equal else random.sample(list(counts), random.randint(1, len(counts)))),
            instance_id=random.choice((None, f"i-{number * 7 % 5}{member_id}")),
            claims=frozenset(claims[member_id]),
            generation=GENERATION - (random.random() < 0.2),
        )
        for number, member_id in enumerate(ids)
    )
    given = Subscriptions(members, counts)
    return given._replace(counts={topic: counts[topic] for topic in given.topics})


def _claims(
    random: Random, counts: dict[str, int], ids: list[str], *, are_alone: bool
) -> dict[str, set[Partition]]:
    """Return what members owned before: often nothing, or half of the members owned everything."""
    claims = defaultdict[str, set[Partition]](set)
    owners = random.choice(([], ids, ids[: len(ids) // 2 + 1]))
    for partition in ((topic, number) for topic, count in counts.items() for number in range(count)):
        for owner in random.choices(owners, k=random.randint(0, 1 if are_alone else 2)) if owners else ():
            claims[owner].add(partition)
    return claims


def group_value(
    protocol: str, given: Subscriptions, assigned: Assignment, version: int = 3
) -> GroupMetadataValue:
    """Return the value of a classic group's record with these members; `version` is that of their subscriptions."""
    return GroupMetadataValue(
        protocol_type="consumer",
        generation=GENERATION + 1,
        protocol=protocol,
        leader=given.members[0].member_id,
        members=tuple(
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id="client",
                client_host="/host",
                session_timeout=10_000,
                subscription=subscription_blob(protocol, member, version),
                assignment=_assignment(assigned.get(member.member_id, frozenset())),
            )
            for member in given.members
        ),
    )


def subscription_blob(protocol: str, member: Subscriber, version: int) -> bytes:
    """Return a member's subscription as a client of this assignor writes it."""
    user_data = None
    if protocol == "sticky":
        said = embedded.StickyUserData(
            previous_assignment=_topics(member.claims), generation=member.generation
        )
        user_data = encode(said, 1)
    elif protocol == "cooperative-sticky":
        user_data = encode(embedded.CooperativeStickyUserData(generation=member.generation), 0)
    message = embedded.ConsumerProtocolSubscription(
        topics=tuple(sorted(member.topics)),
        user_data=user_data,
        owned_partitions=_topics(member.claims) if protocol == "cooperative-sticky" else (),
        generation_id=member.generation if version >= 2 else -1,
    )
    return version.to_bytes(2) + encode(message, version)


def _assignment(partitions: Iterable[Partition]) -> bytes:
    message = embedded.ConsumerProtocolAssignment(assigned_partitions=_topics(partitions), user_data=None)
    return b"\0\0" + encode(message, 0)


def _topics(partitions: Iterable[Partition]) -> tuple[embedded.TopicPartitionNames, ...]:
    by_topic = defaultdict[str, list[int]](list)
    for topic, number in sorted(partitions):
        by_topic[topic].append(number)
    return tuple(
        embedded.TopicPartitionNames(topic=topic, partitions=tuple(numbers))
        for topic, numbers in by_topic.items()
    )
