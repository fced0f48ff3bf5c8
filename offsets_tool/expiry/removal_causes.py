"""Why committed offsets were removed: a cause for each, how sure it is, what else fits, and where the log says so.

Works topic by topic, and compares expiry with the requests that write the same records (delete_requests.py). `certain`: nothing
else is possible; `likely`: it fits exactly, and another cause would be a coincidence; `ambiguous`: both write the same records,
and the first is only more usual.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from offsets_tool.expiry.causes import Cause, Confidence, Deletion, PolicyConfidence
from offsets_tool.expiry.delete_requests import Possible, Requests
from offsets_tool.expiry.plausibility import Plausibility
from offsets_tool.expiry.removals import DroppedCommit, LongestLifetime, RemovedOffset
from offsets_tool.expiry.rules import KIP_211, Expiry, Rule
from offsets_tool.expiry.topic_removals import TopicRemoval
from offsets_tool.expiry.topic_timeline import TopicTimeline
from offsets_tool.replay.changes import ChangeKind
from offsets_tool.wire.json import Release

_ALL_KNOWN: Final = PolicyConfidence()
_OTHERS: Final = 3
"""Number of other groups' removals that are named as evidence."""
_EXPIRED_BY: Final = {
    Rule.EXPIRE_TIMESTAMP: Cause.EXPIRE_TIMESTAMP,
    Rule.UNSUBSCRIBED_TOPIC: Cause.UNSUBSCRIBED_TOPIC,
}


