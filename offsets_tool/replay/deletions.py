"""Why committed offsets went: a cause for each Gone of a Removal, how sure it is, what else fits, and where the log says so.

A cause is possible unless the broker's code or the log excludes it: what the group kept, whether its own record went too, who read
the topic, whether any group kept an offset of the topic that is said to be gone. `certain`: nothing else is possible; `likely`: it
fits exactly, and another would be a coincidence; `ambiguous`: both write the same records, and the first is only the more usual.
Source: GroupMetadataManager.cleanupGroupMetadata (classic); GroupCoordinatorShard, OffsetMetadataManager (new).
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from offsets_tool.replay.changes import ChangeKind, CommittedOffset, Group, GroupKind
from offsets_tool.replay.expiry import KIP_211, Policy, Release, Rule
from offsets_tool.replay.expiry_fit import Fit, fit_of
from offsets_tool.replay.losses import Ended, Gone, Removal
from offsets_tool.replay.membership import CONSUMER_PROTOCOL
from offsets_tool.replay.topic_losses import Topics

TOPIC_DELETION_FROM: Final[Release] = (0, 10, 2)
"""KAFKA-2000."""
DELETE_GROUPS_FROM: Final[Release] = (1, 1)
"""KIP-229."""
OFFSET_DELETE_FROM: Final[Release] = (2, 4)
"""KIP-496."""


class Cause(StrEnum):
    """What became of an offset."""

    RETENTION = "retention"
    """Expired: retention was over."""
    EXPIRE_TIMESTAMP = "expire_timestamp"
    """Expired: its own time was over."""
    UNSUBSCRIBED_TOPIC = "unsubscribed_topic"
    """Expired: retention was over and no member of the group read the topic any more."""
    OFFSETS_DELETED = "offsets_deleted"
    """A client deleted offsets (OffsetDelete, kafka-consumer-groups --delete-offsets)."""
    GROUP_DELETED = "group_deleted"
    """A client deleted the group (DeleteGroups, kafka-consumer-groups --delete)."""
    TOPIC_DELETED = "topic_deleted"
    """The topic was deleted."""
    ABORTED = "aborted"
    """Its transaction was aborted: it never counted."""
    SUPERSEDED = "superseded"
    """A newer commit stood there when its transaction was committed: it never counted."""
    UNKNOWN = "unknown"
    """Nothing that is known to write such a tombstone could have written this one."""


class Confidence(StrEnum):
    """How sure a cause is."""

    CERTAIN = "certain"
    LIKELY = "likely"
    AMBIGUOUS = "ambiguous"


class Deletion(NamedTuple):
    """Why an offset went. `at` is when (epoch milliseconds, None in magic 0), `expected_at` when by its rule it was to expire.

    `evidence` are places of the log, "partition:offset": the commit, the group as it was, the tombstone, the group's own; and what
    went elsewhere with it.
    """

    log_partition: int | None
    log_offset: int
    at: int | None
    group: str
    topic: str
    partition: int
    producer_id: int | None
    commit: CommittedOffset | None
    cause: Cause
    confidence: Confidence
    alternatives: tuple[Cause, ...]
    rule: Rule | None
    expected_at: int | None
    evidence: tuple[str, ...]


class Known(NamedTuple):
    """What an explanation may take for granted: whether release and retention are the broker's, or only supposed."""

    release: bool = True
    retention: bool = True


_ALL_KNOWN: Final = Known()
_OTHERS: Final = 3
"""How many other groups' losses are named as evidence."""
_EXPIRED_BY: Final = {
    Rule.EXPIRE_TIMESTAMP: Cause.EXPIRE_TIMESTAMP,
    Rule.UNSUBSCRIBED_TOPIC: Cause.UNSUBSCRIBED_TOPIC,
}


