"""Did brokers of several releases write the log: one after the other, or in turn?

A log names no release; versions of values do, where clients have no say in them.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from offsets_tool.expiry.log_facts import VersionRange
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, found, log_finder
from offsets_tool.findings.partition_facts import PartitionFacts
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import at_time, from_time
from offsets_tool.records.kinds import GROUP_METADATA, OFFSET_COMMIT
from offsets_tool.survey import value_kind

CHANGED: Final = FindingKind(
    "broker_version_changed",
    Severity.NOTICE,
    "Records are of another version from some time on: brokers were upgraded, or inter.broker.protocol.version was raised.",
    "Compare with the time of your upgrade; rules of expiry and of deleted groups may differ before and after it.",
)
MIXED: Final = FindingKind(
    "broker_versions_mixed",
    Severity.NOTICE,
    "Records are of several versions in turn: brokers of different releases or settings led the partition.",
    "Finish the upgrade, or make metadata.version or inter.broker.protocol.version the same on all brokers.",
)
_ASKED_FOR: Final = (OFFSET_COMMIT, 1)
"""Commits that give their own expiry are of this version in all releases since 0.9."""


@log_finder(CHANGED, MIXED)
def find_versions(facts: PartitionFacts, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each version of a record type that came after another, or between two records of another."""
    by_type = defaultdict[int, list[tuple[int, VersionRange]]](list)
    for (type_id, version), where in facts.versions.items():
        is_asked = type_id in (OFFSET_COMMIT, GROUP_METADATA) and (type_id, version) != _ASKED_FOR
        if is_asked and version is not None:
            by_type[type_id].append((version, where))
    for type_id, some in by_type.items():
        in_order = sorted(some, key=lambda each: each[1].first_offset)
        for (version, before), (next_version, after) in pairwise(in_order):
            kinds = _kind(type_id, version), _kind(type_id, next_version)
            is_in_turn = after.first_offset < before.last_offset
            yield (_mixed if is_in_turn else _changed)(facts, kinds, before, after)


def _kind(type_id: int, version: int) -> str:
    return value_kind(type_id, version, None)


def _where(facts: PartitionFacts) -> str:
    return f"partition {'?' if facts.log_partition is None else facts.log_partition} of __consumer_offsets"


def _changed(
    facts: PartitionFacts, kinds: tuple[str, str], before: VersionRange, after: VersionRange
) -> Finding:
    return found(
        CHANGED,
        facts,
        Places(
            (after.first_offset, before.last_offset), before.last_at, _later(before.last_at, after.first_at)
        ),
        f"Brokers wrote {kinds[1]} to {_where(facts)}{from_time(after.first_at)}, and {kinds[0]} before"
        f"{at_time(before.last_at, 'that, until')}",
    )


def _mixed(
    facts: PartitionFacts, kinds: tuple[str, str], before: VersionRange, after: VersionRange
) -> Finding:
    last = min(before, after, key=lambda each: each.last_offset)
    return found(
        MIXED,
        facts,
        Places((after.first_offset, last.last_offset), after.first_at, _later(after.first_at, last.last_at)),
        f"Brokers wrote {kinds[0]} and {kinds[1]} to {_where(facts)} in turn{at_time(after.first_at, 'from')}"
        f"{at_time(last.last_at, 'to')}",
    )


def _later(one: int | None, other: int | None) -> int | None:
    return max((at for at in (one, other) if at is not None), default=None)
