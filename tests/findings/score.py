"""How well findings agree with stories, by kind: deeds and how many were found; findings that are sure and how many are right.

A finding that is certain or likely is right if the story has a deed of its group that leaves this kind, or, of lost offsets, if the
story's cause of the first of them is the finding's. Kinds that records prove are always right, and not counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.events import Event
from offsets_tool.expiry.causes import Cause, Confidence
from offsets_tool.findings.offsets.lost import KINDS
from offsets_tool.findings.rows import Finding
from offsets_tool.records.kinds import COMMITS
from tests.expiry.corpus_truth import Truth
from tests.expiry.corpus_truth import corpora as corpora_of_expiry
from tests.findings.deeds import Deed, deeds_of, story_of
from tests.findings.found import findings_in
from tests.history.state_from_rows import events_of

BY_DEED: Final = frozenset(
    {
        "hanging_transaction",
        "member_timed_out",
        "reset",
        "transaction_fenced",
        "transaction_timed_out",
    }
)
"""Kinds that only a deed leaves."""
LOST: Final = {kind.name for kind in KINDS.values()}


class Score(NamedTuple):
    """The score of one kind: deeds in stories, deeds found, sure findings, and sure findings that are right."""

    deeds: int
    found: int
    sure: int
    right: int


class Scores:
    """The scores of corpora; `missed` and `wrong` name what was not found, and what should not have been."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.missed: list[tuple[str, Deed]] = []
        self.wrong: list[tuple[str, Finding]] = []

    def add(self, corpus: Path) -> None:
        """Count a corpus."""
        deeds, findings = [*deeds_of(story_of(corpus)), *expired_in(corpus)], findings_in(corpus)
        for deed in (deed for deed in deeds if deed.must):
            is_found = any(each.group == deed.group and each.kind in deed.kinds for each in findings)
            self._counts[min(deed.kinds)].update(deeds=1, found=is_found)
            if not is_found:
                self.missed.append((corpus.name, deed))
        for finding, is_right in judged(corpus, deeds, findings):
            self._counts[finding.kind].update(sure=1, right=is_right)
            if not is_right:
                self.wrong.append((corpus.name, finding))

    def by_kind(self) -> dict[str, Score]:
        """Return the scores by kind, in alphabetical order."""
        return {
            kind: Score(*(counts[name] for name in Score._fields))
            for kind, counts in sorted(self._counts.items())
        }

    def table(self) -> str:
        """Return the scores as the README has them."""
        lines = ["| kind | deeds | found | certain or likely | of these right |", "|---|---:|---:|---:|---:|"]
        for kind, score in self.by_kind().items():
            lines.append(
                f"| `{kind}` | {score.deeds or '-'} | {score.found if score.deeds else '-'} "
                f"| {score.sure or '-'} | {score.right if score.sure else '-'} |"
            )
        return "\n".join(lines)


def expired_in(corpus: Path) -> Iterator[Deed]:
    """Yield removals without a request, as deeds: offsets that expired, or whose topic was deleted; once for each group."""
    if corpus not in corpora_of_expiry():
        return
    truth, seen = Truth(corpus), set[tuple[str, str]]()
    for events in events_of(corpus.name).values():
        for event in events:
            kind = _kind_of_tombstone(truth, event)
            if kind in ("offsets_expired", "topic_deleted") and (event.group or "", kind) not in seen:
                seen.add((event.group or "", kind))
                yield Deed(
                    event.group or "", frozenset({kind}), f"tombstone at offset {event.record.log_offset}"
                )


def _kind_of_tombstone(truth: Truth, event: Event) -> str | None:
    """Return the kind of finding for the cause that the story gives an offset's tombstone; None for other records."""
    if event.key is None or event.value is not None or event.type_id not in COMMITS:
        return None
    at = None if event.record.timestamp < 0 else event.record.timestamp
    key = event.key.data
    return KINDS[Cause(truth.cause(key.group, key.topic, key.partition, at))].name


def judged(
    corpus: Path, deeds: Iterable[Deed], findings: Iterable[Finding]
) -> Iterator[tuple[Finding, bool]]:
    """Yield the sure findings that the story can judge, each with whether the story confirms it."""
    asked = {(deed.group, kind) for deed in deeds for kind in deed.kinds}
    truth = Truth(corpus) if corpus in corpora_of_expiry() else None
    for each in findings:
        if each.confidence == Confidence.AMBIGUOUS:
            continue
        if each.kind in BY_DEED or (each.kind == "group_deleted" and truth is None):
            yield each, (each.group, each.kind) in asked
        elif each.kind in LOST and truth is not None:
            yield each, _is_caused(corpus, truth, each) or (each.group, each.kind) in asked


def _is_caused(corpus: Path, truth: Truth, finding: Finding) -> bool:
    """Return whether the first offset of a finding on removals was removed by the cause that the finding states."""
    event = next(
        event
        for event in events_of(corpus.name)[finding.log_partition]
        if event.record.log_offset == finding.log_offset
    )
    return _kind_of_tombstone(truth, event) == finding.kind
