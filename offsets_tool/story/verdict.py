"""The verdict on a group and on a whole log: what is worst, what it means, what to do next; and how groups rank.

Texts are those of findings: title, meaning of the kind, remedy. Findings of one kind share one sentence and are counted.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from offsets_tool.findings.finder import told_at
from offsets_tool.findings.finders import kinds, worst_first
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, Severity
from offsets_tool.findings.sentences import at_time, count, listed, named
from offsets_tool.rebalances.members import GroupMembers
from offsets_tool.rebalances.rebalance import rebalance_steps
from offsets_tool.story.finding_sentences import certainty
from offsets_tool.story.shapes import NO_EVENTS, GroupEvents
from offsets_tool.story.state import state_sentences, state_words

_MOVES_OFFSETS: Final = frozenset(
    {
        *("offsets_expired", "offsets_deleted", "offsets_lost", "group_deleted", "topic_deleted"),
        *("reset", "rewind", "jump"),
    }
)
"""Kinds of findings after which the offsets from before them are wanted."""


_COSTS: Final = frozenset(
    {"commit_flood", "idle_commits", "idle_members", "large_metadata", "commit_time_skew"}
)
"""Kinds of findings that say how a group is run, and not what befell it."""
_AHEAD: Final = frozenset({"expiry_due"})
"""Kinds of findings whose titles have times that are still to come, each its own, whenever they were found."""
_FIRST: Final = frozenset({"foreign_records"})
"""Kinds of findings that put all else in doubt: they come first within a severity."""
_RANK: Final = {severity.value: rank for rank, severity in enumerate(Severity)}


class Matter(NamedTuple):
    """Findings of one kind, severity and remedy together: the first one in words, the others as a number."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """The finding that is put into words."""
        return self.findings[0]

    @property
    def severity(self) -> str:
        """The severity that all its findings share."""
        return self.first.severity

    def what(self) -> str:
        """Return the title of the first finding, how sure it is, and how many others there are."""
        return f"{self.first.title}. {certainty(self.first)}{self._others()}"

    def _others(self) -> str:
        others = self.findings[1:]
        if not others:
            return ""
        groups = [each.group for each in others if each.group not in (None, self.first.group)]
        said = f"{len(others):,} more like it" + (f", of {_of_groups(groups)}" if groups else "")
        return f" And {said}{self._when()}."

    def _when(self) -> str:
        """Return a text on when the other findings were, beside the first; nothing where the times are not known."""
        if self.first.kind in _AHEAD:
            return ""
        first, times = (
            told_at(self.first),
            [at for each in self.findings[1:] if (at := told_at(each)) is not None],
        )
        if first is None or not times:
            return ""
        texts = at_time(min(times)), at_time(first), at_time(max(times))
        if texts[0] == texts[1] == texts[2]:
            return ", at the same time"
        return f", the last{texts[2]}" if max(times) > first else f", the first{texts[0]}"

    def meaning(self) -> str:
        """Return what findings of this kind mean."""
        return kinds()[self.first.kind].means

    def remedy(self) -> str:
        """Return what to do about it."""
        return self.first.remedy


def _of_groups(groups: Collection[str | None]) -> str:
    distinct = sorted({each for each in groups if each is not None})
    return f"group{'' if len(distinct) == 1 else 's'} {listed(distinct)}"


def matters(findings: Iterable[Finding]) -> list[Matter]:
    """Group findings by severity, kind and remedy; return the worst first.

    What helps one group may not help another of the same kind: a share group has no offsets here to reset to. Within a severity
    come first those that put all else in doubt, and last those that only cost something.
    """
    by_remedy: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for finding in worst_first(findings):
        by_remedy[finding.severity, finding.kind, finding.remedy].append(finding)
    found = [Matter(tuple(some)) for some in by_remedy.values()]
    return sorted(found, key=_weight)


def _weight(matter: Matter) -> tuple[int, bool, bool]:
    kind = matter.first.kind
    return _RANK[matter.severity], kind not in _FIRST, kind in _COSTS


def severity_counts(findings: Iterable[Finding]) -> str:
    """Return how many findings of each severity there are: "1 critical finding, 2 warnings and 5 notices"."""
    numbers = Counter(each.severity for each in findings)
    words = {Severity.CRITICAL: "critical finding", Severity.WARNING: "warning", Severity.NOTICE: "notice"}
    return listed_texts([count(numbers[each], word) for each, word in words.items() if numbers[each]])


def listed_texts(texts: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"; all of them."""
    return texts[-1] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _worth(findings: Sequence[Finding], where: str = "") -> str:
    return f"{severity_counts(findings)}{where} {'is' if len(findings) == 1 else 'are'} worth a look"


def _is_serious(findings: Iterable[Finding]) -> bool:
    """Return whether any finding is worse than a notice, wherever in the list it stands."""
    return any(each.severity != Severity.NOTICE for each in findings)


def _without_records(unreached: str, findings: Sequence[Finding]) -> str:
    """Return the verdict on a window without a record: what `unreached` says, and what lasted when the records ended."""
    return f"{unreached}." + (f" Lasting when they end: {severity_counts(findings)}." if findings else "")


