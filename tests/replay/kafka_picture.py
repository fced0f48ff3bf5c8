"""What Kafka's own loader holds, in the words of tests/replay/picture.py; and a story's picture without what Kafka cannot tell."""

from collections.abc import Mapping
from uuid import UUID

from offsets_tool.replay.rules import Rules
from oracle.loaded import Assigned, LoadedGroup, LoadedMember, LoadedOffset, LoadedState
from tests.replay.story import At, Picture, believed

_FIRST_JOIN = "classic Empty 0 -/-"
"""A group that nobody has joined yet is to Kafka as one that only has offsets."""


def tellable(picture: Picture, rules: Rules, batches: Mapping[int, int]) -> Picture:
    """Return a picture without what Kafka cannot show: open transactions, anomalies, topics of types 4, 9 and 18.

    The classic coordinator knows no topic ids, and of a commit the batch: `batches` has each record's base offset.
    """

    def at(told: At) -> At:
        if rules is Rules.NEW:
            return told._replace(deleted_at=None)
        return told._replace(deleted_at=None, topic_id=None, log_offset=batches[told.log_offset])

    groups = {name: words.replace(" topics", "") for name, words in picture.groups.items()}
    return believed(
        offsets={place: at(told) for place, told in picture.offsets.items()},
        pending={place: at(told) for place, told in picture.pending.items()},
        groups={name: "simple Empty" if words == _FIRST_JOIN else words for name, words in groups.items()},
        members=picture.members,
    )


def kafka_picture(state: LoadedState) -> Picture:
    """Return the picture of Kafka's state: offsets, pending commits, groups and members."""
    groups = state.groups
    return believed(
        offsets={place: _at(held) for place, held in state.offsets.items()},
        pending={
            (producer, *place): _at(held)
            for producer, of in state.pending.items()
            for place, held in of.items()
        },
        groups={name: _group(group) for name, group in groups.items()},
        members={name: members for name, group in groups.items() if (members := _members(group))},
    )


def _at(held: LoadedOffset) -> At:
    assert held.record_offset is not None
    return At(
        held.committed_offset,
        held.record_offset,
        held.leader_epoch,
        held.metadata,
        held.expire_timestamp,
        held.topic_id,
        held.commit_timestamp,
    )


def _group(group: LoadedGroup) -> str:
    if group.kind == "simple":
        return f"{group.kind} {group.state}"
    if group.kind == "classic":
        named = ["-" if name is None else name for name in (group.protocol_type, group.protocol)]
        words = [group.kind, group.state, str(group.generation), "/".join(named), group.leader]
        return " ".join(word for word in words if word is not None)
    words = [f"{group.kind} {group.state} {group.epoch}/{group.assignment_epoch}"]
    words += ["shares"] if group.share_topics else []
    words += [] if group.topology_epoch is None else [f"topology {group.topology_epoch}"]
    words += [f"{text}={','.join(each.topics)}" for text, each in sorted(group.regular_expressions.items())]
    return " ".join(words)


def _members(group: LoadedGroup) -> dict[str, str]:
    words = {name: _member(group.kind, member) for name, member in group.members.items()}
    for name, target in group.target.items():
        words.setdefault(name, []).extend(["wants", *(_held(target) or ["nothing"])])
    return {name: " ".join(filter(None, each)) for name, each in words.items()}


def _member(kind: str, member: LoadedMember) -> list[str]:
    words = ["/".join(filter(None, (member.client_id, member.client_host, member.instance_id)))]
    if kind != "classic":
        # A streams member that has no assignment yet has neither.
        words += [str(member.member_epoch or 0), member.state or "STABLE"]
    return words + _named("owns", member.assigned) + _named("revokes", member.pending_revocation)


def _named(verb: str, held: Assigned) -> list[str]:
    return [verb, *_held(held)] if held else []


def _held(held: Assigned) -> list[str]:
    return [f"{_named_as_we(name)}:{','.join(map(str, sorted(of)))}" for name, of in held.items()]


def _named_as_we(name: str) -> str:
    """Return our name of a topic or subtopology: the number of the topic's id, or task kind and subtopology."""
    return name.replace(" ", ".") if " " in name else str(UUID(name).int)
