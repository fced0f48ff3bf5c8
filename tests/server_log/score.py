"""How many deeds of stories get their cause from the broker's own log, by what was done: that is then certain.

A member that vanished or was killed is a certain finding; one that left or asked for other topics, and partitions that were added,
are the stated reason of a rebalance soon after.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.evidence.findings.finding import GroupFindings, LogFindings
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.expiry.causes import Confidence
from offsets_tool.rebalances.members import GroupMembers
from offsets_tool.rebalances.steps import steps_of
from offsets_tool.server_log.join import ServerLog
from offsets_tool.server_log.reasons import RebalanceCause
from offsets_tool.story.story import why
from tests.findings.deeds import story_of
from tests.server_log.logs import log_of

DEEDS: Final = {
    r"^member vanished without LeaveGroup$|^member killed \(SIGKILL\)$": RebalanceCause.EXPIRED,
    r"^member \S+ leaves$": RebalanceCause.LEFT,
    r"^member \S+ resubscribes to ": RebalanceCause.RESUBSCRIBED,
    r"^partitions added$": RebalanceCause.TOPICS_CHANGED,
}
"""By what a story says, the cause that the broker's log has for it."""
SOON_MS: Final = 60_000
"""How long after a deed its rebalance is there: a session times out within, and brokers learn of new partitions."""


class Done(NamedTuple):
    """A deed, and the cause that the broker's log must give for it; `group` is None for a deed on a topic."""

    group: str | None
    at: int
    what: str
    cause: RebalanceCause


class StatedCause(NamedTuple):
    """A cause that the broker's log states, of a group and when."""

    group: str
    at: int
    cause: RebalanceCause


class Scores:
    """The number of deeds by cause, and of those found for certain; `missed` names the others."""

    def __init__(self) -> None:
        self.deeds: Counter[str] = Counter()
        self.certain: Counter[str] = Counter()
        self.missed: list[tuple[str, Done]] = []

    def add(self, corpus: Path) -> None:
        """Count a corpus."""
        said = list(stated_causes(corpus))
        for deed in done_in(corpus):
            self.deeds[deed.cause] += 1
            found = next((each for each in said if _is_of(deed, each)), None)
            if found is None:
                self.missed.append((corpus.name, deed))
                continue
            self.certain[deed.cause] += 1
            if deed.group is not None:
                said.remove(found)

    def table(self) -> str:
        """Return the scores as a table."""
        lines = ["| cause | deeds | certain |", "|---|---:|---:|"]
        return "\n".join(
            lines
            + [f"| `{cause}` | {self.deeds[cause]} | {self.certain[cause]} |" for cause in sorted(self.deeds)]
        )


def done_in(corpus: Path) -> Iterator[Done]:
    """Yield the deeds of a story that have a cause in the broker's log."""
    members = set[tuple[str, str]]()
    for step in story_of(corpus):
        what, group = step["what"], step.get("group")
        # A static member that closes does not leave, and who assigns partitions to itself is no member.
        if (found := re.match(r"member (\S+) joins", what)) and "group.instance.id" not in str(
            step.get("props")
        ):
            members.add((group, found[1]))
        left = re.match(r"member (\S+) leaves", what)
        if left and (group, left[1]) not in members:
            continue
        yield from (
            Done(group, step["at_ms"], what, cause) for said, cause in DEEDS.items() if re.search(said, what)
        )


@cache
def found_in(corpus: Path) -> tuple[tuple[GroupFindings, ...], ServerLog]:
    """Return the findings of all groups of a corpus, judged with the broker's log, and that log."""
    with EvidenceReplay(open_evidence(corpus / "segments")) as replay:
        found = LogFindings(replay, PolicyOverrides(), [log_of(corpus)])
        return tuple(found.groups()), found.server_log


def stated_causes(corpus: Path) -> Iterator[StatedCause]:
    """Yield the causes that the broker's log states: of rebalances, and of members that findings are about."""
    groups, server_log = found_in(corpus)
    for rows, findings in groups:
        for each in findings:
            if each.kind == "member_timed_out" and each.confidence == Confidence.CERTAIN:
                yield StatedCause(rows.group, each.to_at or 0, RebalanceCause.EXPIRED)
        members = GroupMembers(rows)
        for change in steps_of(rows, members):
            told = why(change, rows, members, server_log)
            for reason in () if told is None else told.causes:
                if reason.cause is not RebalanceCause.EXPIRED:
                    yield StatedCause(rows.group, change.at, reason.cause)


def _is_of(deed: Done, said: StatedCause) -> bool:
    is_soon = said.at < 0 or -1_000 <= said.at - deed.at <= SOON_MS
    return is_soon and said.cause is deed.cause and deed.group in (None, said.group)
