"""One row of a plan: a committed offset at the end and at the moment, what is to be done with it, and the risks.

Declared once: the fields of the command come from here. Times are epoch milliseconds, None where there is none.
"""

from enum import StrEnum
from typing import NamedTuple

from offsets_tool.findings.rows import Severity
from offsets_tool.plans.reset_file import ResetLine


class PlanAction(StrEnum):
    """The action of a plan on a committed offset."""

    RESET = "reset"
    """It is set to what it was: a line of the reset file."""
    KEEP = "keep"
    """It stands where it stood."""
    LEAVE = "leave"
    """It stands elsewhere, or for another record, and the reset file leaves it alone: a risk says why."""


class RiskKind(NamedTuple):
    """A kind of risk: its name, how much it matters, whether the reset file leaves the row out, what it says, what to do about it.

    With a critical one, Kafka's tool would not make of the row what the plan says, or nobody knows what the plan is to say.
    """

    name: str
    severity: Severity
    is_left_out: bool
    means: str
    remedy: str


class Risk(NamedTuple):
    """A reason against setting an offset back, or something to know before."""

    risk: str
    """The name of its kind."""
    severity: str
    text: str
    """What it is in this case, in one sentence."""


class PlanRow(NamedTuple):
    """A committed offset of a group: at the end of the log, at the moment to go back to, and what is in between."""

    group: str
    topic: str
    partition: int
    action: PlanAction
    current_offset: int | None
    """What is committed at the end of the log; None if nothing is, or if the log does not prove it."""
    new_offset: int | None
    """What was committed at the moment; None if nothing was, or if the log does not prove it."""
    difference: int | None
    """How far the new offset is ahead of the current one, negative for back; None without one of them."""
    risks: tuple[Risk, ...]
    """The worst first."""
    is_proven: bool
    """Whether the log proves what was committed at the moment."""
    metadata: str | None
    """The text that was committed with the offset of the moment, which Kafka's tool does not set."""
    commits_since: int
    """Commits that took effect since the moment, as far as compaction left them."""
    committed_by: tuple[str, ...]
    """Who made them: member, outside, simple client, transaction, unknown."""
    last_commit_at: int | None
    removed_at: int | None
    """When the offset was last removed since the moment; None if it was not."""
    removal_cause: str | None
    log_start_offset: int | None
    """The start of the partition's log; None if nobody says it."""
    end_offset: int | None
    """The end of the partition's log as `end_method` knows it."""
    end_method: str | None
    """How the end is known, as for `lag`; None without a new offset."""
    expires_at: int | None
    """When the new offset expires if it is set now and nothing more is committed; None if it does not, or if nobody knows."""
    log_partition: int | None
    new_log_offset: int | None
    """Offset in the log of the commit that was effective at the moment."""
    current_log_offset: int | None
    is_current_proven: bool = True
    """Whether the log proves what is committed at its end."""

    @property
    def reset_line(self) -> ResetLine | None:
        """The line of the reset file; None if the file leaves the row alone."""
        if self.action is not PlanAction.RESET or self.new_offset is None:
            return None
        return ResetLine(self.group, self.topic, self.partition, self.new_offset)

    @property
    def is_blocked(self) -> bool:
        """Whether a risk is critical: running the plan as it is does not set the row to what it was."""
        return any(risk.severity == Severity.CRITICAL for risk in self.risks)
