"""Two states made comparable: ours after a replay, and what Kafka's coordinator held after it had loaded the same records.

Told of ours is what the log proves; `common` cuts Kafka's down to it. Left out so: epochs (and the state they make) of a group
whose record of them is not there, where Kafka begins with 0, or 1 from 4.3 on; the state of a member that is leaving; and of old
releases the fields that they had not yet.
"""

from typing import Any, NamedTuple

from offsets_tool.replay.changes import LEFT_EPOCH, CommittedOffset, Group, GroupKind, Member
from offsets_tool.replay.member_state import member_epoch, member_state
from offsets_tool.replay.state import State
from oracle.loaded import Assigned, LoadedGroup, LoadedMember, LoadedOffset, LoadedState


class ComparableState(NamedTuple):
    """A state as dictionaries of comparable fields: offsets, pending offsets, groups and members, by their keys."""

    offsets: dict[Any, dict[str, Any]]
    pending: dict[Any, dict[str, Any]]
    groups: dict[str, dict[str, Any]]
    members: dict[tuple[str, str], dict[str, Any]]
    targets: dict[tuple[str, str], Assigned]


def of_ours(state: State) -> ComparableState:
    """Return our state in comparable form."""
    known = {
        (group, name): member for group, members in state.members.items() for name, member in members.items()
    }
    return ComparableState(
        {(group, *at): _commit(each) for group, of in state.offsets.items() for at, each in of.items()},
        {
            (producer, *place): _commit(waiting.commit)
            for producer, of in state.pending.items()
            for place, waiting in of.items()
        },
        {name: _group(group) for name, group in state.groups.items()},
        {at: _member(member) for at, member in known.items() if member.is_member},
        {at: _assigned(member.target.data, "") for at, member in known.items() if member.target},
    )


def of_kafka(state: LoadedState) -> ComparableState:
    """Return Kafka's state in comparable form."""
    return ComparableState(
        {place: _loaded_commit(each) for place, each in state.offsets.items()},
        {
            (producer, *place): _loaded_commit(each)
            for producer, of in state.pending.items()
            for place, each in of.items()
        },
        {name: _loaded_group(group) for name, group in state.groups.items()},
        {
            (name, member_id): _loaded_member(member)
            for name, group in state.groups.items()
            for member_id, member in group.members.items()
        },
        {
            (name, member_id): {place: dict.fromkeys(partitions) for place, partitions in target.items()}
            for name, group in state.groups.items()
            for member_id, target in group.target.items()
        },
    )


