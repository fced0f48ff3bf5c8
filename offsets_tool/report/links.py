"""The links of a page between statements and records: anchors of findings, sentences and records."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from offsets_tool.findings.finder import places_and_lines
from offsets_tool.findings.rows import Finding
from offsets_tool.report.bounds import PLACES
from offsets_tool.story.sentence import Sentence

_BACK: Final = 8
"""Statements that a record links back to."""


class PlaceLink(NamedTuple):
    """A record by LOG_PARTITION:LOG_OFFSET, and its anchor; None where the page does not have it."""

    text: str
    anchor: str | None


class ShownBy(NamedTuple):
    """The evidence of a statement: links to records, how many more there are, and lines of brokers' logs."""

    places: list[PlaceLink]
    more: int
    lines: list[str]


class BackLink(NamedTuple):
    """A link from a record back to a statement that names it."""

    text: str
    anchor: str


def record_anchor(place: str) -> str:
    """Return the anchor of a record; it consists of numbers, so nothing in it can be taken for markup."""
    number, _, log_offset = place.rpartition(":")
    return f"record-{number or 'x'}-{log_offset}"


class PageLinks:
    """The anchors of the findings, sentences and records of a page."""

    def __init__(
        self, findings: Sequence[Finding], timeline: Sequence[Sentence], records: Collection[str]
    ) -> None:
        """Link the findings, sentences and records that the page shows; `records` are given by log partition and offset."""
        self._records = frozenset(records)
        self._findings = {each: f"finding-{number}" for number, each in enumerate(findings, 1)}
        self._back: dict[str, list[BackLink]] = defaultdict(list)
        for number, finding in enumerate(findings, 1):
            self._name(places_and_lines(finding)[0], BackLink(f"finding {number}", f"finding-{number}"))
        for number, sentence in enumerate(timeline, 1):
            if sentence.finding is None:
                self._name(sentence.places, BackLink(f"event {number}", f"event-{number}"))

    def _name(self, places: Iterable[str], link: BackLink) -> None:
        for place in places:
            if place in self._records and len(self._back[place]) < _BACK:
                self._back[place].append(link)

    def finding(self, finding: Finding) -> str | None:
        """Return the anchor of a finding; None where the page has no section for it."""
        return self._findings.get(finding)

    def of_finding(self, finding: Finding) -> ShownBy:
        """Return the evidence of a finding, as links."""
        places, lines = places_and_lines(finding)
        return self._shown(places, lines)

    def of_sentence(self, sentence: Sentence) -> ShownBy:
        """Return the evidence of a sentence of a story, as links."""
        if sentence.finding is not None:
            return self.of_finding(sentence.finding)
        places = [each for each in sentence.places if each not in sentence.lines]
        return self._shown(places, list(sentence.lines))

    def of_place(self, place: str) -> PlaceLink:
        """Return a record with its anchor, if the page has it."""
        return PlaceLink(place, record_anchor(place) if place in self._records else None)

    def back(self, place: str) -> list[BackLink]:
        """Return the statements that name a record."""
        return self._back.get(place, [])

    def _shown(self, places: Sequence[str], lines: list[str]) -> ShownBy:
        return ShownBy(list(self._links(places[:PLACES])), max(len(places) - PLACES, 0), lines[:PLACES])

    def _links(self, places: Iterable[str]) -> Iterator[PlaceLink]:
        return map(self.of_place, places)
