"""What the declaration of a view is, and the few SQL expressions that many of them need. Knows no session."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_LAST_MILLISECOND: Final = 253_402_300_799_999
"""Of the year 9999, the last that a Spark timestamp can have; Kafka takes any number from a client."""


_READ: Final = re.compile(r"(?<!DISTINCT )\b(?:FROM|JOIN)\s+(\w+)")
"""What stands behind FROM and JOIN and is no subquery."""


class View(NamedTuple):
    """A view: what one row is, its SQL over tables and views before it, and a sentence for each column that is no table's."""

    name: str
    comment: str
    sql: str
    columns: Mapping[str, str]

    @property
    def reads(self) -> tuple[str, ...]:
        """The tables and views that its SQL names, as it names them first."""
        return tuple(dict.fromkeys(_READ.findall(self.sql)))


def at(milliseconds: str) -> str:
    """Kafka's milliseconds as a UTC timestamp; null for -1 and for what is no time."""
    return f"if({milliseconds} BETWEEN 0 AND {_LAST_MILLISECOND}, timestamp_millis({milliseconds}), NULL)"