def common(ours: ComparableState, kafkas: ComparableState) -> ComparableState:
    """Return Kafka's state without the fields that ours does not have for the same subject."""

    def cut(mine: dict[Any, dict[str, Any]], theirs: dict[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
        return {
            at: {name: value for name, value in told.items() if name in mine.get(at, told)}
            for at, told in theirs.items()
        }

    return kafkas._replace(groups=cut(ours.groups, kafkas.groups), members=cut(ours.members, kafkas.members))


def _without(told: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in told.items() if name not in names}


# ---- ours


def _commit(commit: CommittedOffset) -> dict[str, Any]:
    return {name: value for name, value in commit._asdict().items() if name != "log_offset"} | {
        "record_offset": commit.log_offset
    }


def _group(group: Group) -> dict[str, Any]:
    told = {
        "kind": str(group.kind),
        "state": str(group.state),
        "epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "expressions": {
            name: (tuple(sorted(value.data.topics)), value.data.version, value.data.timestamp)
            for name, value in group.expressions
        },
        "topology_epoch": group.topology.data.epoch if group.topology else None,
        "share_topics": _share_topics(group),
    }
    if group.kind in (GroupKind.CLASSIC, GroupKind.SIMPLE):
        return told | _classic(group)
    unproved = {"epoch"} if group.metadata is None else set()
    if group.target_metadata is None and group.assignment_epoch != LEFT_EPOCH:
        unproved.add("assignment_epoch")
    return _without(told, *unproved, *(("state",) if unproved else ()))


def _classic(group: Group) -> dict[str, Any]:
    """Return the fields of a classic group; one without protocol type and members is simple (ClassicGroup.isSimpleGroup)."""
    is_simple = not group.protocol_type and not group.members
    return {
        "kind": "simple" if is_simple else "classic",
        "generation": group.generation,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "leader": group.leader,
        "current_state_timestamp": group.current_state_timestamp,
    }


def _share_topics(group: Group) -> tuple[Any, ...] | None:
    if group.share_partitions is None:
        return None
    data = group.share_partitions.data
    named = (
        {str(topic.topic_id): (topic.topic_name, tuple(sorted(topic.partitions))) for topic in topics}
        for topics in (data.initializing_topics, data.initialized_topics)
    )
    return (*named, tuple(sorted(str(topic.topic_id) for topic in data.deleting_topics)))


def _member(member: Member) -> dict[str, Any]:
    data = getattr(member.metadata, "data", member.metadata)
    if hasattr(data, "assignment"):
        return _about(data) | {"protocols": [data.subscription], "assignment": data.assignment}
    current = member.current.data if member.current else None
    if current is None:
        return _about(data) | {"member_epoch": member_epoch(member), "assigned": {}, "pending_revocation": {}}
    return _about(data) | {
        "member_epoch": member_epoch(member),
        "previous_member_epoch": current.previous_member_epoch,
        "state": member_state(member),
        "assigned": _assigned(current, ""),
        "pending_revocation": _revoking(current),
    }


def _about(data: Any) -> dict[str, Any]:
    """Return the fields of a member's metadata record; empty where it has none (`data` None)."""
    if data is None:
        return {"client_id": ""}
    kept = getattr(data, "classic_member_metadata", None)
    session_timeout = kept.session_timeout_ms if kept else getattr(data, "session_timeout", None)
    return {
        "client_id": data.client_id,
        "client_host": data.client_host,
        "instance_id": getattr(data, "instance_id", getattr(data, "group_instance_id", None)),
        "rack_id": getattr(data, "rack_id", None),
        "rebalance_timeout": _rebalance_timeout(data),
        "session_timeout": session_timeout,
        "subscription": tuple(sorted(getattr(data, "subscribed_topic_names", ()))),
        "subscribed_regex": getattr(data, "subscribed_topic_regex", None),
        "server_assignor": getattr(data, "server_assignor", None),
        "topology_epoch": getattr(data, "topology_epoch", None),
        "process_id": getattr(data, "process_id", None),
        "client_tags": {tag.key: tag.value for tag in getattr(data, "client_tags", ())},
    }


def _rebalance_timeout(data: Any) -> int | None:
    """Return a member's rebalance timeout; version 0 has none, for which Kafka takes the session timeout."""
    if not hasattr(data, "rebalance_timeout"):
        return getattr(data, "rebalance_timeout_ms", None)
    timeout: int = data.session_timeout if data.rebalance_timeout == -1 else data.rebalance_timeout
    return timeout


def _assigned(data: Any, suffix: str) -> Assigned:
    """Return an assignment: partitions by topic id, or tasks by role and subtopology."""
    topics = getattr(data, "assigned_partitions", getattr(data, "topic_partitions", ()))
    found = {str(topic.topic_id): _sorted_partitions(topic.partitions) for topic in topics}
    for role in ("active", "standby", "warmup"):
        tasks = getattr(data, f"{role}_tasks{suffix}", ())
        found |= {f"{role} {each.subtopology_id}": _sorted_partitions(each.partitions) for each in tasks}
    return found


def _revoking(data: Any) -> Assigned:
    topics = getattr(data, "partitions_pending_revocation", None)
    if topics is not None:
        return {str(topic.topic_id): _sorted_partitions(topic.partitions) for topic in topics}
    return _assigned(data, "_pending_revocation") if hasattr(data, "active_tasks") else {}


def _sorted_partitions(partitions: Any) -> dict[int, int | None]:
    return dict.fromkeys(sorted(partitions))


# ---- Kafka's


def _loaded_commit(commit: LoadedOffset) -> dict[str, Any]:
    return commit._asdict()


def _loaded_group(group: LoadedGroup) -> dict[str, Any]:
    told = {
        "kind": group.kind,
        "state": group.state,
        "epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "expressions": {
            name: (each.topics, each.version, each.timestamp)
            for name, each in group.regular_expressions.items()
        },
        "topology_epoch": group.topology_epoch,
        "share_topics": None if group.share_topics is None else tuple(group.share_topics),
    }
    if group.kind in ("classic", "simple"):
        fields = ("generation", "protocol_type", "protocol", "leader", "current_state_timestamp")
        told |= {name: getattr(group, name) for name in fields}
    return told


def _loaded_member(member: LoadedMember) -> dict[str, Any]:
    if member.assignment is not None:
        assert member.protocols is not None
        return _loaded_about(member) | {
            "protocols": [metadata for _, metadata in member.protocols],
            "assignment": member.assignment,
        }
    return _loaded_about(member) | {
        "member_epoch": member.member_epoch or 0,
        "previous_member_epoch": member.previous_member_epoch or 0,
        "state": member.state or "STABLE",
        "assigned": _without_epochs(member.assigned),
        "pending_revocation": _without_epochs(member.pending_revocation),
    }


def _loaded_about(member: LoadedMember) -> dict[str, Any]:
    if not member.client_id:
        return {"client_id": ""}
    names = (
        "client_id",
        "client_host",
        "instance_id",
        "rack_id",
        "rebalance_timeout",
        "session_timeout",
        "subscription",
        "subscribed_regex",
        "server_assignor",
        "topology_epoch",
        "process_id",
        "client_tags",
    )
    return {name: getattr(member, name) for name in names}


def _without_epochs(assigned: Assigned) -> Assigned:
    return {place: dict.fromkeys(partitions) for place, partitions in assigned.items()}
