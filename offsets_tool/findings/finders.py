"""The table of all finders and of all kinds of findings, found in the modules of the rooms, and the order of findings.

A module that declares a finder (`finder.finder`) is in the table by that alone.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from offsets_tool import findings
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Finder
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity

_WORST_FIRST: Final = {severity.value: rank for rank, severity in enumerate(Severity)}
_LATEST: Final = 2**63


@cache
def finders() -> tuple[Finder, ...]:
    """Return every finder that a module below `findings` declares, by the modules' names."""
    below = pkgutil.walk_packages(findings.__path__, f"{findings.__name__}.")
    modules = [importlib.import_module(each.name) for each in below if not each.ispkg]
    return tuple(value for module in modules for value in vars(module).values() if isinstance(value, Finder))


@cache
def kinds() -> dict[str, FindingKind]:
    """Return every kind of finding by its name, in alphabetical order: a closed list."""
    declared = (kind for each in finders() for kind in each.kinds)
    return dict(sorted((kind.name, kind) for kind in declared))


def find_all(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield all that any finder finds of one group."""
    for each in finders():
        yield from each.find(rows, context)


def worst_first(found: Iterable[Finding]) -> list[Finding]:
    """Return findings by severity, the worst first, then by time; those without a time last."""
    return sorted(
        found,
        key=lambda each: (
            _WORST_FIRST[each.severity],
            _LATEST if each.from_at is None else each.from_at,
            -1 if each.log_partition is None else each.log_partition,
            each.log_offset,
            each.kind,
            each.group or "",
            each.topic or "",
        ),
    )
