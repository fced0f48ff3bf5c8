"""Read what Load.java and LoadClassic.java print of Kafka's objects, by the names of their fields in each release."""

import base64
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from oracle.loaded import (
    Assigned,
    LoadedGroup,
    LoadedMember,
    LoadedOffset,
    LoadedRegex,
    LoadedState,
    LoadError,
    Place,
    ShareTopics,
)

Json = dict[str, Any]

NO_TOPIC = UUID(int=0)
KINDS = {"ConsumerGroup": "consumer", "ShareGroup": "share", "StreamsGroup": "streams"}


def loaded(told: Json) -> LoadedState:
    """Return the state of a new coordinator from the JSON that Load.java prints."""
    share = told["share"]
    return LoadedState(
        _error(told),
        dict(_offsets(told["offsets"])),
        {int(producer): dict(_offsets(held)) for producer, held in told["pending"].items()},
        {name: _group(group, share.get(name)) for name, group in told["groups"].items()},
    )


def loaded_classic(told: Json) -> LoadedState:
    """Return the state of a classic coordinator from the JSON that LoadClassic.java prints, where groups hold their offsets."""
    offsets: dict[Place, LoadedOffset] = {}
    pending: dict[int, dict[Place, LoadedOffset]] = {}
    for group in told["groups"]:
        offsets |= _group_offsets(group["groupId"], group["offsets"])
        for producer, held in group["pendingTransactionalOffsetCommits"].items():
            pending.setdefault(int(producer), {}).update(_group_offsets(group["groupId"], held))
    groups = {group["groupId"]: _group(group, None) for group in told["groups"]}
    return LoadedState(_error(told), offsets, pending, groups)


def _error(told: Json) -> LoadError | None:
    return LoadError(**told["error"]) if told["error"] else None


# ---- commits


def _offsets(held: Json) -> Iterator[tuple[Place, LoadedOffset]]:
    for group, topics in held["offsetsByGroup"].items():
        for topic, partitions in topics.items():
            for partition, commit in partitions.items():
                yield (group, topic, int(partition)), _commit(commit)


def _commit(held: Json) -> LoadedOffset:
    expiry, topic_id = held["expireTimestampMs"], _topic_id(held.get("topicId"))
    return LoadedOffset(
        held["committedOffset"],
        -1 if held["leaderEpoch"] is None else held["leaderEpoch"],
        held["metadata"],
        held["commitTimestampMs"],
        -1 if expiry is None else expiry,
        held["recordOffset"],
        None if topic_id == NO_TOPIC else topic_id,
    )


def _group_offsets(group: str, held: Json) -> dict[Place, LoadedOffset]:
    offsets = {}
    for name, commit in held.items():
        topic, _, partition = name.rpartition("-")
        offsets[group, topic, int(partition)] = _classic_commit(commit)
    return offsets


def _classic_commit(held: Json) -> LoadedOffset:
    commit = held["offsetAndMetadata"]
    what = commit.get("offsetMetadata", commit)  # 1.1.1 keeps offset and metadata in a part of their own
    epoch, expiry = what.get("leaderEpoch"), commit["expireTimestamp"]
    return LoadedOffset(
        what["offset"],
        -1 if epoch is None else epoch,
        what["metadata"],
        commit["commitTimestamp"],
        -1 if expiry is None else expiry,
        held["appendedBatchOffset"],
        None,
    )


# ---- groups


def _group(held: Json, share: Json | None) -> LoadedGroup:
    classic = held["class"] not in KINDS
    topology = held.get("topology")
    return LoadedGroup(
        kind=_kind(held),
        state=held["state"],
        generation=held["generationId"] if classic else None,
        epoch=held.get("groupEpoch"),
        assignment_epoch=None if classic else _target_metadata(held)["assignmentEpoch"],
        assignment_timestamp=None if classic else _target_metadata(held).get("assignmentTimestamp"),
        metadata_hash=held.get("metadataHash"),
        protocol_type=held.get("protocolType"),
        protocol=held.get("protocolName", held.get("protocol")),
        leader=held.get("leaderId"),
        current_state_timestamp=held.get("currentStateTimestamp") or None,
        members={name: _member(member) for name, member in held["members"].items()},
        target={name: _target(target) for name, target in held.get("targetAssignment", {}).items()},
        regular_expressions={
            regex: LoadedRegex(tuple(sorted(found["topics"])), found["version"], found["timestamp"])
            for regex, found in held.get("resolvedRegularExpressions", {}).items()
        },
        subscribed_topics=_sorted(held.get("subscribedTopics")),
        topology_epoch=None if topology is None else topology["topologyEpoch"],
        validated_topology_epoch=held.get("validatedTopologyEpoch"),
        share_topics=None if share is None else _share_topics(share),
    )


