"""The closed list of risks of a plan, the worst first: what each means, and what to do about it."""

from typing import Final

from offsets_tool.findings.rows import Severity
from offsets_tool.plans.rows import RiskKind

UNPROVEN: Final = RiskKind(
    "unproven",
    Severity.CRITICAL,
    True,
    "The log does not prove what was committed at the moment.",
    "Choose another --as-of, or add copies of the log that were compacted less: other replicas, backups. Of copies that contradict "
    "each other, name the one in force with --leader.",
)
TOPIC_DELETED: Final = RiskKind(
    "topic_deleted",
    Severity.CRITICAL,
    True,
    "The topic was deleted since: Kafka's tool refuses a file with partitions that do not exist.",
    "If the topic was created again, let the group begin at its earliest record: no old offset fits.",
)
TOPIC_RECREATED: Final = RiskKind(
    "topic_recreated",
    Severity.CRITICAL,
    True,
    "The topic is another one than at the moment, where the offset means another record, or none.",
    "Let the group begin at the new topic's earliest record: --reset-offsets --to-earliest --topic.",
)
ABOVE_END: Final = RiskKind(
    "above_end",
    Severity.CRITICAL,
    True,
    "The offset is beyond the end of the partition: Kafka's tool would set the end instead.",
    "Find out first why the log is shorter than it was: the topic was created again, or the log lost its tail.",
)
NOT_EXPRESSIBLE: Final = RiskKind(
    "not_expressible",
    Severity.CRITICAL,
    True,
    "No line of a reset file can say it.",
    "Do for these offsets what their sentence says; the rest of the plan does not depend on them.",
)
OTHER_TOOL: Final = RiskKind(
    "other_tool",
    Severity.CRITICAL,
    True,
    "The group is not one that kafka-consumer-groups resets.",
    "Use kafka-streams-groups (4.2) with the file of `offsets-tool offsets --as-of --format csv`: with --execute it deletes the "
    "application's internal topics too, because its state stores do not go back. Share groups keep their offsets elsewhere.",
)
HAS_MEMBERS: Final = RiskKind(
    "has_members",
    Severity.CRITICAL,
    False,
    "Kafka's tool resets only groups without members; members go on committing from where they read.",
    "Stop all clients of the group, and wait until kafka-consumer-groups --describe --state says Empty.",
)
BELOW_LOG_START: Final = RiskKind(
    "below_log_start",
    Severity.CRITICAL,
    False,
    "The records from the offset on are no longer there: Kafka's tool sets the log start instead.",
    "Get what is missing from elsewhere, and let whoever reads the group's results know of the gap.",
)
TOPIC_IN_DOUBT: Final = RiskKind(
    "topic_in_doubt",
    Severity.WARNING,
    False,
    "The topic may have been deleted since: then the offset does not fit, and Kafka's tool refuses the file if it is not there.",
    "Ask whether the topic was deleted, or name --kafka-version and --retention, which often tell; if it was, choose the other "
    "topics with --topic.",
)
PENDING_TRANSACTION: Final = RiskKind(
    "pending_transaction",
    Severity.WARNING,
    False,
    "An open transaction has a commit here: until it ends, members cannot fetch the offset (UNSTABLE_OFFSET_COMMIT).",
    "End the transaction first: stop its producer, or abort it if it hangs.",
)
SIMPLE_CLIENT: Final = RiskKind(
    "simple_client",
    Severity.WARNING,
    False,
    "A client that never joins commits for this group: Kafka's tool does not see whether it runs.",
    "Stop that client first; else it commits over what is set.",
)
EXPIRES_SOON: Final = RiskKind(
    "expires_soon",
    Severity.WARNING,
    False,
    "Retention removes the offset again soon after it is set.",
    "Start the group right after the reset, or raise offsets.retention.minutes before it.",
)
READ_ON: Final = RiskKind(
    "read_on",
    Severity.WARNING,
    False,
    "The group has only read on since the moment: going back means to read again what it has read.",
    "If nothing is wrong with this group, leave it out: choose the others with --group.",
)
DELETED_SINCE: Final = RiskKind(
    "deleted_since",
    Severity.WARNING,
    False,
    "Somebody deleted the offset, or the group, since the moment.",
    "Make sure that it was not meant: setting the offset creates the group again.",
)
LOST_SINCE: Final = RiskKind(
    "lost_since",
    Severity.WARNING,
    False,
    "The offset was removed since the moment, and nothing known does that.",
    "Look at the records around its removal with `offsets-tool decode` before going on.",
)
DAMAGED_LOG: Final = RiskKind(
    "damaged_log",
    Severity.WARNING,
    False,
    "Some of this log partition could not be read: a later commit from before the moment may be missing.",
    "Take another copy of the partition; `offsets-tool inspect` names what could not be read.",
)
NOT_COMMITTED: Final = RiskKind(
    "not_committed",
    Severity.WARNING,
    True,
    "Nothing was committed at the moment: no offset means that.",
    "Leave it as it is; or delete it with kafka-consumer-groups --delete-offsets, and the group begins by auto.offset.reset.",
)
SET_SINCE: Final = RiskKind(
    "set_since",
    Severity.NOTICE,
    False,
    "Somebody outside of the group set the offset since.",
    "Make sure that nobody else is repairing this group.",
)
MOVED_SINCE: Final = RiskKind(
    "moved_since",
    Severity.NOTICE,
    False,
    "The offset moved back, or leapt ahead, since the moment.",
    "If that is what went wrong, find the client that did it before it starts again.",
)
EXPIRED_SINCE: Final = RiskKind(
    "expired_since",
    Severity.NOTICE,
    False,
    "The offset expired since the moment.",
    "Start the group soon after the reset: what is set expires again by the same rules.",
)
METADATA_LOST: Final = RiskKind(
    "metadata_lost",
    Severity.NOTICE,
    False,
    "The commit had a text of the client's; Kafka's tool sets offsets without one.",
    "Ask the application's owners if it reads that text: Kafka Streams keeps the time of a partition in it.",
)
CREATED_SINCE: Final = RiskKind(
    "created_since",
    Severity.NOTICE,
    True,
    "The group was not there at the moment.",
    "Leave it as it is; choose groups with --group.",
)
