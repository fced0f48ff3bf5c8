"""The release and the retention by which a log's offsets expire, as far as the log proves them.

A log names no release. Versions of values, record types and the coordinator's own batches give a range, and the newest of the
range stands for it: they have one rule, unless `inter.broker.protocol.version` was held back. Up to 2.0 the values hold the
broker's retention; later Kafka's default is supposed, unless removals prove another. Where brokers were upgraded, what was removed
before is judged by the earlier release.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import reduce
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import PolicyConfidence
from offsets_tool.expiry.log_facts import LogFacts, TypeVersion
from offsets_tool.expiry.policy_search import Ages, Settings, search
from offsets_tool.expiry.rules import (
    CHECK_INTERVAL_MS,
    KIP_211,
    MINUTE_MS,
    EarlierPolicy,
    Policy,
    WrittenRetention,
    default_retention_ms,
    may_be_retention,
)
from offsets_tool.records.kinds import (
    GROUP_METADATA,
    LEGACY_OFFSET_COMMIT,
    NEWEST,
    OFFSET_COMMIT,
    RECORD_TYPES,
)
from offsets_tool.replay.rules import TOPIC_ID_VERSION
from offsets_tool.wire.json import Release, release_of


class Basis(NamedTuple):
    """A Policy and the reasons for each setting, in words; None for a setting that the user gave.

    `known` says how far explanations may rely on it. `interval_by` is also None where Kafka's default is supposed.
    """

    policy: Policy
    release_by: str | None
    retention_by: str | None
    interval_by: str | None = None
    known: PolicyConfidence = PolicyConfidence()


class _NewestRelease(NamedTuple):
    """The newest release that writes what a log has and nothing newer, and words for what the log has."""

    release: Release
    words: str


_Evidence = frozenset[TypeVersion]
_BEFORE_2_1: Final[_Evidence] = frozenset({(GROUP_METADATA, 0), (GROUP_METADATA, 1)})
_FROM_2_1: Final[_Evidence] = frozenset(
    {
        *((GROUP_METADATA, version) for version in (2, 3, 4)),
        *((OFFSET_COMMIT, version) for version in (2, 3, 4)),
    }
)
_BEFORE_2_3: Final[_Evidence] = frozenset({(GROUP_METADATA, 2)})
_FROM_2_3: Final[_Evidence] = frozenset({(GROUP_METADATA, 3), (GROUP_METADATA, 4), (OFFSET_COMMIT, 4)})
_UPGRADES: Final = ((_BEFORE_2_1, _FROM_2_1), (_BEFORE_2_3, _FROM_2_3))
"""Upgrades that change when offsets expire, the first ones first: records that only the brokers before write, and only those after.