def _kind(held: Json) -> str:
    """ClassicGroup.isSimpleGroup: no protocol type, and nobody there."""
    if held["class"] in KINDS:
        return KINDS[held["class"]]
    return "simple" if held["protocolType"] is None and not held["members"] else "classic"


def _target_metadata(held: Json) -> Json:
    """Before 4.3 the epoch stands alone."""
    metadata: Json = held.get("targetAssignmentMetadata") or {
        "assignmentEpoch": held["targetAssignmentEpoch"]
    }
    return metadata


def _target(held: Json) -> Assigned:
    return _partitions(held["partitions"]) if "partitions" in held else _tasks(held)


def _share_topics(held: Json) -> ShareTopics:
    def named(topics: Json) -> dict[str, tuple[str, tuple[int, ...]]]:
        return {
            str(_topic_id(topic)): (about["name"], tuple(sorted(about["partitions"])))
            for topic, about in topics.items()
        }

    deleting = tuple(sorted(str(_topic_id(topic)) for topic in held["deletingTopics"]))
    return ShareTopics(named(held["initializingTopics"]), named(held["initializedTopics"]), deleting)


# ---- members


def _member(held: Json) -> LoadedMember:
    endpoint = held.get("userEndpoint")
    kept = held.get("classicMemberMetadata") or {}
    return LoadedMember(
        instance_id=held.get("instanceId", held.get("groupInstanceId")),
        client_id=held["clientId"],
        client_host=held["clientHost"],
        rack_id=held.get("rackId"),
        rebalance_timeout=held.get("rebalanceTimeoutMs"),
        session_timeout=held.get("sessionTimeoutMs", kept.get("sessionTimeoutMs")),
        member_epoch=held.get("memberEpoch"),
        previous_member_epoch=held.get("previousMemberEpoch"),
        state=held.get("state"),
        subscription=_sorted(held.get("subscribedTopicNames")) or (),
        subscribed_regex=held.get("subscribedTopicRegex"),
        server_assignor=held.get("serverAssignorName"),
        assigned=_held(held, "assignedPartitions", "assignedTasks"),
        pending_revocation=_held(held, "partitionsPendingRevocation", "tasksPendingRevocation"),
        protocols=_protocols(held.get("supportedProtocols", kept.get("supportedProtocols"))),
        assignment=bytes.fromhex(held["assignment"]) if "assignment" in held else None,
        topology_epoch=held.get("topologyEpoch"),
        process_id=held.get("processId"),
        user_endpoint=endpoint and (endpoint["host"], endpoint["port"]),
        client_tags=held.get("clientTags") or {},
    )


def _protocols(held: Iterable[Any] | None) -> tuple[tuple[str, bytes], ...] | None:
    """Return a classic member's protocols, name and bytes; the JSON has objects from Java, pairs from Scala."""
    if held is None:
        return None
    pairs = ((each["name"], each["metadata"]) if isinstance(each, dict) else each for each in held)
    return tuple((name, bytes.fromhex(metadata)) for name, metadata in pairs)


def _held(held: Json, partitions: str, tasks: str) -> Assigned:
    """A streams member whose type-22 record is not there has null for its tasks."""
    return _tasks(held[tasks] or {}) if tasks in held else _partitions(held.get(partitions, {}))


def _partitions(held: Json) -> Assigned:
    return {str(_topic_id(topic)): _epochs(partitions) for topic, partitions in held.items()}


def _tasks(held: Json) -> Assigned:
    return {
        f"{name.partition('Tasks')[0]} {subtopology}": _epochs(partitions)
        for name, subtopologies in held.items()
        if name != "class"
        for subtopology, partitions in subtopologies.items()
    }


def _epochs(held: Any) -> dict[int, int | None]:
    epochs = held if isinstance(held, dict) else dict.fromkeys(held)
    return {int(partition): epochs[partition] for partition in sorted(epochs, key=int)}


def _topic_id(text: str | None) -> UUID | None:
    """Kafka writes 22 characters of URL-safe base64."""
    return None if text is None else UUID(bytes=base64.urlsafe_b64decode(text + "=="))


def _sorted(names: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(sorted(names))
