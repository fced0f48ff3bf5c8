"""The results of checks of a lake: a row for each defect, and a row for each check that found none.

Knows no tables and no files.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from offsets_tool.findings.rows import Severity
from spark.check.lake import LakeToCheck

SEVERE: Final = (Severity.CRITICAL, Severity.WARNING)
"""The severities of what is wrong; a notice is about what may well be meant, or only takes room."""


class Defect(NamedTuple):
    """Something in a lake that is not as it must be: where, what is wrong in one sentence, and what to do."""

    where: str
    severity: Severity
    problem: str
    remedy: str


class Checked(NamedTuple):
    """The result of a check: what was looked at and where; with a problem, how bad it is and what to do."""

    what: str
    where: str
    is_ok: bool
    looked_at: int | None
    """How many things were looked at, where all of them are as they must be."""
    severity: Severity | None
    problem: str | None
    remedy: str | None


Looked = Iterator[Defect | None]
"""For each thing that is looked at None, or what is wrong with it."""


class Check(NamedTuple):
    """A check: its name, what it looks at in a word, and how it looks."""

    what: str
    where: str
    look: Callable[[LakeToCheck], Looked]