From 2.3 on group metadata has version 3: brokers of 2.3 are told from those of 2.4 on (KIP-496) by nothing.
"""
_OWN_EXPIRY: Final = (OFFSET_COMMIT, 1)
"""Commits of brokers up to 2.0, which write an expire timestamp into each; later only where the client asked for one (KIP-211)."""

_BY_DEFAULT: Final = "Kafka's default"
_BY_VALUES: Final = "as most values say"
_MANY: Final = 10
_WITH_TOPIC_IDS: Final[Release] = (4, 1)
"""The release since which coordinators write topic ids into commits; streams groups came with it."""
_LATER_TYPES: Final = frozenset(
    each.id for each in RECORD_TYPES.values() if release_of(each.since) >= _WITH_TOPIC_IDS
)
_CLASSIC_RELEASES: Final = (
    (GROUP_METADATA, {3, 4}, _NewestRelease((3, 9), "group metadata of version 3: 2.3 to 3.9")),
    (GROUP_METADATA, {2}, _NewestRelease((2, 2), "group metadata of version 2: 2.1 or 2.2")),
    (OFFSET_COMMIT, {2, 3}, _NewestRelease((3, 9), "commits of version 2 or 3: 2.1 to 3.9")),
    (GROUP_METADATA, {1}, _NewestRelease((2, 0), "group metadata of version 1: 0.10.1 to 2.0")),
    (GROUP_METADATA, {0}, _NewestRelease((0, 10, 0), "group metadata of version 0: 0.9 to 0.10.0")),
    (OFFSET_COMMIT, {1}, _NewestRelease((2, 0), "commits of version 1, no group metadata: 0.9 to 2.0")),
    (LEGACY_OFFSET_COMMIT, {0}, _NewestRelease((0, 8, 2), "keys of type 0 alone: 0.8.2")),
)
"""Record type, versions of its values, what they prove; the first that applies counts."""


class _Times(NamedTuple):
    """When the first and the last record of a type and version was written, epoch milliseconds; None where none has a time."""

    first: int | None
    last: int | None

    def joined(self, other: "_Times") -> "_Times":
        """Return the times that have both."""
        first = [time for time in (self.first, other.first) if time is not None]
        last = [time for time in (self.last, other.last) if time is not None]
        return _Times(min(first, default=None), max(last, default=None))


class ClusterFacts:
    """The facts of all log partitions of a cluster, and the release and retention that they prove."""

    def __init__(self) -> None:
        self._seen: dict[TypeVersion, _Times] = {}
        self._new = False
        self._lasting: Counter[int] = Counter()

    def add(self, log: LogFacts) -> None:
        """Add the facts of one partition; the order does not matter."""
        for type_version, where in log.seen.items():
            times = _Times(where.first_at, where.last_at)
            earlier = self._seen.get(type_version)
            self._seen[type_version] = times if earlier is None else earlier.joined(times)
        self._new = self._new or log.is_new
        self._lasting.update(log.lasting)

    def basis(
        self, release: Release | None, retention_ms: int | None, check_interval_ms: int | None
    ) -> Basis:
        """Return the policy with its reasons: each setting as given, else as the log proves it, else Kafka's default."""
        newest = self._newest_release(self._seen.keys(), is_new=self._new) if release is None else None
        rules = release or (newest.release if newest else ())
        found, words = self._retention(rules) if retention_ms is None else (retention_ms, None)
        interval = CHECK_INTERVAL_MS if check_interval_ms is None else check_interval_ms
        known = PolicyConfidence(release is not None, words is None or self._is_plain(words, found))
        before = self._before(retention_ms, interval)
        policy = Policy(rules, found, interval, None if release else before, _written(before, rules))
        return Basis(policy, newest.words if newest else None, words, None, known)

    def _before(self, retention_ms: int | None, check_interval_ms: int) -> EarlierPolicy | None:
        """Return the policy before the last upgrade of the brokers, which has that before an earlier one; None without one."""
        earlier: EarlierPolicy | None = None
        for before, after in _UPGRADES:
            until = self._times(self._after(after)).first
            evidence = before & self._seen.keys()
            if not evidence and before is _BEFORE_2_1:
                evidence = self._only_commits(until)
            times = self._times(evidence)
            if until is None or times.first is None or times.last is None or times.first >= until:
                continue
            written = [
                type_version
                for type_version, type_times in self._seen.items()
                if type_times.first is not None and type_times.first < until
            ]
            newest = self._newest_release(written, is_new=False)
            retention, words = self._retention(newest.release)
            if words == _BY_DEFAULT and retention_ms is not None:
                retention = retention_ms
            policy = Policy(
                newest.release, retention, check_interval_ms, earlier, _written(earlier, newest.release)
            )
            is_known = retention_ms == retention or self._is_plain(words, retention)
            earlier = EarlierPolicy(policy, until, max(until, times.last), is_known, newest.words)
        return earlier

    def _after(self, after: _Evidence) -> Iterable[TypeVersion]:
        """Return what was seen that only brokers after an upgrade write: of classic types, and all that came later."""
        return (
            type_version
            for type_version in self._seen
            if type_version in after or type_version[0] > GROUP_METADATA
        )

    def _only_commits(self, until: int | None) -> _Evidence:
        """Return commits of version 1, where all are of before a time and expire after one retention: brokers up to 2.0 wrote them.

        Of a client that asks for its own retention, brokers from 2.1 on write this version, too.
        """
        times = self._seen.get(_OWN_EXPIRY)
        if until is None or times is None or times.last is None or times.last >= until:
            return frozenset()
        retention, words = self._retention((2, 0))
        is_written = words == _BY_VALUES and self._is_plain(words, retention)
        return frozenset({_OWN_EXPIRY}) if is_written else frozenset()

    def _times(self, type_versions: Iterable[TypeVersion]) -> _Times:
        return reduce(
            _Times.joined, (self._seen[type_version] for type_version in type_versions), _Times(None, None)
        )

    def _retention(self, release: Release) -> tuple[int, str]:
        if release < KIP_211 and (possible := list(filter(may_be_retention, self._lasting))):
            return max(possible, key=lambda each: (self._lasting[each], each)), _BY_VALUES
        return default_retention_ms(release), _BY_DEFAULT

    def _is_plain(self, words: str, retention_ms: int) -> bool:
        """Return whether nothing contradicts a retention that was not given: it is the default, or nearly all commits have it."""
        many, by = self._lasting.total(), self._lasting[retention_ms]
        return words == _BY_DEFAULT or (by >= _MANY and 4 * by > 3 * many)

    @staticmethod
    def _newest_release(seen: Collection[TypeVersion], *, is_new: bool) -> _NewestRelease:
        """Return the newest release that writes what was seen; `is_new`: the new coordinator wrote some of it."""
        if (OFFSET_COMMIT, TOPIC_ID_VERSION) in seen or any(type_id in _LATER_TYPES for type_id, _ in seen):
            return _NewestRelease(NEWEST, "commits of version 4 or streams groups: 4.1 or later")
        if is_new:
            return _NewestRelease(
                (4, 0), "the new coordinator's records, no commits of version 4: 4.0, or 3.7 to 3.9"
            )
        releases = (
            newest
            for type_id, versions, newest in _CLASSIC_RELEASES
            if any((type_id, version) in seen for version in versions)
        )
        return next(releases, _NewestRelease(NEWEST, "nothing in the log tells"))