class Explanations:
    """Explains removals of one topic, by the policy of each one's time and by what all groups lost of the topic."""

    def __init__(self, topic: TopicTimeline, known: PolicyConfidence = _ALL_KNOWN) -> None:
        self._topic, self._known = topic, known
        self._requests: dict[Release, Requests] = {}

    def explain(self, removal: TopicRemoval) -> Iterator[Deletion]:
        """Yield the explanation of every offset of a removal."""
        release = removal.policy.release
        requests = self._requests.setdefault(release, Requests(release, self._topic)).possible(removal)
        for removed, expiry in removal.removed:
            causes, confidence = self._judged(removal, expiry, requests)
            if confidence is Confidence.CERTAIN and not removal.is_proven:
                confidence = Confidence.LIKELY
            yield self._deletion(removal, removed, expiry, causes, confidence)

    def _deletion(
        self,
        removal: TopicRemoval,
        removed: RemovedOffset,
        expiry: Expiry | None,
        causes: list[Cause],
        confidence: Confidence,
    ) -> Deletion:
        return Deletion(
            removal.log_partition,
            removed.log_offset,
            removal.at,
            removal.group_id,
            removed.topic,
            removed.partition,
            removed.producer_id,
            removed.commit,
            causes[0],
            confidence,
            tuple(causes[1:]),
            expiry.rule if expiry else None,
            expiry.at if expiry else None,
            self._evidence(removal, removed, causes[0]),
            removal.policy,
        )

    def _judged(
        self, removal: TopicRemoval, expiry: Expiry | None, requests: Possible
    ) -> tuple[list[Cause], Confidence]:
        """Return the possible causes, the most usual first, and the confidence in that one."""
        expired = self._expired(expiry, removal)
        if not expired:
            return self._request(removal, requests)
        if requests.topic_at_once:
            return _first(Cause.TOPIC_DELETED, [*expired, *requests.causes]), Confidence.LIKELY
        if removal.plausibility is Plausibility.TIMELY and not requests.topic_together:
            return self._timely(expired, requests, removal)
        if not requests.causes:
            return expired, Confidence.LIKELY
        if removal.plausibility is Plausibility.OTHER_RETENTION:
            # In the order of what is supposed: another retention is one more thing that it can have been.
            return [*self._request(removal, requests)[0], *expired], Confidence.AMBIGUOUS
        return [*expired, *requests.causes], Confidence.AMBIGUOUS

    def _timely(
        self, expired: list[Cause], requests: Possible, removal: TopicRemoval
    ) -> tuple[list[Cause], Confidence]:
        """Return causes and confidence for offsets removed just when their rule expected it."""
        causes = [*expired, *requests.causes]
        if len(expired) > 1:
            return causes, Confidence.AMBIGUOUS
        alone = len(causes) == 1 and self._known.release and removal.is_retention_known
        return causes, Confidence.CERTAIN if alone else Confidence.LIKELY

    def _expired(self, expiry: Expiry | None, removal: TopicRemoval) -> list[Cause]:
        """Return the causes by which the offset can have expired; none if it cannot.

        Up to 2.0 every value has an expiry time, whoever asked for it: only the broker's retention tells which.
        """
        if removal.plausibility is Plausibility.NONE:
            return []
        cause = _EXPIRED_BY.get(expiry.rule, Cause.RETENTION) if expiry else Cause.RETENTION
        in_doubt = (
            cause is Cause.EXPIRE_TIMESTAMP
            and removal.policy.release < KIP_211
            and not removal.is_retention_known
        )
        return [cause, Cause.RETENTION] if in_doubt else [cause]

    def _request(self, removal: TopicRemoval, requests: Possible) -> tuple[list[Cause], Confidence]:
        """Return which of several requests it was, and how sure, for offsets that did not expire."""
        if not (requests.causes or self._known.release):
            # A broker may be newer than what it writes: inter.broker.protocol.version, held back.
            requests = Requests(None, self._topic).possible(removal)
        causes = requests.causes
        if not causes:
            return [Cause.UNKNOWN], Confidence.AMBIGUOUS
        if len(causes) == 1:
            return causes, Confidence.CERTAIN if self._known.release else Confidence.LIKELY
        if requests.topic_together:
            return _first(Cause.TOPIC_DELETED, causes), Confidence.LIKELY
        if removal.group_deleted_at is not None:
            return _first(Cause.GROUP_DELETED, causes), Confidence.LIKELY
        if Cause.GROUP_DELETED not in causes:
            # Topics are deleted every day, offsets of a whole topic hardly ever, and then of a topic that is gone.
            return _first(Cause.TOPIC_DELETED, causes), Confidence.AMBIGUOUS
        return causes, Confidence.AMBIGUOUS

    def _evidence(self, removal: TopicRemoval, removed: RemovedOffset, cause: Cause) -> tuple[str, ...]:
        known = [each.log_offset for each in (removed.commit, removal.group) if each is not None]
        offsets = [*known, removed.log_offset, removal.group_deleted_at]
        places = [_offset_text(removal.log_partition, offset) for offset in offsets if offset is not None]
        if cause is Cause.TOPIC_DELETED:
            others = islice(self._topic.others(removal), _OTHERS)
            places += [_offset_text(other.log_partition, other.first_offset) for other in others]
        return tuple(dict.fromkeys(places))


def explained_topic(
    removals: Sequence[TopicRemoval],
    longest: Iterable[LongestLifetime],
    until: int | None,
    known: PolicyConfidence,
) -> Iterator[Deletion]:
    """Yield a Deletion, with its cause, for each removed offset of a topic, of any group; `until` as in TopicTimeline."""
    explanations = Explanations(TopicTimeline(removals, longest, until), known)
    return (removed for removal in removals for removed in explanations.explain(removal))


def explain_dropped(dropped: DroppedCommit) -> Deletion:
    """Return why a pending commit was dropped: its transaction's marker says it."""
    pending, commit = dropped.pending, dropped.commit
    return Deletion(
        dropped.log_partition,
        dropped.log_offset,
        dropped.at,
        pending.group,
        pending.topic,
        pending.partition,
        pending.producer_id,
        commit,
        Cause.ABORTED if dropped.kind is ChangeKind.ABORTED else Cause.SUPERSEDED,
        Confidence.CERTAIN,
        (),
        None,
        None,
        (
            _offset_text(dropped.log_partition, commit.log_offset),
            _offset_text(dropped.log_partition, dropped.log_offset),
        ),
        None,
    )


def _first(cause: Cause, causes: list[Cause]) -> list[Cause]:
    return [cause, *(each for each in causes if each is not cause)]


def _offset_text(log_partition: int | None, log_offset: int) -> str:
    return f"{'' if log_partition is None else log_partition}:{log_offset}"