def group_headline(group: str, findings: Sequence[Finding], unreached: str | None = None) -> str:
    """Return the verdict on a group in one sentence; `unreached` says that no record is from the range, where that is so."""
    name = named(group)
    if unreached is not None:
        return f"Group {name}: {_without_records(unreached, findings)}"
    if not findings:
        return f"Nothing stands out in group {name}."
    if not _is_serious(findings):
        return f"Nothing serious stands out in group {name}; {_worth(findings)}."
    return f"Group {name} needs attention: {severity_counts(findings)}."


def log_headline(findings: Sequence[Finding], groups: int, unreached: str | None = None) -> str:
    """Return the verdict on all groups in one sentence; `groups` is how many there are, `unreached` that of `group_headline`."""
    if unreached is not None:
        return _without_records(f"{unreached[0].upper()}{unreached[1:]}", findings)
    of = count(groups, "group")
    if not findings:
        return f"Nothing stands out in this log, of {of}." if groups else "This log shows no group."
    concerned = len({each.group for each in findings if each.group is not None})
    where = f" in {concerned:,} of {of}" if concerned else ""
    if not _is_serious(findings):
        return f"Nothing serious stands out in this log; {_worth(findings, where)}."
    without = "" if groups else " shows no group and"
    return f"This log{without} needs attention: {severity_counts(findings)}{where}."


class GroupLag(NamedTuple):
    """How far a group is behind, in the partitions whose ends are known and not before its offsets."""

    records: int | None
    """None where there is no such partition."""
    partitions: int
    beyond: tuple[str, ...] = ()
    """The partitions whose end its offset is beyond, as "orders-0"."""
    farthest: int = 0
    """By how much at most."""


def lag_sentence(lag: GroupLag | None) -> Iterator[str]:
    """Yield the sentence on how far a group is behind; nothing where that is not known."""
    if lag is not None and lag.records is not None:
        yield (
            f"It is {count(lag.records, 'record')} behind {'in all, ' if lag.partitions > 1 else ''}in "
            f"{count(lag.partitions, 'partition')} whose ends are known."
        )
    if lag is not None and lag.beyond:
        yield (
            f"Its {'offset is' if len(lag.beyond) == 1 else 'offsets are'} beyond the end of {listed(map(named, lag.beyond))}, by "
            f"{'' if len(lag.beyond) == 1 else 'up to '}{lag.farthest:,}: who fetches there begins elsewhere, by "
            "auto.offset.reset; the topic was made again, the log lost its tail, or the commit was wrong."
        )


class Ranked(NamedTuple):
    """A group in the ranking of a log: its findings, state in words and activity, but none of its rows."""

    group: str
    log_partition: int | None
    findings: tuple[Finding, ...]
    """The worst first."""
    state: str
    """In a word or two."""
    sentences: tuple[str, ...]
    """How it stands."""
    commits: int
    """Also those that never counted."""
    bytes: int | None
    """Of keys and values of its records; None unknown."""
    rebalances: int
    """As many as `offsets-tool rebalances` shows."""
    lag: GroupLag | None
    events: GroupEvents
    """When it committed and rebalanced, where that is asked for."""

    @property
    def severity(self) -> str | None:
        """The severity of the worst finding of the group; None if it has no finding."""
        return min((each.severity for each in self.findings), key=_RANK.__getitem__, default=None)


def moves_of_offsets(group: Ranked) -> list[Finding]:
    """Return the findings of a group after which its offsets from before them are wanted, the worst first.

    None of a group that never committed here, as a share group, whose offsets are in another topic: there is nothing to go back to.
    """
    return [finding for finding in group.findings if finding.kind in _MOVES_OFFSETS] if group.commits else []


def ranked_group(
    rows: GroupRows,
    findings: Iterable[Finding],
    moment: str,
    records_bytes: int | None,
    lag: GroupLag | None = None,
    *,
    events: GroupEvents = NO_EVENTS,
) -> Ranked:
    """Return a group for the ranking; `moment` names in words the moment of its state: "At the end of the log"."""
    return Ranked(
        rows.group,
        rows.log_partition,
        tuple(each for matter in matters(findings) for each in matter.findings),
        state_words(rows),
        (*state_sentences(rows, moment), *lag_sentence(lag)),
        len({row.commit_log_offset for row in rows.offsets}),
        records_bytes,
        sum(1 for _ in rebalance_steps(rows, GroupMembers(rows))),
        lag,
        events,
    )


def ranking(groups: Iterable[Ranked]) -> list[Ranked]:
    """Return the groups sorted: by severity and number of findings, then by lag, bytes and rebalances, the highest first."""
    return sorted(groups, key=_rank)


def _rank(ranked: Ranked) -> tuple[object, ...]:
    numbers = Counter(each.severity for each in ranked.findings)
    by_severity = tuple(-numbers[severity] for severity in Severity)
    lag = 0 if ranked.lag is None else ranked.lag.records or 0
    return (*by_severity, -lag, -(ranked.bytes or 0), -ranked.rebalances, ranked.group)


def kinds_text(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield the kinds of findings with how many there are of each, the worst first: "rewind 3"."""
    numbers = Counter(each.kind for each in worst_first(findings))
    for kind, number in numbers.items():
        yield kind if number == 1 else f"{kind} {number}"