def _written(earlier: EarlierPolicy | None, release: Release) -> WrittenRetention | None:
    """Return the retention that brokers up to 2.0 wrote into commits, for a later release; None without such brokers."""
    if earlier is None or release < KIP_211:
        return None
    if earlier.policy.release < KIP_211:
        return WrittenRetention(earlier.policy.retention_ms, earlier.last)
    return earlier.policy.written


def by_removals(basis: Basis, ages: Ages, live: Callable[[], Ages], *, interval_given: bool) -> Basis:
    """Return the basis with the settings that removals prove in the place of Kafka's defaults.

    `live` returns the ages of live offsets, for `search`.
    """
    policy = basis.policy
    supposed = Settings(policy.retention_ms, policy.check_interval_ms)
    is_default = basis.retention_by == _BY_DEFAULT
    found = search(supposed, ages, live, retention=is_default, interval=not interval_given)
    if found == supposed:
        return basis
    policy = policy._replace(retention_ms=found.retention_ms, check_interval_ms=found.check_interval_ms)
    known = basis.known._replace(retention=basis.known.retention and not found.is_in_doubt)
    said = basis._replace(policy=policy, known=known)
    by = f"{found.removals} removals fit that"
    if found.check_interval_ms != supposed.check_interval_ms:
        said = said._replace(interval_by=by)
    if found.retention_ms != supposed.retention_ms:
        minutes = found.retention_ms // MINUTE_MS
        said = said._replace(retention_by=f"as if offsets.retention.minutes were {minutes}: {by}")
    return said
