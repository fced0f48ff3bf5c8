"""How old offsets were that retention counts for: when they were removed, and those that are left. What a retention must explain.

Sums of little size, however many removals there are: they can be made anywhere and brought together. Decides nothing
(policy_search.py).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from offsets_tool.expiry.plausibility import CHECKED_MS, Expiries, expiries_left, may_expire
from offsets_tool.expiry.removals import Removal
from offsets_tool.expiry.rules import MINUTE_MS, Expiry, Policy
from offsets_tool.wire.times import is_time

_MOST_MINUTES: Final = 1 << 31


class Age(NamedTuple):
    """An offset's, in milliseconds: since what retention counts from, and since it or its group was last written."""

    since_base: int
    since_written: int


class Fitting(NamedTuple):
    """How many removals a retention fits, and from when to when they came, epoch milliseconds."""

    removals: int
    first: int
    last: int


Minutes = tuple[int, int]
"""A retention of so many minutes that it is more than the first, and not more than the second, fits a removal."""


@dataclass(slots=True)
class Ages:
    """`oldest`: ages of which none is below another in both numbers."""

    fitting: dict[Minutes, Fitting] = field(default_factory=dict)
    oldest: list[Age] = field(default_factory=list)

    def see_removal(self, removal: Removal, found: Expiries, policy: Policy, *, is_new: bool) -> None:
        """`found`: when each offset was to expire, by any retention."""
        at = removal.at
        if at is None or not is_time(at):
            return
        bases = []
        for gone, expiry in found:
            base = _base(expiry)
            if base is not None:
                bases.append(base)
                self._add(Age(at - base, at - max(removal.changed_at or 0, gone.committed_at or 0)))
        if bases and all(may_expire(*each) for each in found):
            kept = [base for each in expiries_left(removal, policy, is_new=is_new) if (base := _base(each))]
            fits = _minutes([at - base for base in kept], at - max(bases))
            self._fit(fits, Fitting(1, at, at))

    def see_left(self, left: Iterable[tuple[Expiry, int]], now: int) -> None:
        """Offsets that are there now, each with when it or its group was last written."""
        for expiry, written_at in left:
            base = _base(expiry)
            if base is not None:
                self._add(Age(now - base, now - written_at))

    def add(self, other: "Ages") -> None:
        """What was seen elsewhere."""
        for minutes, fitting in other.fitting.items():
            self._fit(minutes, fitting)
        for age in other.oldest:
            self._add(age)

    def lateness(self, retention_ms: int) -> int:
        """By how much the latest offset outlasted a retention; all that have not, 0."""
        late = (min(age.since_base - retention_ms, age.since_written) for age in self.oldest)
        return max(late, default=0)

    def fits(self, retention_ms: int) -> Fitting:
        """The removals that a retention of whole minutes fits."""
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
    """What retention counts from, of an offset that expires at all."""
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
