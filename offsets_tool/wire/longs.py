"""Numbers of 64 bits, as Kafka's fields and the lake's columns have them, and differences that stay within.

A difference of two such numbers may need 65 bits: it is bounded, so that its sign holds and no row is lost for it. Knows nothing
about what is counted.
"""

from typing import Final

MAX_LONG: Final = 2**63 - 1
MIN_LONG: Final = -(2**63)


def bounded(number: int) -> int:
    """Return the number if it fits 64 bits, else the nearest number that does."""
    return min(max(number, MIN_LONG), MAX_LONG)


def difference(number: int, less: int) -> int:
    """Return `number - less`, bounded to 64 bits."""
    return bounded(number - less)


def wrapped(number: int) -> int:
    """Return the number as Java's sum of two longs has it: its lowest 64 bits, with a sign."""
    return number if MIN_LONG <= number <= MAX_LONG else (number - MIN_LONG) % 2**64 + MIN_LONG
