"""The declaration of a finder: the function that answers one question, and the kinds of findings that it may yield.

A question is asked of each group (`finder`), or of each log partition as a whole (`log_finder`).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, Protocol

from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.partition_facts import PartitionFacts
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.server_log.server_line import ServerLine

GroupQuestion = Callable[[GroupRows, LogContext], Iterator[Finding]]
"""From all rows of one group in one log partition to what is found in them."""


LogQuestion = Callable[[PartitionFacts, LogContext], Iterator[Finding]]
"""From what is known of one log partition as a whole to what is found in it."""


class Finder(NamedTuple):
    """A finder of groups: the function that answers one question about a group, and the kinds of findings it may yield."""

    find: GroupQuestion
    kinds: tuple[FindingKind, ...]


class LogFinder(NamedTuple):
    """A finder of log partitions: the function that answers one question about one, and the kinds of findings it may yield."""

    find: LogQuestion
    kinds: tuple[FindingKind, ...]


def finder(*kinds: FindingKind) -> Callable[[GroupQuestion], Finder]:
    """Declare a function as a finder of these kinds: `finders.finders` finds it in any module of the rooms."""

    def declare(find: GroupQuestion) -> Finder:
        return Finder(find, kinds)

    return declare


def log_finder(*kinds: FindingKind) -> Callable[[LogQuestion], LogFinder]:
    """Declare a function as a finder of these kinds about log partitions; `finders.log_finders` finds it in any room's modules."""

    def declare(find: LogQuestion) -> LogFinder:
        return LogFinder(find, kinds)

    return declare


class About(Protocol):
    """What a finding is about: a group in a log partition, or with None a log partition as a whole."""

    @property
    def group(self) -> str | None:
        """The group; None if it is about the log."""

    @property
    def log_partition(self) -> int | None:
        """The log partition; None where nothing says its number."""


class Places(NamedTuple):
    """The records that show a finding, by log offset and the most telling first, and its span of time in epoch milliseconds."""

    log_offsets: tuple[int, ...]
    from_at: int | None = None
    to_at: int | None = None


MOST_PLACES: Final = 20
"""The most places that one finding names: enough to look at, and a row stays a row."""


def found(
    kind: FindingKind,
    about: About,
    places: Places,
    title: str,
    *,
    confidence: Confidence = Confidence.CERTAIN,
    lines: Iterable[ServerLine] = (),
    **more: Any,
) -> Finding:
    """Return a finding about a group, or about the log; `more` are further fields of Finding.

    `lines` of the brokers' logs that state its cause are added to the evidence, behind the records.
    """
    log_offsets = tuple(dict.fromkeys(places.log_offsets))
    fields: dict[str, Any] = {
        "kind": kind.name,
        "severity": kind.severity,
        "group": about.group,
        "topic": None,
        "partition": None,
        "from_at": time_or_none(places.from_at),
        "to_at": time_or_none(places.to_at),
        "confidence": confidence,
        "alternatives": (),
        "title": title,
        "remedy": kind.remedy,
        "evidence": (
            *(log_offset_text(about.log_partition, each) for each in log_offsets[:MOST_PLACES]),
            *dict.fromkeys(line.source for line in lines),
        ),
        "log_partition": about.log_partition,
        "log_offset": log_offsets[0],
    }
    return _plain(fields | more)


def _plain(fields: dict[str, Any]) -> Finding:
    """Return the finding with values of enumerations as plain texts."""
    fields["severity"] = Severity(fields["severity"]).value
    fields["confidence"] = Confidence(fields["confidence"]).value
    return Finding(**fields)


def time_or_none(timestamp: int | None) -> int | None:
    """Return epoch milliseconds; None for Kafka's "no timestamp"."""
    return None if timestamp is None or timestamp < 0 else timestamp


def log_offset_text(log_partition: int | None, log_offset: int) -> str:
    """Return "LOG_PARTITION:LOG_OFFSET"; the first part is empty where no source says the partition."""
    return f"{'' if log_partition is None else log_partition}:{log_offset}"


def places_and_lines(finding: Finding) -> tuple[list[str], list[str]]:
    """Return the evidence of a finding in two lists: records as LOG_PARTITION:LOG_OFFSET, and lines of brokers' logs."""
    own = log_offset_text(finding.log_partition, 0).removesuffix("0")
    places = [each for each in finding.evidence if each.startswith(own)]
    return places, [each for each in finding.evidence if not each.startswith(own)]


def record_offsets(finding: Finding) -> list[int]:
    """Return the log offsets of the records that a finding names, the most telling first."""
    return [int(place.rpartition(":")[2]) for place in places_and_lines(finding)[0]]


def told_at(finding: Finding) -> int | None:
    """Return when a finding happened, epoch milliseconds: at its end where the record that it names first is its last."""
    offsets = record_offsets(finding)
    is_end = len(offsets) > 1 and offsets[0] == max(offsets)
    return finding.to_at if is_end and finding.to_at is not None else finding.from_at
