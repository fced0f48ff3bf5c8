"""Searches for the retention and check interval that explain a cluster's removals, where the user gave no such settings.

`Ages` are what a retention must explain: how old offsets were when they were removed, and how old the live ones are. They are small
sums, which can be made in parts and added up. Kafka's default holds unless removals prove another retention: several removals, at
several times, each at an age from that retention to little more, while no offset lasted longer. Deletions that clients asked for
would look so by chance one time in a thousand or less. Where fewer removals fit another retention, the default is in doubt.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import log
from typing import Final, NamedTuple

from offsets_tool.expiry.plausibility import CHECKED_MS, SLACK_MS, Expiries, expiries_of_kept, may_expire
from offsets_tool.expiry.removals import Removal
from offsets_tool.expiry.rules import CHECK_INTERVAL_MS, MINUTE_MS, Expiry, Policy, may_be_retention
from offsets_tool.wire.times import is_time

_MOST_MINUTES: Final = 1 << 31


class Age(NamedTuple):
    """The age of an offset in milliseconds: since retention began to count, and since it or its group was last written."""

    since_base: int
    since_written: int


class Fitting(NamedTuple):
    """The number of removals that a retention fits, and the time of the first and the last, epoch milliseconds."""

    removals: int
    first: int
    last: int


Minutes = tuple[int, int]
"""A retention fits a removal if it is more than the first number of minutes, and at most the second."""


@dataclass(slots=True)
class Ages:
    """Ages of removed and of live offsets, in a sum of little size.

    `oldest` has only the ages that no other exceeds in both numbers.
    """

    fitting: dict[Minutes, Fitting] = field(default_factory=dict)
    oldest: list[Age] = field(default_factory=list)

    def observe_removal(self, removal: Removal, found: Expiries, policy: Policy, *, is_new: bool) -> None:
        """Add a removal; `found` has when each of its offsets was to expire, by any retention."""
        at = removal.at
        if at is None or not is_time(at):
            return
        bases = []
        for removed, expiry in found:
            base = _base(expiry)
            if base is not None:
                bases.append(base)
                self._add(Age(at - base, at - max(removal.changed_at or 0, removed.committed_at or 0)))
        if bases and all(may_expire(*each) for each in found):
            kept = [
                base for each in expiries_of_kept(removal, policy, is_new=is_new) if (base := _base(each))
            ]
            fits = _minutes([at - base for base in kept], at - max(bases))
            self._fit(fits, Fitting(1, at, at))

    def observe_live(self, live: Iterable[tuple[Expiry, int]], now: int) -> None:
        """Add offsets that are live at `now`, each with when it or its group was last written."""
        for expiry, written_at in live:
            base = _base(expiry)
            if base is not None:
                self._add(Age(now - base, now - written_at))

    def add(self, other: "Ages") -> None:
        """Add the ages that another sum has collected, such as that of another log partition."""
        for minutes, fitting in other.fitting.items():
            self._fit(minutes, fitting)
        for age in other.oldest:
            self._add(age)

    def lateness(self, retention_ms: int) -> int:
        """Return by how much the latest offset outlived a retention, in milliseconds; at most 0 if none did."""
        late = (min(age.since_base - retention_ms, age.since_written) for age in self.oldest)
        return max(late, default=0)

    def fits(self, retention_ms: int) -> Fitting:
        """Return the removals that a retention of whole minutes fits."""
        minutes = retention_ms // MINUTE_MS
        return _sum({each: some for each, some in self.fitting.items() if each[0] < minutes <= each[1]})

    def _fit(self, minutes: Minutes, fitting: Fitting) -> None:
        known = self.fitting.get(minutes)
        self.fitting[minutes] = fitting if known is None else _sum({0: known, 1: fitting})

    def _add(self, age: Age) -> None:
        if any(_covers(each, age) for each in self.oldest):
            return
        self.oldest = [*(each for each in self.oldest if not _covers(age, each)), age]


def _covers(age: Age, other: Age) -> bool:
    return age.since_base >= other.since_base and age.since_written >= other.since_written


def _base(expiry: Expiry | None) -> int | None:
    """Return what retention counts from; None for an offset that does not expire."""
    if expiry is None or expiry.at is None or expiry.base_timestamp is None:
        return None
    return expiry.base_timestamp if is_time(expiry.base_timestamp) else None


def _minutes(kept: list[int], youngest: int) -> Minutes:
    above = max(((age - CHECKED_MS) // MINUTE_MS for age in kept), default=0)
    return max(0, above), min(youngest // MINUTE_MS, _MOST_MINUTES)


def _sum(some: Mapping[object, Fitting]) -> Fitting:
    parts = some.values()
    return Fitting(
        sum(each.removals for each in parts),
        min((each.first for each in parts), default=0),
        max((each.last for each in parts), default=0),
    )


_SURE: Final = log(1_000)
_DOUBTFUL: Final = log(10)
"""The evidence for each removal that puts the default in doubt."""
_ONCE_MS: Final = 1_000
"""Removals within this time are one script's, or one check's, and count as one observation."""


class Settings(NamedTuple):
    """Retention and check interval of a broker.

    `removals` is the number of removals that they were found by, 0 if they are the supposed ones. `is_in_doubt`: another retention
    fits, but too few removals prove it.
    """

    retention_ms: int
    check_interval_ms: int
    removals: int = 0
    is_in_doubt: bool = False


def search(
    supposed: Settings, ages: Ages, live: Callable[[], Ages], *, retention: bool, interval: bool
) -> Settings:
    """Return the settings: `retention` and `interval`, where asked for, as removals prove them, all others as supposed.

    `live` returns the ages of live offsets; it is called only where the removals fit other settings.
    """
    found = _searched(supposed, ages, retention=retention, interval=interval)
    if found == supposed:
        return supposed
    together = Ages()
    together.add(ages)
    together.add(live())
    return _searched(supposed, together, retention=retention, interval=interval)


def _searched(supposed: Settings, ages: Ages, *, retention: bool, interval: bool) -> Settings:
    found = _retention(supposed, ages) if retention else supposed
    return _interval(found, ages) if interval else found


def _retention(supposed: Settings, ages: Ages) -> Settings:
    """Return the retention with most evidence, if it is enough and more than for the supposed one."""
    interval = supposed.check_interval_ms
    best, most = supposed, _evidence(supposed.retention_ms, interval, ages)
    for minutes in sorted({high for _, high in ages.fitting}, reverse=True):
        retention = minutes * MINUTE_MS
        evidence = _evidence(retention, interval, ages) if may_be_retention(retention) else 0
        if evidence > most:
            best, most = _weighed(supposed, retention, ages, evidence), evidence
    return best


def _weighed(supposed: Settings, retention_ms: int, ages: Ages, evidence: float) -> Settings:
    """Return settings with this retention if the evidence for it is enough; else the supposed ones, perhaps marked as in doubt."""
    removals = ages.fits(retention_ms).removals
    if evidence > _SURE and _is_apart(retention_ms, ages):
        return Settings(retention_ms, supposed.check_interval_ms, removals)
    return supposed._replace(is_in_doubt=evidence > removals * _DOUBTFUL)


def _is_apart(retention_ms: int, ages: Ages) -> bool:
    _, first, last = ages.fits(retention_ms)
    return last - first > _ONCE_MS


def _evidence(retention_ms: int, check_interval_ms: int, ages: Ages) -> float:
    """Return how improbable it is that all removals that fit came by chance so soon after retention, as a logarithm."""
    late = max(0, ages.lateness(retention_ms))
    if late > check_interval_ms + SLACK_MS:
        return 0
    return ages.fits(retention_ms).removals * log((retention_ms + late) / (late + CHECKED_MS))


def _interval(found: Settings, ages: Ages) -> Settings:
    """Return the settings with the shortest check interval, in whole seconds, that fits, if it is far below the default."""
    removals = ages.fits(found.retention_ms).removals
    late = max(0, ages.lateness(found.retention_ms))
    is_short = 2 * late < CHECK_INTERVAL_MS
    if not is_short or removals * log(CHECK_INTERVAL_MS / (late + CHECKED_MS)) <= _SURE:
        return found
    if not _is_apart(found.retention_ms, ages):
        return found
    seconds = max(1, -(-late // 1_000))
    return found._replace(check_interval_ms=seconds * 1_000, removals=removals)
