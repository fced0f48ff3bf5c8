"""The declaration of a view, and the few SQL expressions that many views need. Knows no session."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from offsets_tool.wire.arrow import arrow_schema

_LAST_MILLISECOND: Final = 253_402_300_799_999
"""The last millisecond of the year 9999, the latest that a Spark timestamp can hold; Kafka takes any number from a client."""


_READ: Final = re.compile(r"(?<!DISTINCT )\b(?:FROM|JOIN)\s+(\w+)")
"""The name of a table or view after FROM or JOIN in SQL."""


class RowRule(NamedTuple):
    """What makes the rows of a view of the answer to its SQL, where that would say in other words what code says already."""

    row: type
    """The class of its rows: their columns, each with its sentence."""
    rows_of: Callable[[Iterable[Mapping[str, Any]]], Iterable[tuple[Any, ...]]]

    @property
    def comments(self) -> Mapping[str, str]:
        """Return the sentence of each column."""
        return {each.name: each.metadata[b"comment"].decode() for each in arrow_schema(self.row)}


class View(NamedTuple):
    """A view: what one row is, its SQL over tables and earlier views, and a sentence for each column that no table declares."""

    name: str
    comment: str
    sql: str
    columns: Mapping[str, str]
    rule: RowRule | None = None

    @property
    def reads(self) -> tuple[str, ...]:
        """The tables and views that its SQL reads, in the order in which it names them."""
        return tuple(dict.fromkeys(_READ.findall(self.sql)))


def at(milliseconds: str) -> str:
    """Return SQL that turns Kafka's milliseconds into a UTC timestamp; null for -1 and for numbers beyond the calendar."""
    return f"if({milliseconds} BETWEEN 0 AND {_LAST_MILLISECOND}, timestamp_millis({milliseconds}), NULL)"
