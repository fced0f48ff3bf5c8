"""Members at a moment, a row each: who they are, what they ask for, what they own and what they are to own.

Fields that a kind of group does not have are None. Partitions are "topic-partition", sorted, by the topic's name where the
evidence proves it, else by its id; tasks of streams groups are "subtopology_partition".
"""

from collections.abc import Iterable
from typing import Final

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot, Unproven
from offsets_tool.blobs import blobs_of, consumer_subscription
from offsets_tool.events import Value
from offsets_tool.records.classic import MemberMetadata
from offsets_tool.replay.changes import (
    Group,
    GroupKind,
    GroupOf,
    GroupState,
    Member,
    MemberOf,
    classic_value,
)
from offsets_tool.replay.member_records import (
    CONSUMER_PROTOCOL,
    Owned,
    assigned,
    client_of,
    subscribed_regex,
    subscription,
    target,
    tasks,
    to_give_up,
)
from offsets_tool.replay.member_state import member_epoch, member_state
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.rows import Row

TASKS: Final = ("active_tasks", "standby_tasks", "warmup_tasks")


def member_rows(snapshot: Snapshot, wanted: Wanted | None = None) -> list[Row]:
    """Return the members of a snapshot's groups, a dictionary each, by group and member id; `wanted` chooses groups.

    >>> from offsets_tool import snapshot_of
    >>> rows = member_rows(snapshot_of("fixtures/corpora/4.3.1-kip848/segments", as_of="4:31"))
    >>> [(row["client_id"], row["member_epoch"], len(row["assignment"])) for row in rows]
    [('search-cons-f689-1', 3, 7), ('search-cons-f689-2', 3, 6)]
    """
    asked = wanted or Wanted()
    rows = [
        _row(snapshot.names, p, group, member_id, member)
        | {"is_proven": _is_proven(unknown, group, member_id)}
        for p in snapshot
        for unknown in [p.unknown]
        for name, members in p.state.members.items()
        if asked.has_group(name) and (group := p.state.groups.get(name)) is not None
        for member_id, member in members.items()
        if member.is_member
    ]
    return sorted(rows, key=lambda row: (row["group"], row["member_id"]))


def _row(names: TopicNames, p: PartitionSnapshot, group: Group, member_id: str, member: Member) -> Row:
    client = client_of(member)
    is_classic = isinstance(member.metadata, MemberMetadata)
    row: Row = {
        "group": group.group,
        "member_id": member_id,
        "instance_id": client.instance_id,
        "client_id": client.client_id,
        "client_host": client.client_host,
        "member_epoch": None if is_classic else member_epoch(member),
        "member_state": None if is_classic else member_state(member),
        **_partitions(names, group, member),
        "kind": group.kind,
        "generation": group.generation if group.kind is GroupKind.CLASSIC else None,
        **(_classic_details(group, member) if is_classic else _details(member)),
        **_tasks(group, member),
        "log_partition": p.log_partition,
    }
    return row


def _is_proven(unknown: Unproven, group: Group, member_id: str) -> bool:
    """Return whether the log proves a member: a part of a newer group that was not understood is of one member, or of none."""
    if MemberOf(group.group, member_id) in unknown:
        return False
    is_whole = group.kind is GroupKind.CLASSIC or group.state is not GroupState.UNKNOWN
    return not (is_whole and GroupOf(group.group) in unknown)


def _partitions(names: TopicNames, group: Group, member: Member) -> Row:
    in_topics = (
        group.kind not in (GroupKind.STREAMS, GroupKind.CLASSIC) or group.protocol_type == CONSUMER_PROTOCOL
    )
    has_target = in_topics and group.kind is not GroupKind.CLASSIC
    return {
        "subscription": sorted(subscription(member, group.protocol_type)) if in_topics else None,
        "assignment": partition_texts(names, assigned(member, group.protocol_type)) if in_topics else None,
        "target_assignment": partition_texts(names, target(member)) if has_target else None,
        "pending_revocation": partition_texts(names, to_give_up(member)) if has_target else None,
        "subscription_regex": subscribed_regex(member),
    }


def partition_texts(names: TopicNames, owned: Iterable[Owned]) -> list[str]:
    """Return partitions as "topic-partition", in the order of topics and partitions."""
    return [f"{topic}-{partition}" for topic, partition in sorted(named_partitions(names, owned))]


def named_partitions(names: TopicNames, owned: Iterable[Owned]) -> list[tuple[str, int]]:
    """Return partitions as topic name and number, with names for topic ids; the id as text where there is no name."""
    return [(of if isinstance(of, str) else names.name(of), partition) for of, partition in owned]


def _classic_details(group: Group, member: Member) -> Row:
    metadata = member.metadata
    assert isinstance(metadata, MemberMetadata)
    is_consumer = group.protocol_type == CONSUMER_PROTOCOL
    asked = consumer_subscription(metadata.subscription) if is_consumer else None
    return _DETAILS | {
        "rack_id": asked.rack_id if asked else None,
        "rebalance_timeout_ms": None if metadata.rebalance_timeout == -1 else metadata.rebalance_timeout,
        "session_timeout_ms": metadata.session_timeout,
        **({} if is_consumer else _other_protocol(group, metadata.member_id)),
    }


def _other_protocol(group: Group, member_id: str) -> Row:
    """Return the data of members of another protocol type (connect, sr) as JSON; None where the format is unknown."""
    value = classic_value(group)
    assert value is not None
    index = [member.member_id for member in value.members].index(member_id)
    found = {blob.path: blob.json()["data"] for blob in blobs_of(value)}
    return {
        f"{field}_data": found.get(f"members[{index}].{field}") for field in ("subscription", "assignment")
    }


_DETAILS: Final[Row] = dict.fromkeys(
    (
        "rack_id",
        "server_assignor",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "is_classic",
        "subscription_data",
        "assignment_data",
        "process_id",
        "topology_epoch",
        "user_endpoint",
        "client_tags",
    )
)


def _details(member: Member) -> Row:
    """Return the fields of a member that has a record of its own; `is_classic` if it speaks the classic protocol."""
    data = member.metadata.data if isinstance(member.metadata, Value) else None
    classic = getattr(data, "classic_member_metadata", None)
    endpoint = getattr(data, "user_endpoint", None)
    tags = getattr(data, "client_tags", None)
    timeout = getattr(data, "rebalance_timeout_ms", None)
    speaks_classic = classic is not None and bool(classic.supported_protocols)
    return _DETAILS | {
        "rack_id": getattr(data, "rack_id", None),
        "server_assignor": getattr(data, "server_assignor", None),
        "rebalance_timeout_ms": None if timeout == -1 else timeout,
        "session_timeout_ms": classic.session_timeout_ms if classic and speaks_classic else None,
        "is_classic": speaks_classic if data is not None else None,
        "process_id": getattr(data, "process_id", None),
        "topology_epoch": getattr(data, "topology_epoch", None),
        "user_endpoint": f"{endpoint.host}:{endpoint.port}" if endpoint else None,
        "client_tags": None if tags is None else {tag.key: tag.value for tag in tags},
    }


def _tasks(group: Group, member: Member) -> Row:
    is_streams = group.kind is GroupKind.STREAMS
    return {
        f"{prefix}{kind}": [f"{of}_{partition}" for of, partition in sorted(tasks(value, kind))]
        if is_streams
        else None
        for prefix, value in (("", member.current), ("target_", member.target))
        for kind in TASKS
    }
