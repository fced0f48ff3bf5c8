"""Groups of the consumer protocol (KIP-848): a reconciliation that is held back, and a conversion there and back."""

from tests.incidents.incident import ACT, found, incident
from tests.incidents.stage import Stage, StageError

CONSUMER = "group.protocol=consumer"
FAST_EPOCHS = {
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.migration.policy": "bidirectional",
}


@incident(
    "partitions-not-given-up",
    "A member that does not give up its partitions holds back the whole reconciliation",
    "4.3.1",
    complaint="We doubled the pods of `thumbnails` and got nothing for it: the new one is a member, and idles "
    "without a partition.",
    done="The only member of `thumbnails` (consumer protocol, KIP-848) was stuck in writing to a full pipe "
    "when a second member joined. Its heartbeats went on, so it stayed a member; but it did not poll, "
    "so it never gave up the partitions that the new assignment took from it. The second waited for "
    "them for a minute, until the pipe was emptied.",
    must=(
        found(
            "slow_reconciliation",
            "thumbnails",
            severity=ACT,
            during="a second member joins",
            says="waited for thumbnails-1",
        ),
    ),
    must_not=(
        found("slow_reconciliation", "thumbnails", says="thumbnails-2"),
        found(
            ["rebalance_storm", "member_timed_out", "offsets_expired", "reset", "group_converted"],
            "thumbnails",
        ),
    ),
    properties=FAST_EPOCHS,
)
def not_given_up(stage: Stage) -> None:
    stage.topic("images", 4)
    stuck = stage.console_member("thumbnails", "images", CONSUMER, name="thumbnails-1", is_stuck=True)
    _joined(stage, "thumbnails", 1)
    stage.produce("images", 3)
    stage.caught_up("thumbnails", "images")
    stage.say("the member gets stuck in its output", group="thumbnails", member="thumbnails-1")
    stage.produce("images", 40, size=8_000)
    stage.pause(2)
    stage.say("a second member joins", group="thumbnails", member="thumbnails-2")
    stage.console_member("thumbnails", "images", CONSUMER, name="thumbnails-2")
    _joined(stage, "thumbnails", 2)
    stage.pause(62)
    stage.say("the output is read again", group="thumbnails", member="thumbnails-1")
    stuck.read_on()
    stage.caught_up("thumbnails", "images")
    stage.work(3, 5, {"thumbnails": ("images",)})


@incident(
    "consumer-protocol-member-killed",
    "One of two members of a group of the consumer protocol died",
    "4.2.1",
    complaint="For most of a minute half of the radar stations stood still this morning. All pods are up now, "
    "they say.",
    done="The process of one of the two members of `radar` (consumer protocol, KIP-848) was killed. The "
    "coordinator waited for group.consumer.session.timeout.ms, 45 seconds by default; until then nobody "
    "read its partitions. Then the other member took them over. The session timeout of such a group is "
    "in no record.",
    must=(found("member_timed_out", "radar", during="member killed", says="radar-2"),),
    must_not=(
        {"severity": "critical"},
        found(["rebalance_storm", "slow_reconciliation", "offsets_expired", "reset", "rewind"], "radar"),
        found("member_timed_out", "radar", says="radar-1"),
    ),
)
def member_killed(stage: Stage) -> None:
    stage.topic("echoes", 4)
    reads = {"radar": ("echoes",)}
    stage.console_member("radar", "echoes", CONSUMER, name="radar-1")
    killed = stage.console_member("radar", "echoes", CONSUMER, name="radar-2")
    _joined(stage, "radar", 2)
    stage.pause(6)
    stage.work(4, 5, reads)
    stage.say("member killed (SIGKILL)", group="radar", member="radar-2")
    killed.kill()
    stage.pause(40)
    _joined(stage, "radar", 1)
    stage.work(3, 5, reads)


@incident(
    "converted-and-back",
    "A group went over to the consumer protocol by one client's new version, and back",
    "4.3.1",
    complaint="Since yesterday's deployment of one pod the group is listed with another type, and our scripts do "
    "not understand it.",
    done="`search` was a classic group of one member. A second member was deployed with "
    "group.protocol=consumer: the group was converted while it ran. The deployment was rolled back, and "
    "when the last member of the consumer protocol left, the group was classic again.",
    must=(
        found("group_converted", "search", during="a member with group.protocol=consumer"),
        found("group_converted", "search", during="it is rolled back"),
    ),
    must_not=(
        {"severity": "critical"},
        found(["offsets_expired", "offsets_deleted", "group_deleted", "reset", "rewind"], "search"),
    ),
    properties=FAST_EPOCHS,
)
def converted(stage: Stage) -> None:
    stage.topic("products", 4)
    stage.console_member("search", "products", name="search-1")
    _joined(stage, "search", 1)
    stage.work(3, 5, {"search": ("products",)})
    stage.say(
        "a member with group.protocol=consumer joins: upgrade to consumer", group="search", member="search-2"
    )
    newer = stage.console_member("search", "products", CONSUMER, name="search-2")
    _joined(stage, "search", 2)
    stage.pause(2)
    stage.work(3, 5, {"search": ("products",)})
    stage.say("it is rolled back: downgrade to classic", group="search", member="search-2")
    newer.leave()
    _joined(stage, "search", 1)
    stage.pause(2)
    stage.work(3, 5, {"search": ("products",)})


def _joined(stage: Stage, group: str, members: int) -> None:
    """Wait until the group has so many members."""

    def has_members() -> bool:
        try:
            told = stage.groups_tool("--describe", "--group", group, "--state")
        except StageError:
            return False
        return told.split()[-1] == str(members)

    stage.until(f"group {group} has {members} members", has_members)
