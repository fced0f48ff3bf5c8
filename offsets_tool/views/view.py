"""What the declaration of a view is, and the few SQL expressions that many of them need. Knows no session."""

from collections.abc import Mapping
from typing import Final, NamedTuple

_LAST_MILLISECOND: Final = 253_402_300_799_999
"""Of the year 9999, the last that a Spark timestamp can have; Kafka takes any number from a client."""


class View(NamedTuple):
    """A view: what one row is, its SQL over tables and views before it, a sentence for each column that is no table's, and the
    tables beyond `log`, `events` and `sources` that it needs."""

    name: str
    comment: str
    sql: str
    columns: Mapping[str, str]
    needs: tuple[str, ...] = ()


def at(milliseconds: str) -> str:
    """Kafka's milliseconds as a UTC timestamp; null for -1 and for what is no time."""
    return f"if({milliseconds} BETWEEN 0 AND {_LAST_MILLISECOND}, timestamp_millis({milliseconds}), NULL)"
