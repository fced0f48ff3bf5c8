"""The records that a review names: choose those that are shown, the most important first, and attach their events."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from offsets_tool.events import Event
from offsets_tool.evidence.answers.cited_records import CitedPlace
from offsets_tool.findings.finder import log_offset_text, record_offsets
from offsets_tool.findings.rows import Finding
from offsets_tool.plans.rows import PlanRow
from offsets_tool.story.sentence import Sentence


class Citations(NamedTuple):
    """The records that a review names, by LOG_PARTITION:LOG_OFFSET, the most important first."""

    records: dict[str, list[Event]]
    """Several where copies differ."""
    named: int
    """How many places are named in all; those beyond the most that are kept are not in `records`."""


def places_to_cite(
    findings: Iterable[Finding], sentences: Iterable[Sentence], planned: Iterable[PlanRow], most: int
) -> tuple[list[CitedPlace], int]:
    """Return the log partitions and offsets of at most `most` records to show, and how many records are named in all.

    First come the first records of findings, then their further evidence, then the commits that a plan goes back to, then
    what sentences name.
    """
    shown = list(findings)
    first = ((each.log_partition, each.log_offset) for each in shown)
    of_sentences = (
        (each.log_partition, at) for each in sentences for at in (each.log_offset, each.last_log_offset)
    )
    back = ((row.log_partition, row.new_log_offset) for row in planned if row.new_log_offset is not None)
    places = list(dict.fromkeys(chain(first, _others(shown), back, of_sentences)))
    return places[:most], len(places)


def _others(findings: Iterable[Finding]) -> Iterator[CitedPlace]:
    for finding in findings:
        for log_offset in record_offsets(finding):
            yield finding.log_partition, log_offset


def citations(found: Mapping[CitedPlace, list[Event]], places: Iterable[CitedPlace], named: int) -> Citations:
    """Return the events by place, given in the order of `places_to_cite`, as citations."""
    return Citations({log_offset_text(*place): found[place] for place in places if place in found}, named)
