"""Who floods the topic with commits, and quiet nights: what every cluster does when nothing is wrong."""

from kafka.errors import KafkaError

from tests.incidents.incident import LOUD, found, incident, loud
from tests.incidents.stage import Stage


@incident(
    "commit-storm",
    "One client commits the same offset a thousand times",
    "3.9.2",
    complaint="__consumer_offsets grows by gigabytes a day since last week, and nobody reads more than before.",
    done="A new release of `thermostat` commits after each poll, also when the poll gave nothing: the same "
    "offsets again and again, a thousand times within seconds. `doors` and `windows`, beside it, commit "
    "when they have read something.",
    must=(
        found("commit_flood", "thermostat"),
        found("idle_commits", "thermostat", topic="heat", during="the client commits"),
    ),
    must_not=(
        found(["commit_flood", "idle_commits"], "doors"),
        found(["commit_flood", "idle_commits"], "windows"),
        loud("doors"),
        loud("windows"),
        found(["rewind", "jump", "reset", "offsets_expired", "offsets_deleted"], "thermostat"),
    ),
)
def commit_storm(stage: Stage) -> None:
    reads = {"thermostat": ("heat",), "doors": ("opened",), "windows": ("opened",)}
    stage.topic("heat", 1)
    stage.topic("opened", 2)
    [flooder, *_] = [stage.member(group, *topics, name=f"{group}-1") for group, topics in reads.items()]
    stage.work(4, 5, reads)
    stage.say("the client commits what it has committed, 1,000 times", group="thermostat", topic="heat")
    flooder.ask("flood", times=1_000)
    stage.work(4, 5, reads)


@incident(
    "metadata-grows",
    "A client keeps its state in the metadata of its commits, until they are refused",
    "4.3.1",
    complaint="Commits of the deduplication job fail with OffsetMetadataTooLarge since this morning, and it "
    "starts from the same place.",
    done="`dedup` writes the ids that it has seen into the metadata of each commit: 200 bytes more each "
    "time. The broker takes no more than 4,096 bytes (offset.metadata.max.bytes), and refused the "
    "commit that came to that.",
    must=(found("large_metadata", "dedup", topic="events"),),
    must_not=(LOUD, found(["rewind", "jump", "reset", "commit_flood"], "dedup")),
)
def metadata_grows(stage: Stage) -> None:
    stage.topic("events", 1)
    for number in range(1, 24):
        stage.produce("events", 5)
        try:
            stage.commit_as_stranger("dedup", {("events", 0): 5 * number}, metadata="x" * 200 * number)
        except KafkaError as refused:
            stage.say("a commit is refused", group="dedup", topic="events", error=type(refused).__name__)


@incident(
    "quiet-night",
    "A quiet night",
    "4.3.1",
    complaint="Nothing happened. Is that so?",
    done="Groups of each kind read what comes: a classic one of two members, one of the consumer protocol, "
    "one with a static member, one that commits in transactions, and a client that assigns itself its "
    "partitions. Nothing is wrong.",
    must=(),
    must_not=(
        LOUD,
        {
            "kind": [
                "reset",
                "rewind",
                "jump",
                "rebalance_storm",
                "commit_flood",
                "hanging_transaction",
                "offsets_expired",
            ]
        },
    ),
)
def quiet_night(stage: Stage) -> None:
    reads = dict.fromkeys(("classic", "static", "transactions", "epochs"), ("orders",))
    stage.topic("orders", 4)
    for number in (1, 2):
        stage.member("classic", "orders", name=f"classic-{number}")
    stage.member("static", "orders", name="static-1", group_instance_id="static-1")
    stage.member(
        "transactions", "orders", name="transactions-1", transaction={"transactional_id": "orders-tx"}
    )
    stage.console_member("epochs", "orders", "group.protocol=consumer", name="epochs-1")
    for _ in range(8):
        stage.work(1, 5, reads)
        stage.commit_as_stranger("simple", stage.ends("orders"))
        stage.pause(1)


@incident(
    "rolling-deployment",
    "A new version is deployed, member by member",
    "3.9.2",
    complaint="We deployed tonight. Did we do any harm?",
    done="The four members of `checkout` were stopped and started again one after the other, each cleanly. "
    "Every stop and start makes the group rebalance, as it must; no offset was lost or moved back.",
    must=(),
    must_not=(
        LOUD,
        {"kind": ["reset", "rewind", "jump", "member_timed_out", "offsets_expired", "group_deleted"]},
    ),
)
def rolling_deployment(stage: Stage) -> None:
    stage.topic("carts", 8)
    reads = {"checkout": ("carts",)}
    members = [stage.member("checkout", "carts", name=f"checkout-{number}") for number in range(4)]
    stage.work(3, 5, reads)
    for number, each in enumerate(members):
        stage.say("a member is stopped and started again", group="checkout", member=f"checkout-{number}")
        each.leave()
        stage.work(1, 5, reads)
        again = stage.member("checkout", "carts", name=f"checkout-{number}")
        stage.until("it has partitions", lambda again=again: bool(again.owned()))  # type: ignore[misc]
        stage.work(1, 5, reads)
