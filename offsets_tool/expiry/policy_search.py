"""Which retention, and how often checks came, explain the removals of a cluster whose broker's settings nobody named.

Kafka's default stands unless removals speak for another: several, at several times, each at an age from that retention to little
more, while nothing lasted longer. So exact by chance, deletions that clients asked for would be one time in a thousand or less.
Where fewer speak for another, the default stands in doubt.
"""

from collections.abc import Callable
from math import log
from typing import Final, NamedTuple

from offsets_tool.expiry.ages import Ages
from offsets_tool.expiry.plausibility import CHECKED_MS, SLACK_MS
from offsets_tool.expiry.rules import CHECK_INTERVAL_MS, MINUTE_MS, may_be_retention

_SURE: Final = log(1_000)
_DOUBTFUL: Final = log(10)
"""For each removal."""
_ONCE_MS: Final = 1_000
"""What one script, or one pass, removes at once tells once."""


class Settings(NamedTuple):
    """A broker's; `removals` is how many they were found by, 0 if they are what was supposed. `in_doubt`: so few removals speak for
    another retention that it stands."""

    retention_ms: int
    check_interval_ms: int
    removals: int = 0
    in_doubt: bool = False


def search(
    supposed: Settings, ages: Ages, left: Callable[[], Ages], *, retention: bool, interval: bool
) -> Settings:
    """The settings, those that are to be searched for and speak for themselves found, the others as supposed.

    `left`: ages of what is left, asked for only where what is gone speaks for other settings.
    """
    found = _searched(supposed, ages, retention=retention, interval=interval)
    if found == supposed:
        return supposed
    together = Ages()
    together.add(ages)
    together.add(left())
    return _searched(supposed, together, retention=retention, interval=interval)


def _searched(supposed: Settings, ages: Ages, *, retention: bool, interval: bool) -> Settings:
    found = _retention(supposed, ages) if retention else supposed
    return _interval(found, ages) if interval else found


def _retention(supposed: Settings, ages: Ages) -> Settings:
    """The retention with most evidence, if it is enough and more than for what is supposed."""
    interval = supposed.check_interval_ms
    best, most = supposed, _evidence(supposed.retention_ms, interval, ages)
    for minutes in sorted({high for _, high in ages.fitting}, reverse=True):
        retention = minutes * MINUTE_MS
        evidence = _evidence(retention, interval, ages) if may_be_retention(retention) else 0
        if evidence > most:
            best, most = _weighed(supposed, retention, ages, evidence), evidence
    return best


def _weighed(supposed: Settings, retention_ms: int, ages: Ages, evidence: float) -> Settings:
    """The retention if the evidence for it is enough, else what is supposed, and whether that is in doubt."""
    removals = ages.fits(retention_ms).removals
    if evidence > _SURE and _is_apart(retention_ms, ages):
        return Settings(retention_ms, supposed.check_interval_ms, removals)
    return supposed._replace(in_doubt=evidence > removals * _DOUBTFUL)


def _is_apart(retention_ms: int, ages: Ages) -> bool:
    _, first, last = ages.fits(retention_ms)
    return last - first > _ONCE_MS


def _evidence(retention_ms: int, check_interval_ms: int, ages: Ages) -> float:
    """How improbable it is that all removals that it fits came by chance so soon after it was over, as a logarithm."""
    late = max(0, ages.lateness(retention_ms))
    if late > check_interval_ms + SLACK_MS:
        return 0
    return ages.fits(retention_ms).removals * log((retention_ms + late) / (late + CHECKED_MS))


def _interval(found: Settings, ages: Ages) -> Settings:
    """The shortest time, in seconds, that checks need not have come more often than, if it is far less than the default."""
    removals = ages.fits(found.retention_ms).removals
    late = max(0, ages.lateness(found.retention_ms))
    is_short = 2 * late < CHECK_INTERVAL_MS
    if not is_short or removals * log(CHECK_INTERVAL_MS / (late + CHECKED_MS)) <= _SURE:
        return found
    if not _is_apart(found.retention_ms, ages):
        return found
    seconds = max(1, -(-late // 1_000))
    return found._replace(check_interval_ms=seconds * 1_000, removals=removals)
