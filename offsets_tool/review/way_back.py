"""The plan of a review: back to a moment that was named, or to before the first finding that offsets were lost or moved."""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.selection import NameFilter, Wanted, exact_text
from offsets_tool.evidence.answers.planning import Plan, plan_between
from offsets_tool.evidence.answers.reset_gaps import incomplete
from offsets_tool.evidence.ends import EndSources
from offsets_tool.evidence.findings.finding import LogFindings
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.findings.finder import log_offset_text
from offsets_tool.findings.rows import Finding, Severity
from offsets_tool.findings.sentences import named
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.plans.commands import CommandWords, shell_word
from offsets_tool.review.plan_page import KafkaTools, PlanPage, moment_text, plan_page
from offsets_tool.story.sentence import when
from offsets_tool.story.verdict import Ranked, moves_of_offsets

PlanCommand = Callable[[str, str | None], CommandWords]
"""From a moment as --as-of takes it, and a group as --group takes it or None, to the words of the command that makes the plan."""
_LOUD: Final = (Severity.CRITICAL.value, Severity.WARNING.value)


class WayBack(NamedTuple):
    """A plan, the moment that it goes back to, and the reason for that moment."""

    plan: Plan
    page: PlanPage
    to: str
    """The moment, as --as-of takes it."""
    proposal: Finding | None
    """The finding before which the moment lies, where nobody named one."""
    command: CommandWords
    """The command that makes the same plan."""

    def why(self) -> str:
        """Return one sentence on why the plan goes back to that moment."""
        if self.proposal is None:
            return f"The moment {self.to} was asked for."
        finding, timestamp = self.proposal, self.proposal.from_at
        whose = "" if finding.group is None else f" of group {named(finding.group)}"
        time = "" if timestamp is None else f" ({when(timestamp)})"
        return (
            f"Nobody named a moment: proposed is {self.to}{time}, before the first finding{whose} that says that its offsets "
            f"were lost or moved, {finding.kind}. Another moment may be the right one."
        )


def proposal_of(groups: Iterable[Ranked]) -> Finding | None:
    """Return the finding before which a plan should go back: the first in the log, of the worst group whose offsets were moved.

    `groups` are the worst first. Notices count only where nothing is worse; None where no offset was lost or moved,
    or no file says its log partition.
    """
    moved = [moves_of_offsets(group) for group in groups if group.log_partition is not None]
    loud = [[finding for finding in findings if finding.severity in _LOUD] for findings in moved]
    findings = next(filter(None, loud), None) or next(filter(None, moved), None)
    return min(findings, key=lambda finding: finding.log_offset) if findings else None


class PlanAsked(NamedTuple):
    """The scope of a plan: a moment and groups, given or proposed by a finding."""

    as_of: AsOf
    wanted: Wanted
    proposal: Finding | None = None

    @classmethod
    def before(cls, proposal: Finding) -> "PlanAsked":
        """Return the plan of one group back to the record before that of a finding, which has a log partition and a group."""
        assert proposal.log_partition is not None and proposal.group is not None
        wanted = Wanted(NameFilter([exact_text(proposal.group)]))
        return cls(AsOf(ends={proposal.log_partition: proposal.log_offset}), wanted, proposal)

    @classmethod
    def proposed(cls, groups: Iterable[Ranked]) -> "PlanAsked | None":
        """Return the plan that findings of groups, the worst group first, propose; None where no offset was lost or moved."""
        proposal = proposal_of(groups)
        return None if proposal is None or proposal.group is None else cls.before(proposal)


class PlanTools(NamedTuple):
    """What a plan needs beside the evidence: known ends, Kafka's tools, and the command that writes the reset file."""

    ends: EndSources
    kafka: KafkaTools
    command: PlanCommand


def way_back(replay: EvidenceReplay, found: LogFindings, asked: PlanAsked, tools: PlanTools) -> WayBack:
    """Replay the evidence of a finished replay once more, up to the moment, and return the plan back to it."""
    groups = list(found.rows(asked.wanted))
    here = {*(asked.as_of.ends or ()), *(rows.log_partition for rows in groups)}
    moment = replay.again(asked.as_of, here).run()
    plan = plan_between(moment, replay.snapshot, groups, tools.ends, asked.wanted)
    return way_back_of(plan, replay.evidence.ledgers, asked, tools)


def way_back_of(plan: Plan, ledgers: Iterable[LedgerEntry], asked: PlanAsked, tools: PlanTools) -> WayBack:
    """Return a plan with its page and its reason; `ledgers` are those of the files that it was made from."""
    lacking = incomplete(plan.moment, asked.wanted, ledgers)
    group = None if asked.proposal is None else asked.wanted.groups.texts[0]
    to = moment_text(plan)

    def write_file(file: str, of: str | None) -> CommandWords:
        text = group if of is None else exact_text(of)
        return [*tools.command(to, text), "--format csv", f"--output {shell_word(file)}"]

    page = plan_page(plan, lacking, tools.kafka, write_file)
    proposal = asked.proposal
    place = to if proposal is None else log_offset_text(proposal.log_partition, proposal.log_offset)
    return WayBack(plan, page, place, proposal, tools.command(to, group))
