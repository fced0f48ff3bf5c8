"""A coordinator's state in few words, so that a table of stories can say what it expects.

A group: `classic Stable 15 consumer/range m1`, `consumer Reconciling 10/9` (group epoch, assignment epoch), then what else it has.
A member: `client/host/instance 10 STABLE owns 1:0,1 revokes 1:2 wants 1:0`, each part where there is such a record; 1 is a topic
id, for streams `active.` and the subtopology.
"""

from collections.abc import Iterable
from typing import Any, Final

from offsets_tool.replay.changes import Change, ChangeKind, CommittedOffset, Group, Member
from offsets_tool.replay.member_state import member_epoch, member_state
from offsets_tool.replay.state import State
from tests.replay.story import Anomaly, At, Open, Picture

_ROLES: Final = ("active_tasks", "standby_tasks", "warmup_tasks")


def picture(state: State, changes: Iterable[Change]) -> Picture:
    """Return the picture of a state, with the anomalies among the changes that led to it."""
    return Picture(
        offsets={
            (group, *place): _at(commit)
            for group, of in state.offsets.items()
            for place, commit in of.items()
        },
        pending={
            (producer, *place): _at(waiting.commit)._replace(deleted_at=waiting.deleted_at)
            for producer, of in state.pending.items()
            for place, waiting in of.items()
        },
        transactions={
            producer: Open(each.first_offset, each.last_offset, each.groups, each.commits)
            for producer, each in state.transactions.items()
        },
        groups={name: group_words(group) for name, group in state.groups.items()},
        members={
            group: {name: member_words(member) for name, member in members.items()}
            for group, members in state.members.items()
        },
        anomalies=tuple(
            Anomaly(each.log_offset, each.subject, each.note or "")
            for each in changes
            if each.kind is ChangeKind.ANOMALY
        ),
    )


def with_expected_notes(story: Picture, found: Picture) -> Picture:
    """Return the picture found, with each anomaly's note cut to the words that the story expects, where it has them."""
    cut = list(found.anomalies)
    for at, (expected, seen) in enumerate(zip(story.anomalies, found.anomalies, strict=False)):
        if expected.why in seen.why:
            cut[at] = seen._replace(why=expected.why)
    return Picture(**(vars(found) | {"anomalies": tuple(cut)}))


def _at(commit: CommittedOffset) -> At:
    return At(
        commit.committed_offset,
        commit.log_offset,
        commit.leader_epoch,
        commit.metadata,
        commit.expire_timestamp,
        commit.topic_id,
        commit.commit_timestamp,
    )


def group_words(group: Group) -> str:
    """Return a group in words: kind, state, generation or epochs, and its further fields."""
    if group.kind == "simple":
        return f"{group.kind} {group.state}"
    if group.kind == "classic":
        named = ["-" if name is None else name for name in (group.protocol_type, group.protocol)]
        words = [group.kind, group.state, str(group.generation), "/".join(named), group.leader]
        return " ".join(word for word in words if word is not None)
    words = [f"{group.kind} {group.state} {group.epoch}/{group.assignment_epoch}"]
    words += ["topics"] * (group.topics is not None) + ["shares"] * (group.share_partitions is not None)
    words += [f"topology {group.topology.data.epoch}"] if group.topology else []
    words += [f"{expression}={','.join(value.data.topics)}" for expression, value in group.expressions]
    return " ".join(words)


def member_words(member: Member) -> str:
    """Return a member in words: its client, epoch and state, and the partitions that it owns, revokes and is to own."""
    words = [_who(member)] if member.metadata else []
    if member.is_member and not hasattr(member.metadata, "assignment"):
        words.append(f"{member_epoch(member)} {member_state(member)}")
    if member.current:
        data = member.current.data
        owned = getattr(data, "assigned_partitions", None) or getattr(data, "topic_partitions", ())
        words += _named("owns", _partitions(owned) + _tasks(data, ""))
        revoked = getattr(data, "partitions_pending_revocation", ())
        words += _named("revokes", _partitions(revoked) + _tasks(data, "_pending_revocation"))
    if member.target:
        wanted = getattr(member.target.data, "topic_partitions", ())
        words += _named("wants", _partitions(wanted) + _tasks(member.target.data, "") or ["nothing"])
    return " ".join(words)


def _who(member: Member) -> str:
    data: Any = getattr(member.metadata, "data", member.metadata)
    instance = getattr(data, "group_instance_id", None) or getattr(data, "instance_id", None)
    return "/".join(filter(None, (data.client_id, data.client_host, instance)))


def _named(verb: str, held: list[str]) -> list[str]:
    return [verb, *held] if held else []


def _partitions(topics: Iterable[Any]) -> list[str]:
    return [f"{topic.topic_id.int}:{_numbers(topic)}" for topic in topics]


def _tasks(data: Any, suffix: str) -> list[str]:
    tasks = [(role, each) for role in _ROLES for each in getattr(data, role + suffix, ())]
    return [f"{role.partition('_')[0]}.{each.subtopology_id}:{_numbers(each)}" for role, each in tasks]


def _numbers(held: Any) -> str:
    return ",".join(str(partition) for partition in held.partitions)
