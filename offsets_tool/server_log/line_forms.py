"""Declarations of the lines that coordinators of 0.9 to 4.x write at INFO: kind, first and last release, pattern.

Taken from the logs of real brokers and from the messages in Kafka's jars (kafka.coordinator.group.GroupCoordinator and
GroupMetadataManager, org.apache.kafka.coordinator.group.GroupMetadataManager and GroupCoordinatorShard, CoordinatorRuntime,
TransactionCoordinator). How a form is written is said in `forms`.
"""

from typing import Final

from offsets_tool.server_log.forms import LineForm
from offsets_tool.server_log.server_line import LineKind

K: Final = LineKind
_IN: Final = "{ (__consumer_offsets-<log_partition>)|}"
_PARTITION: Final = "{__consumer_offsets-|[__consumer_offsets,}<log_partition>{]|}"
_OF: Final = "[GroupId <group>]"
_BY: Final = "{[MemberId <heard_of>]|} {Static |Streams |Dynamic |}{Member|member}"
_REQUEST: Final = "through explicit `LeaveGroup`{ request|}; client reason: <reason>"
_DATA: Final = "{offsets and group metadata|offsets|metadata|of offsets and group metadata|of metadata}"
_DETAILS: Final = (
    "Computed a new target assignment|{Static |}{Member|member} <> {new assignment state|transitioned from|updated its "
    "member}|Member's "
    "new assignment state|Member updated its member|Member initialized the topology|Configuring the topology|Valid topic "
    "configuration|"
    "Scanned <> to refresh|Creating a simple consumer group|Dynamic member with unknown|Could not fence|"
    "Skipping delayed|Ignoring <> timeout|Group not found"
)
_CLASSIC: Final = (
    (K.PREPARING, "0.9", "0.10", "Preparing to restabilize group <group> with old generation <number>"),
    (
        K.PREPARING,
        "2.1",
        None,
        f"Preparing to rebalance group <group> in state <> with old generation <number>{_IN} (reason: <reason>{{.|}}){{.|}}",
    ),
    (
        K.PREPARING,
        "0.11",
        "2.0",
        f"Preparing to rebalance group <group> with old generation <number>{_IN}",
    ),
    (
        K.STABILIZED,
        "0.9",
        None,
        f"Stabilized group <group> generation <number>{_IN}{{ with <members> members|}}{{.|}}",
    ),
    (
        K.ASSIGNED,
        "0.9",
        None,
        "Assignment received from leader {<member_id> |}for group <group> for generation <number>"
        "{. The group has <members> members, <> of which are static.|}",
    ),
    (K.EMPTIED, "0.10", None, f"Group <group> with generation <number> is now empty{_IN}{{.|}}"),
    (K.DEAD, "0.9", "0.9", "Group <group> generation <number> is dead and removed"),
    (K.DEAD, "0.10", "3.9", "Group <group> transitioned to Dead in generation <number>"),
    (
        K.EXPIRED,
        "0.11",
        None,
        "Member <member_id> in group <group> has failed, removing it from the group{.|}",
    ),
    (
        K.LEFT,
        "1.1",
        "2.8",
        "Member[group.instance.id {None|Some(<instance_id>)}, member.id <member_id>] in group <group> has left, removing it "
        "from the "
        "group",
    ),
    (
        K.LEFT,
        "3.2",
        "3.9",
        f"Member MemberMetadata(memberId=<member_id>, groupInstanceId=<>) has left group <group> {_REQUEST}",
    ),
    (K.OTHER, "2.2", None, "{[Group<> <group>] |}Pending member <>"),
    (
        K.LEFT,
        "3.6",
        None,
        f"[Group{{Id|}} <group>] {{Dynamic |}}{{Member|member}} <member_id> has left group {_REQUEST}",
    ),
    (
        K.LEFT,
        "3.9",
        None,
        f"[Group{{Id|}} <group>] Static {{Member|member}}{{ <member_id>|}} with instance id <instance_id> has left group "
        f"{_REQUEST}",
    ),
    (K.TOO_SLOW, "2.3", None, "Group <group> removed {dynamic |}members who haven't <reason>: <text>"),
    (
        K.OTHER,
        "2.3",
        None,
        "Group {leader [<>] failed to join before <>|<> could not complete rebalance because no members rejoined<>}",
    ),
    (
        K.REPLACED,
        "2.3",
        "2.8",
        "Static member {Some(<instance_id>)|None}{ of group <group>|} with unknown member id rejoins, assigning new member id <>, "
        "while old member{ id|} <member_id> will be removed.",
    ),
    (
        K.REPLACED,
        "2.8",
        None,
        "Static member with groupInstanceId=<instance_id> and unknown member id joins group <group> in <> state. Replacing "
        "previously "
        "mapped member <member_id> with this groupInstanceId.",
    ),
    (
        K.FENCED,
        "3.3",
        None,
        "Request memberId=<member_id> for static member with groupInstanceId=<instance_id> is fenced by {current|existing} "
        "memberId=<> "
        "during operation <reason>",
    ),
    (
        K.JOINED,
        "2.2",
        None,
        "{Dynamic|Static} {Member|member} with {groupInstanceId=<instance_id> and |}unknown member id joins group <group> in "
        "{state <>|<> state}. Created a new member id <member_id> {for|and} <text>",
    ),
    (
        K.JOINED,
        "2.4",
        None,
        "{Pending dynamic|Dynamic} {Member|member} with {specific member |}id <member_id> joins group <group> in <> state. "
        "Adding to "
        "the group now.",
    ),
    (
        K.JOINED,
        "2.3",
        "2.8",
        "Adding new static member Some(<instance_id>) to group <group> with member id <member_id>.",
    ),
    (K.OTHER, "2.3", None, "Static member {which |}joins during Stable stage <>"),
)
"""Lines about classic groups."""
_EPOCHS: Final = (
    (
        K.EPOCH,
        "3.7",
        None,
        f"{_OF}{{[MemberId <>]|}} Bumped {{streams |}}group epoch to <number>{{ with <reason>|}}.",
    ),
    (
        K.EXPIRED,
        "3.7",
        None,
        f"{_OF}{_BY} <member_id> fenced from the group because {{its|the member}} session expired{{..|.}}",
    ),
    (K.TOO_SLOW, "3.7", None, f"{_OF}{_BY} <member_id> fenced from the group because <reason>{{..|.}}"),
    (K.AWAY, "3.7", None, f"{_OF}{_BY} <member_id> with instance id <instance_id> temporarily left <>"),
    (
        K.LEFT,
        "3.7",
        None,
        f"{_OF}{_BY} <member_id>{{ with instance id <instance_id>|}} left the <text> group.",
    ),
    (
        K.REPLACED,
        "3.7",
        None,
        f"{_OF}{_BY} with instance id <instance_id> re-joins the <text> group using <> protocol. Created a new member <> to "
        f"replace the "
        "existing member <member_id>.",
    ),
    (
        K.FENCED,
        "3.7",
        None,
        f"{_OF}{_BY} <member_id> with instance id <instance_id> {{is fenced by existing|cannot join the group because the "
        f"instance id is "
        "{is |}owned by} member <text>.",
    ),
    (
        K.JOINED,
        "3.7",
        None,
        f"{_OF}{_BY}{{ <member_id>|}}{{ with instance id <instance_id>|}} {{re-|}}joins the <text> group{{ using <> protocol|}}.",
    ),
    (
        K.SUBSCRIBED,
        "3.7",
        None,
        f"{_OF}{_BY} <member_id> updated its subscribed {{topics|regex}} to: <text>.",
    ),
    (
        K.TOPICS_CHANGED,
        "3.7",
        None,
        f"{_OF}{{[MemberId <>]|}} {{Computed new {{subscription metadata|metadata hash|subscribed topics}}: "
        "|Received updated regular expressions }<text>",
    ),
    (K.CONVERTED, "3.8", None, f"{_OF} Converted the <reason>."),
    (
        K.CONFIGURED,
        "4.2",
        None,
        f"{_OF}{{[MemberId <>]|}} Assignment configurations changed to <text>. Triggering rebalance.",
    ),
    (K.OTHER, "3.7", None, f"{_OF}{{[MemberId <>]|}} {{{_DETAILS}}}<>"),
)
"""Lines about groups of the consumer, share and streams protocols (KIP-848, KIP-932, KIP-1071)."""
_REMOVALS: Final = (
    (
        K.GROUPS_DELETED,
        "1.1",
        None,
        "The following groups were deleted: <text>{. A total of <number> offsets were removed.|}",
    ),
    (
        K.OFFSETS_DELETED,
        "2.4",
        "3.9",
        "The following offsets of the group <group> were deleted: <text>. A total of <number> offsets were removed.",
    ),
    (K.TOPICS_DELETED, "2.0", "3.9", "Removed <number> offsets associated with deleted partitions: <text>."),
    (
        K.TOPICS_DELETED,
        "3.7",
        None,
        "Generated <number> tombstone records in <took_ms> milliseconds while deleting offsets for {partitions|topics} [<text>].",
    ),
    # A negative time: the broker deleted groups or topics, which went the same way.
    (K.OTHER, "0.11", "1.1", "Removed <> expired offsets in -<> milliseconds."),
    (K.OFFSETS_EXPIRED, "0.9", "3.9", "Removed <number> expired offsets in <took_ms> milliseconds."),
    (
        K.OFFSETS_EXPIRED,
        "3.7",
        None,
        "Generated <number> tombstone records while cleaning up group metadata in <took_ms> milliseconds.",
    ),
    (K.OTHER, "3.9", None, "Generated <> records in <> milliseconds while cleaning share group state <>"),
)
"""Lines about what the coordinator removed."""
_BROKER: Final = (
    (K.LOADING, "0.9", None, f"{{Scheduling loading|Loading}} {_DATA} from {_PARTITION}{{ <>|.|}}"),
    (K.LOADED, "0.9", None, f"Finished loading {_DATA} from {_PARTITION} <>"),
    (K.UNLOADED, "0.9", None, f"Finished unloading {{metadata for |}}{_PARTITION}<>"),
    (K.OTHER, "0.9", None, "{Scheduling|Started|Ignored|Ignoring} {un|}loading <>"),
    (K.OTHER, "2.8", "3.9", "{Elected|Resigned} as the {group|txn} coordinator for partition <>"),
    (K.OTHER, "0.9", None, "{Loading|Unloading} group metadata for <> with generation <>"),
    (K.OTHER, "3.7", None, "[GroupId=<>] {Unloaded|Unloading} group metadata for <>"),
    (K.OTHER, "3.7", None, "Loaded <> group <> with <> members."),
    (K.OTHER, "0.9", None, "{Starting up|Startup complete|Shutting down|Shutdown complete}<>"),
    (K.OTHER, "3.7", None, "{Event processor|Closing coordinator runtime|Coordinator runtime}<>"),
    (
        K.OTHER,
        "0.11",
        None,
        "{Skipped the materialization of|Received {unexpected |}notification of|Valid topic configuration found|The write "
        "event|Member "
        "<> has already been removed|group: <> has received offset commits|Group <> {has moved away from|is dead, skipping}}<>",
    ),
)
"""Lines about log partitions, their coordinator, and what is not asked for."""
_TRANSACTIONS: Final = (
    (
        K.TRANSACTION_BEGAN,
        "0.11",
        None,
        "Initialized transactionalId <text> with producerId <producer_id> and producer epoch <number> on partition <>",
    ),
    (
        K.TRANSACTION_TIMED_OUT,
        "1.0",
        None,
        "Completed rollback of ongoing transaction for transactionalId <text> due to timeout",
    ),
)
"""Lines of transaction coordinators."""
FORMS: Final = tuple(LineForm(*row) for row in (*_CLASSIC, *_EPOCHS, *_REMOVALS, *_BROKER, *_TRANSACTIONS))
"""Every form; where two fit, the first says more."""
