"""The table of all finders and of all kinds of findings, found in the modules of the rooms, and the order of findings.

A module that declares a finder (`finder.finder`) is in the table by that alone.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Final

from offsets_tool import findings
from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Finder, LogFinder, record_offsets
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.partition_facts import PartitionFacts
from offsets_tool.findings.rows import Finding, FindingKind, Severity

_WORST_FIRST: Final = {severity.value: rank for rank, severity in enumerate(Severity)}
_LATEST: Final = 2**63


@cache
def finders() -> tuple[Finder, ...]:
    """Return every finder of groups that a module below `findings` declares, by the modules' names."""
    return tuple(value for value in _declared() if isinstance(value, Finder))


@cache
def log_finders() -> tuple[LogFinder, ...]:
    """Return every finder of log partitions that a module below `findings` declares, by the modules' names."""
    return tuple(value for value in _declared() if isinstance(value, LogFinder))


@cache
def _declared() -> tuple[object, ...]:
    below = pkgutil.walk_packages(findings.__path__, f"{findings.__name__}.")
    modules = [importlib.import_module(each.name) for each in below if not each.ispkg]
    return tuple(value for module in modules for value in vars(module).values())


@cache
def kinds() -> dict[str, FindingKind]:
    """Return every kind of finding by its name, in alphabetical order: a closed list."""
    declared = chain(
        (kind for each in finders() for kind in each.kinds),
        (kind for each in log_finders() for kind in each.kinds),
    )
    return dict(sorted((kind.name, kind) for kind in declared))


def find_all(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield all that any finder finds of one group."""
    for each in finders():
        for finding in each.find(rows, context):
            yield _as_sure(finding, context.contradicted_at.get(finding.log_partition))


def _as_sure(finding: Finding, contradicted_at: int | None) -> Finding:
    """Return a finding that is no surer than its records: across the place where copies part it may have been otherwise."""
    if contradicted_at is None or finding.confidence != Confidence.CERTAIN:
        return finding
    offsets = record_offsets(finding)
    if not offsets or not min(offsets) < contradicted_at <= max(offsets):
        return finding
    return finding._replace(
        confidence=Confidence.LIKELY.value, alternatives=(*finding.alternatives, "otherwise in another copy")
    )


def find_in_log(facts: PartitionFacts, context: LogContext) -> Iterator[Finding]:
    """Yield all that any finder finds of one log partition as a whole."""
    for each in log_finders():
        yield from each.find(facts, context)


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
