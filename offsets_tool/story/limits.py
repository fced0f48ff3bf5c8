"""Sentences on the limits of a story or verdict: from where on the log is complete, and what no log of this topic can say."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.findings.finder import log_offset_text
from offsets_tool.findings.sentences import count

_NAMED: Final = 3
"""How many places are named before the rest is only counted."""
_UNSAID: Final = (
    "No log says which commits were refused, which heartbeats came or failed, why a member left, or who sent a request: "
    "such things are inferred from what was written."
)
_UNSAID_BESIDE: Final = (
    "This topic does not say which commits were refused, which heartbeats came or failed, why a member left, or who sent a "
    "request: what the brokers' own logs say of it is told with their lines, all else is inferred from what was written."
)


def unsaid(has_server_log: bool) -> str:
    """Return the sentence on what no record says, and from where the story takes it."""
    return _UNSAID_BESIDE if has_server_log else _UNSAID


def coverage_sentences(partitions: Iterable[PartitionSnapshot]) -> Iterator[str]:
    """Yield sentences: from where on the evidence is complete, and which records are missing before that."""
    there = list(partitions)
    missing = [each for each in there if each.coverage.missing]
    gone = sum(each.coverage.missing for each in missing)
    contradicted = [
        log_offset_text(each.log_partition, each.coverage.contradiction.log_offset)
        for each in there
        if each.coverage.contradiction
    ]
    yield completeness(
        [each.log_partition for each in there],
        [log_offset_text(each.log_partition, each.coverage.proven_from) for each in missing],
        f"{count(gone, 'record')} {'is' if gone == 1 else 'are'} gone ({_causes_of(missing)})",
        EvidenceLimits(
            contradicted,
            sum(each.unread_records for each in there),
            [each.log_partition for each in there if each.is_damaged or each.is_cut_off],
        ),
    )


class EvidenceLimits(NamedTuple):
    """What limits the evidence beside records that are missing."""

    contradicted: Sequence[str] = ()
    """The places from which on copies contradict each other."""
    unread: int = 0
    """How many records were not understood."""
    damaged: Sequence[int | None] = ()
    """The log partitions with bytes that could not be read, or that stand where they cannot."""


def completeness(
    log_partitions: Sequence[int | None], proven_from: Sequence[str], gone: str, limits: EvidenceLimits
) -> str:
    """Return a sentence on from where on the evidence is complete.

    `proven_from` has the places from which on it is, of the log partitions that lack records before; `gone` says how many.
    """
    if not log_partitions:
        return "The evidence has no record: nothing follows from it."
    but = _not_understood(limits.unread)
    if limits.contradicted:
        lacking = f" {gone}, and what only they told with them." if proven_from else ""
        return (
            f"The evidence is not complete: from {_places(limits.contradicted)} on copies contradict each other, "
            f"and only the records of one history are told{but}.{lacking}"
        )
    lost = _lost(limits.damaged)
    if proven_from:
        where = f"{_places(proven_from)} on" + (f", but {lost}" if lost else "")
        return f"{gone}, and what only they told with them; the evidence is complete from {where}{but}."
    if lost:
        return f"The evidence is not complete: {lost}{but}."
    one = _named(log_partitions[0]) if len(log_partitions) == 1 else None
    here = f"very record of {one or count(len(log_partitions), 'log partition')} is here"
    return f"E{here}{but}." if but else f"The evidence is complete: e{here}."


def _not_understood(records: int) -> str:
    """Return that records were not understood; nothing where all were."""
    set_by = "was not understood, and what it" if records == 1 else "were not understood, and what they"
    return f", but {count(records, 'record')} {set_by} set is unknown" if records else ""


def _lost(damaged: Sequence[int | None]) -> str:
    """Return that not all bytes of these log partitions could be read; nothing where all could."""
    if not damaged:
        return ""
    partitions = _named(damaged[0]) if len(damaged) == 1 else count(len(damaged), "log partition")
    return f"not all of {partitions} could be read"


def _places(places: Sequence[str]) -> str:
    """Return the first of some places in words, and how many more there are."""
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    return f"{', '.join(places[:_NAMED])}{more}"


def _named(log_partition: int | None) -> str:
    return "its log partition" if log_partition is None else f"partition {log_partition}"


def _causes_of(missing: Iterable[PartitionSnapshot]) -> str:
    partitions = list(missing)
    causes = ["compaction"]
    if any(each.begins for each in partitions):
        causes.append("segments that are not here")
    if any(each.is_damaged for each in partitions):
        causes.append("damage")
    return " or ".join(causes)
