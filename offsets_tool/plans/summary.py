"""Sentences that sum up a plan: which offsets are to be set and how far, the risks, and what is unknown.

Each kind of risk has one sentence and a number of rows, as kinds of findings in a verdict. Prints nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from offsets_tool.findings.sentences import count, in_partitions, listed, named, of_topics, s
from offsets_tool.lag.rows import LagMethod
from offsets_tool.plans.risks import RISKS
from offsets_tool.plans.rows import PlanAction, PlanRow, RiskKind

_TOLD: Final = 3
"""How many different sentences of one kind of risk are told before the rest is only counted."""


class RiskMatter(NamedTuple):
    """A kind of risk, and the rows that have it, in the order of the plan."""

    kind: RiskKind
    rows: tuple[PlanRow, ...]

    def what(self) -> str:
        """Return the risk in words: the first different sentences of its rows, and which offsets it concerns."""
        texts = list(dict.fromkeys(_text(row, self.kind) for row in self.rows))
        more = f" And {len(texts) - _TOLD:,} more like it." if len(texts) > _TOLD else ""
        return f"{'. '.join(texts[:_TOLD])}.{more} {self._concerned()}"

    def _concerned(self) -> str:
        groups = sorted({row.group for row in self.rows})
        offsets = count(len(self.rows), "offset")
        if len(groups) > 1:
            return f"Concerns {offsets} of groups {listed(groups)}."
        topics = [row.topic for row in self.rows]
        where = in_partitions([row.partition for row in self.rows]) if len(set(topics)) == 1 else ""
        return f"Concerns {offsets} of group {named(groups[0])} {of_topics(topics)} {where}".rstrip() + "."


def _text(row: PlanRow, kind: RiskKind) -> str:
    return next(risk.text for risk in row.risks if risk.risk == kind.name)


def risk_matters(rows: Iterable[PlanRow]) -> list[RiskMatter]:
    """Return the risks of the rows, the worst first, each kind once."""
    order = list(RISKS)
    pairs = [(order.index(risk.risk), row) for row in rows for risk in row.risks]
    pairs.sort(key=lambda pair: pair[0])
    return [
        RiskMatter(RISKS[order[at]], tuple(row for _, row in some))
        for at, some in groupby(pairs, lambda pair: pair[0])
    ]


def headline(rows: Sequence[PlanRow], to: str) -> str:
    """Return one sentence on what the plan does; `to` names the moment."""
    reset = [row for row in rows if row.action is PlanAction.RESET]
    if not rows:
        return f"Nothing was committed at {to}, and nothing is."
    if not reset:
        return f"Nothing is to be set for the way back to {to}."
    groups = sorted({row.group for row in reset})
    of = f"group {named(groups[0])}" if len(groups) == 1 else count(len(groups), "group")
    return f"The way back to {to}: {count(len(reset), 'offset')} of {of} to set."


def movements(rows: Iterable[PlanRow]) -> Iterator[str]:
    """Yield how far the offsets that are to be set move, and how many others stay where they are."""
    every = list(rows)
    reset = [row for row in every if row.action is PlanAction.RESET]
    back = [-row.difference for row in reset if row.difference is not None and row.difference < 0]
    ahead = [row.difference for row in reset if row.difference is not None and row.difference > 0]
    unknown = sum(not row.is_current_proven for row in reset)
    gone = sum(row.current_offset is None for row in reset) - unknown
    if back:
        yield f"{len(back):,} {_goes(back)} back by {sum(back):,} in all: so many records are read again."
    if ahead:
        yield f"{len(ahead):,} {_goes(ahead)} ahead by {sum(ahead):,} in all: so many records are not read again."
    if gone:
        yield f"{gone:,} {'has' if gone == 1 else 'have'} no committed offset now."
    if unknown:
        yield f"What is committed now is unknown for {unknown:,} of them."
    kept = sum(row.action is PlanAction.KEEP for row in every)
    left = sum(row.action is PlanAction.LEAVE for row in every)
    if kept:
        yield f"{count(kept, 'other')} stand{s(kept)} as then and {_is(kept)} not in the file."
    if left:
        yield f"{left:,} stand{s(left)} elsewhere and {_is(left)} left out of the file; why is said below."


def _goes(some: Sequence[int]) -> str:
    return "goes" if len(some) == 1 else "go"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def later_commits(rows: Iterable[PlanRow]) -> Iterator[str]:
    """Yield how often offsets that are to be set were committed since, and by whom."""
    reset = [row for row in rows if row.action is PlanAction.RESET]
    commits = sum(row.commits_since for row in reset)
    if commits:
        by = dict.fromkeys(_BY[word] for row in reset for word in row.committed_by)
        yield f"Since then they were committed {count(commits, 'time')}, by {listed(by)}."


_BY: Final = {
    "member": "members",
    "outside": "an admin or a client that never joins",
    "simple client": "a client that never joins",
    "transaction": "transactions",
    "unknown": "somebody whom the log does not tell",
}


def has_known_end(end_method: str | None) -> bool:
    """Return whether a method of end offsets gives the end of a partition's log, and not only a lower bound or nothing."""
    return end_method not in (None, LagMethod.NONE, LagMethod.LOWER_BOUND)


def unknown_ends(rows: Iterable[PlanRow]) -> Iterator[str]:
    """Yield a sentence on how many offsets to be set may lie outside of their partitions' logs, as ends are unknown."""
    reset = [row for row in rows if row.action is PlanAction.RESET]
    lacking = [
        row
        for row in reset
        if row.log_start_offset is None or row.end_method in (None, "none", "lower bound")
    ]
    if lacking:
        yield (
            f"Whether the logs still have them is not known for {len(lacking):,} of them: give --ends and --log-starts (the output "
            "of kafka-get-offsets), or compare NEW-OFFSET of the dry run."
        )