class Explanations:
    """Explains removals, given what happened to all topics. One that lies below `proven_from` of its partition is never certain."""

    def __init__(self, policy: Policy, topics: Topics, known: Known = _ALL_KNOWN) -> None:
        self._policy, self._topics, self._known = policy, topics, known

    def explain(self, removal: Removal, *, proven: bool = True) -> Iterator[Deletion]:
        """Every offset of a removal. `proven`: whether the log still has every record from before it."""
        fit = self._fit_of(removal)
        for gone in removal.gone:
            yield self._deletion(removal, gone, fit, proven)

    def _deletion(self, removal: Removal, gone: Gone, fit: Fit, proven: bool) -> Deletion:
        causes, confidence = self._judged(removal, gone, fit)
        if confidence is Confidence.CERTAIN and not proven:
            confidence = Confidence.LIKELY
        rule = gone.expiry
        return Deletion(
            removal.log_partition,
            gone.log_offset,
            removal.at,
            removal.group_id,
            gone.topic,
            gone.partition,
            gone.producer_id,
            gone.commit,
            causes[0],
            confidence,
            tuple(causes[1:]),
            rule.rule if rule else None,
            rule.at if rule else None,
            self._evidence(removal, gone, causes[0]),
        )

    def _judged(self, removal: Removal, gone: Gone, fit: Fit) -> tuple[list[Cause], Confidence]:
        """Possible causes, the most usual first."""
        expired = self._expired(gone, fit)
        requests = self._requests(removal, gone.topic)
        if not expired:
            return self._request(removal, gone.topic, requests)
        if fit is Fit.TIMELY and not self._is_topic_deletion(gone.topic, removal, requests):
            causes = [*expired, *requests]
            if len(expired) > 1:
                return causes, Confidence.AMBIGUOUS
            alone = len(causes) == 1 and all(self._known)
            return causes, Confidence.CERTAIN if alone else Confidence.LIKELY
        if not requests:
            return expired, Confidence.LIKELY
        causes = [*requests, *expired] if fit is Fit.OTHER_RETENTION else [*expired, *requests]
        return causes, Confidence.AMBIGUOUS

    def _expired(self, gone: Gone, fit: Fit) -> list[Cause]:
        """By which rule it expired, if it did. Up to 2.0 values have a time whoever asked for it: only retention tells which."""
        if fit is Fit.NONE:
            return []
        cause = _EXPIRED_BY.get(gone.expiry.rule, Cause.RETENTION) if gone.expiry else Cause.RETENTION
        in_doubt = (
            cause is Cause.EXPIRE_TIMESTAMP and self._policy.release < KIP_211 and not self._known.retention
        )
        return [cause, Cause.RETENTION] if in_doubt else [cause]

    def _request(self, removal: Removal, topic: str, requests: list[Cause]) -> tuple[list[Cause], Confidence]:
        """Which of several requests it was, where none expired."""
        if not requests:
            return [Cause.UNKNOWN], Confidence.AMBIGUOUS
        if len(requests) == 1:
            return requests, Confidence.CERTAIN if self._known.release else Confidence.LIKELY
        if self._is_topic_deletion(topic, removal, requests):
            return _first(Cause.TOPIC_DELETED, requests), Confidence.LIKELY
        if removal.group_gone_at is not None:
            return _first(Cause.GROUP_DELETED, requests), Confidence.LIKELY
        return requests, Confidence.AMBIGUOUS

    def _requests(self, removal: Removal, topic: str) -> list[Cause]:
        """Requests that can have written these tombstones, the most usual first."""
        possible = (
            (Cause.GROUP_DELETED, self._may_be_group(removal)),
            (Cause.OFFSETS_DELETED, self._may_be_offsets(removal, topic)),
            (Cause.TOPIC_DELETED, self._may_be_topic(removal, topic)),
        )
        return [cause for cause, may_be in possible if may_be]

    def _has(self, since: Release) -> bool:
        return not self._known.release or self._policy.release >= since

    def _may_be_group(self, removal: Removal) -> bool:
        """DeleteGroups takes all of a group without members, with its record if there is one: always, by the new coordinator."""
        if not self._has(DELETE_GROUPS_FROM) or removal.left or _members(removal):
            return False
        return removal.group_gone_at is not None or not (removal.is_new or _has_record(removal.group))

    def _may_be_offsets(self, removal: Removal, topic: str) -> bool:
        """OffsetDelete: of a group without members, or of a topic that its consumers do not read."""
        if not self._has(OFFSET_DELETE_FROM) or (removal.is_new and removal.group_gone_at is not None):
            return False
        if not _members(removal):
            return True
        reads = any(gone.subscribed for gone in removal.gone if gone.topic == topic)
        return not reads and _is_of_consumers(removal.group)

    def _may_be_topic(self, removal: Removal, topic: str) -> bool:
        """A topic's deletion leaves no group an offset of it; the new coordinator leaves the groups alone."""
        if not self._has(TOPIC_DELETION_FROM) or topic in removal.left_topics:
            return False
        if removal.is_new and removal.group_gone_at is not None:
            return False
        return removal.at is None or not self._topics.outlived(topic, removal.at)

    def _is_topic_deletion(self, topic: str, removal: Removal, requests: list[Cause]) -> bool:
        """Whether several groups lost the topic together, at least one of them neither by expiry nor with all that it had."""
        if Cause.TOPIC_DELETED not in requests:
            return False
        together = [removal, *self._topics.others(topic, removal)]
        told = [each for each in together if self._may_be_topic(each, topic)]
        return len({each.group_id for each in told}) > 1 and any(
            not self._may_be_group(each) and self._fit_of(each) is Fit.NONE for each in told
        )

    def _fit_of(self, removal: Removal) -> Fit:
        return fit_of(removal, self._policy, retention_known=self._known.retention)

    def _evidence(self, removal: Removal, gone: Gone, cause: Cause) -> tuple[str, ...]:
        known = [each.log_offset for each in (gone.commit, removal.group) if each is not None]
        offsets = [*known, gone.log_offset, removal.group_gone_at]
        places = [_place(removal.log_partition, offset) for offset in offsets if offset is not None]
        if cause is Cause.TOPIC_DELETED:
            others = self._topics.others(gone.topic, removal)[:_OTHERS]
            places += [_place(other.log_partition, other.gone[0].log_offset) for other in others]
        return tuple(dict.fromkeys(places))


def explain_ended(ended: Ended) -> Deletion:
    """A pending commit that its transaction's marker dropped: the marker says it."""
    pending, commit = ended.pending, ended.commit
    return Deletion(
        ended.log_partition,
        ended.log_offset,
        ended.at,
        pending.group,
        pending.topic,
        pending.partition,
        pending.producer_id,
        commit,
        Cause.ABORTED if ended.kind is ChangeKind.ABORTED else Cause.SUPERSEDED,
        Confidence.CERTAIN,
        (),
        None,
        None,
        (_place(ended.log_partition, commit.log_offset), _place(ended.log_partition, ended.log_offset)),
    )


def _first(cause: Cause, causes: list[Cause]) -> list[Cause]:
    return [cause, *(each for each in causes if each is not cause)]


def _members(removal: Removal) -> int:
    return removal.group.members if removal.group else 0


def _has_record(group: Group | None) -> bool:
    """Whether the classic coordinator deletes a record of its own with the group: one that has had a generation."""
    return group is not None and group.kind is not GroupKind.SIMPLE and group.generation != 0


def _is_of_consumers(group: Group | None) -> bool:
    return group is None or group.kind is not GroupKind.CLASSIC or group.protocol_type == CONSUMER_PROTOCOL


def _place(log_partition: int | None, log_offset: int) -> str:
    return f"{'' if log_partition is None else log_partition}:{log_offset}"
