"""Lay out a review by templates as a page, with its style, its scripts and the policy that lets nothing else run.

Its appendix has the records that it names, each decoded, with its bytes and its position.
"""

import base64
import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from offsets_tool.events import Event
from offsets_tool.findings.finders import kinds, worst_first
from offsets_tool.findings.rows import Finding, Severity
from offsets_tool.findings.sentences import count, listed
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.plots.embedding import picture_library
from offsets_tool.report import bounds, texts
from offsets_tool.report.bounds import RECORDS_SIZE, within
from offsets_tool.report.links import PageLinks, record_anchor
from offsets_tool.report.pictures import NO_PICTURES, Gallery, evidence_gallery, galleries, theme_configs
from offsets_tool.report.texts import event_text, hex_dump
from offsets_tool.review.citations import Citations
from offsets_tool.review.coverage import ledger_total
from offsets_tool.review.review import Review
from offsets_tool.review.verdict import loud_and_quiet
from offsets_tool.story.finding_sentences import certainty
from offsets_tool.story.sentence import Sentence
from offsets_tool.story.verdict import kinds_text, matters, severity_counts
from offsets_tool.time_texts import shown_time
from offsets_tool.wire.text import shown, visible

_AROUND: Final = 900
"""Characters of markup around what a record says."""


class ShownRecord(NamedTuple):
    """One log offset of the appendix, with its records: several where copies differ."""

    place: str
    anchor: str
    events: list["ShownEvent"]

    @property
    def size(self) -> int:
        """How many characters it takes in the page."""
        return sum(len(each.text) + len(each.key) + len(each.value) + _AROUND for each in self.events)


class ShownEvent(NamedTuple):
    """One record in the form that one source has."""

    event: Event
    kind: str
    text: Markup
    key: Markup
    value: Markup

    @property
    def where(self) -> str:
        """The position of the record's batch in its file, as the end of a phrase; empty for a record without a batch."""
        batch = self.event.record.batch
        return "" if batch is None else f", in the batch at byte {batch.position:,}"


def shown_records(cited: Citations) -> list[ShownRecord]:
    """Return the records that a page has room for, in the order of the log; the most important are chosen first."""
    chosen = within(_all(cited), lambda each: each.size, RECORDS_SIZE)
    return sorted(chosen, key=lambda each: _order(each.place))


def _all(cited: Citations) -> Iterator[ShownRecord]:
    for place, events in cited.records.items():
        yield ShownRecord(place, record_anchor(place), [_shown(each) for each in events])


def _order(place: str) -> tuple[int, int]:
    number, _, log_offset = place.rpartition(":")
    return int(number or -1), int(log_offset)


def _shown(event: Event) -> ShownEvent:
    record = event.record
    return ShownEvent(event, _kind(event), event_text(event), hex_dump(record.key), hex_dump(record.value))


def _kind(event: Event) -> str:
    if event.control is not None:
        return f"{event.control.type} marker"
    kind = event.key.type.name if event.key else f"type {event.type_id}"
    return f"{kind}, tombstone" if event.tombstone else kind


_SEVERITIES: Final = [each.value for each in Severity]
_SENTENCE: Final = 420
"""Characters of markup around a sentence of the timeline."""
_SCRIPT: Final = re.compile(r"<(?=/?script|!--)", re.IGNORECASE)


class ReportWords(NamedTuple):
    """What a page says about how it was made, which the evidence does not contain."""

    version: str
    """The release of offsets-tool."""
    made_by: str
    """The command line, for whoever makes the page again."""
    more: Mapping[str, str]
    """Commands that show all of what a page has only the beginning of: findings, timeline, groups, files, records, plan."""
    lacks: Sequence[str] = ()
    """What the source cannot give, in sentences."""


def report_html(review: Review, words: ReportWords) -> bytes:
    """Return a review as one HTML page in UTF-8, of less than three megabytes.

    The same review and words give the same bytes. SetupError where what draws pictures is not installed.
    """
    parts = _parts(review, words)
    without = _rendered(parts | _drawn([], NO_PICTURES, [NO_PICTURES] * len(review.groups)))
    room = bounds.PAGE_SIZE - len(without) - len(picture_library().encode())
    of_evidence = evidence_gallery(review.sizes, room)
    of_groups = galleries(review.groups, review.asked, room - of_evidence.size)
    if any(each.pictures or each.left_out for each in (of_evidence, *of_groups)):
        return _rendered(parts | _drawn([picture_library()], of_evidence, of_groups))
    return without


