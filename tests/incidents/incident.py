"""What an incident declares: the broker, what is done to it, the user's complaint, and what must and must not be found.

Knows neither how a broker is started nor how findings are made.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tests.incidents.stage import Stage

Value = str | int | Sequence[str | int]
Expected = Mapping[str, Value]
"""Fields of a finding and the value that they have, or a list of those of which they have one.

Two are no fields. `during` is what a step of the story begins with, and the finding's time meets that of the step; `says` is in the
finding's title.
"""

ACT: Final = ("critical", "warning")
"""Severities of findings that ask somebody to act."""
LOUD: Final[Expected] = {"severity": ACT}
"""Any finding that asks somebody to act."""


class Incident(NamedTuple):
    """One incident: `act` does to a broker of `release` what `done` says in the operator's words."""

    name: str
    title: str
    release: str
    complaint: str
    done: str
    act: "Callable[[Stage], None]"
    must: tuple[Expected, ...]
    must_not: tuple[Expected, ...]
    properties: Mapping[str, str]


def incident(
    name: str,
    title: str,
    release: str,
    *,
    complaint: str,
    done: str,
    must: tuple[Expected, ...],
    must_not: tuple[Expected, ...],
    properties: Mapping[str, str] | None = None,
) -> "Callable[[Callable[[Stage], None]], Incident]":
    """Make an incident of the function that acts it."""

    def declared(act: "Callable[[Stage], None]") -> Incident:
        return Incident(name, title, release, complaint, done, act, must, must_not, properties or {})

    return declared


def found(kind: Value, group: str, **fields: Value) -> Expected:
    """Return the expectation of a finding: a kind, or some of which it may be one, of a group, with further fields."""
    return {"kind": kind, "group": group, **fields}


def loud(group: str) -> Expected:
    """Return the expectation of any finding of a group that asks somebody to act."""
    return {"group": group, **LOUD}