def _rendered(parts: Mapping[str, Any]) -> bytes:
    return "".join(_environment().get_template("page.html").stream(parts)).encode()


def _parts(review: Review, words: ReportWords) -> dict[str, Any]:
    """Return all that the page shows but its pictures."""
    findings = worst_first(review.findings)
    shown_findings = findings[: bounds.FINDINGS]
    timeline = list(bounds.within(review.timeline[: bounds.SENTENCES], _size, bounds.TIMELINE_SIZE))
    records = shown_records(review.cited)
    is_of_groups = bool(review.asked.wanted.groups)
    loud, quiet = (matters(findings), []) if is_of_groups else loud_and_quiet(findings)
    return {
        "review": review,
        "words": words,
        "title": _title(review),
        "scope": list(_scope(review)),
        "findings": findings,
        "by_severity": _by_severity(shown_findings),
        "loud": loud[: bounds.GROUPS],
        "quiet": list(kinds_text(quiet)),
        "links": PageLinks(shown_findings, timeline, [each.place for each in records]),
        "timeline": timeline,
        "timeline_groups": sorted({each.group for each in timeline if each.group is not None}),
        "timeline_kinds": sorted({each.kind.value for each in timeline}),
        "records": records,
        "folder": _folder(review.coverage.files),
        "ledger": ledger_total(review.coverage.files),
        "bounds": bounds,
    }


def _drawn(libraries: Sequence[str], of_evidence: Gallery, of_groups: Sequence[Gallery]) -> dict[str, Any]:
    """Return the pictures of a page, its scripts and style, and the policy that lets them take effect."""
    scripts = [*(_SCRIPT.sub(r"\\x3c", each) for each in libraries), _resource("page.js")]
    styles = [_resource("style.css")]
    return {
        "evidence_gallery": of_evidence,
        "galleries": of_groups,
        "themes": theme_configs() if libraries else None,
        "scripts": scripts,
        "styles": styles,
        "policy": content_policy(scripts, styles),
    }


def _size(sentence: Sentence) -> int:
    return len(texts.say(sentence.text)) + _SENTENCE


def _by_severity(findings: Sequence[Finding]) -> list[tuple[str, list[tuple[int, Finding]]]]:
    """Return findings with their numbers, by severity, the worst first."""
    numbered = list(enumerate(findings, 1))
    grouped = [
        (severity, [each for each in numbered if each[1].severity == severity]) for severity in _SEVERITIES
    ]
    return [(severity, some) for severity, some in grouped if some]


def _title(review: Review) -> str:
    groups = [each.group for each in review.verdict.ranked]
    if not review.asked.wanted.groups or not groups:
        return "Incident review of a log"
    return f"Incident review: group{'' if len(groups) == 1 else 's'} {listed(groups)}"


def _scope(review: Review) -> Iterator[str]:
    """Yield phrases on the scope of a review: the number of files and log partitions, the newest record, and the range."""
    yield f"{count(len(review.coverage.files), 'file')}, {count(len(review.coverage.partitions), 'log partition')}"
    if review.newest_at is not None and (newest := shown_time(review.newest_at)):
        yield f"up to {newest[:19].replace('T', ' ')} UTC"
    asked = review.asked.range
    for word, bound in (("since", asked.since), ("until", asked.until)):
        places = ", ".join(f"{each.log_partition}:{each.log_offset}" for each in bound.places)
        at = places or (shown_time(bound.time) if bound.time is not None else None)
        if at:
            yield f"{word} {at}"


def _folder(entries: Sequence[LedgerEntry]) -> str:
    """Return the folder that all files are in, with a slash behind it; empty where there is none."""
    sources = [entry.source for entry in entries]
    if len(sources) < 2:
        return ""
    return (
        posixpath.commonprefix([f"{posixpath.dirname(source)}/" for source in sources]).rpartition("/")[0]
        + "/"
    )


@cache
def _resource(file: str) -> str:
    return (files("offsets_tool.report") / "templates" / file).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("offsets_tool.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "say": texts.say,
        "name": texts.name,
        "at": texts.time,
        "day": texts.day,
        "number": texts.number,
        "plain": lambda text: texts.elided(visible(shown(text)), 200),
        "command": texts.command,
    }
    environment.globals |= {
        "certainty": certainty,
        "counted": severity_counts,
        "kinds": kinds,
        "count": count,
    }
    return environment


def content_policy(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """Return the policy that allows these scripts and styles and no others, and pictures inside of the page."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hashes(scripts)}",
            f"style-src {_hashes(styles)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hashes(texts: Iterable[str]) -> str:
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests) or "'none'"
