"""Offsets that moved: a reset by an admin, a seek by a member, a script that commits into somebody's group."""

from kafka import TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from tests.incidents.incident import ACT, found, incident, loud
from tests.incidents.stage import Stage


@incident(
    "reset-to-earliest",
    "Somebody reset a stopped group to the start of its topic",
    "3.9.2",
    complaint="Payments were charged twice tonight. The service was deployed, and its lag jumped from nothing to "
    "all there is.",
    done="While `payments` was stopped for a deployment, somebody ran kafka-consumer-groups --reset-offsets "
    "--to-earliest --execute for it, meaning another cluster. All four partitions of `charges` were set "
    "to 0 at one instant; the service went on from there.",
    must=(
        found("reset", "payments", topic="charges", severity=ACT, during="--reset-offsets", says="200 back"),
    ),
    must_not=(
        found(["offsets_expired", "offsets_deleted", "group_deleted", "topic_deleted"], "payments"),
        found("reset", "ledger"),
        loud("ledger"),
    ),
)
def reset_to_earliest(stage: Stage) -> None:
    stage.topic("charges", 4)
    payments = [stage.member("payments", "charges", name=f"payments-{number}") for number in (1, 2)]
    stage.member("ledger", "charges", name="ledger-1")
    reads = {"payments": ("charges",), "ledger": ("charges",)}
    stage.work(5, 10, reads)
    stage.say("the service is stopped for a deployment", group="payments")
    for each in payments:
        each.leave()
    stage.say("--reset-offsets --to-earliest --all-topics --execute", group="payments", topic="charges")
    stage.groups_tool("--reset-offsets", "--group", "payments", "--all-topics", "--to-earliest", "--execute")
    stage.pause(1)
    stage.say("the service is started again", group="payments")
    for number in (1, 2):
        stage.member("payments", "charges", name=f"payments-{number}")
    stage.work(3, 10, reads)


@incident(
    "member-seeks-back",
    "A member went back in one partition and read it again",
    "4.1.2",
    complaint="Some parcels were announced twice yesterday, all of them from the same region. We did not restart "
    "anything.",
    done="`shipments` has two members and was running all the time. Somebody called the replay endpoint of "
    "one of them for one partition: it sought back to offset 5 and committed its way up again. The "
    "other partitions went on as ever.",
    must=(
        found(
            "rewind",
            "shipments",
            topic="parcels",
            partition=1,
            during="a member seeks back",
            says="by a member",
        ),
    ),
    must_not=(
        found(["reset", "offsets_expired", "offsets_deleted", "group_deleted", "jump"], "shipments"),
        {"partition": [0, 2, 3]},
    ),
)
def member_seeks_back(stage: Stage) -> None:
    stage.topic("parcels", 4)
    members = [stage.member("shipments", "parcels", name=f"shipments-{number}") for number in (1, 2)]
    stage.until("both have partitions", lambda: all(len(each.owned()) == 2 for each in members))
    reads = {"shipments": ("parcels",)}
    stage.work(6, 10, reads)
    [owner] = [each for each in members if ["parcels", 1] in each.owned()]
    stage.say("a member seeks back to offset 5", group="shipments", topic="parcels", partition=1)
    owner.ask("seek", topic="parcels", partition=1, offset=5)
    stage.pause(3)
    stage.work(4, 10, reads)


@incident(
    "member-jumps-ahead",
    "A member threw its backlog away",
    "3.9.2",
    complaint="Alerts of one hour are missing, all of one partition. The consumer's lag went from 700 to nothing "
    "in a second.",
    done="A member of `alerts` was behind by 700 records in one partition. Somebody who wanted the lag to be "
    "gone called its skip-to-end endpoint: it sought to the end and went on there. The other partition "
    "was read record by record, as ever.",
    must=(found("jump", "alerts", topic="alarms", partition=0, during="a member seeks", says="by a member"),),
    must_not=(
        found(["reset", "rewind", "offsets_expired", "offsets_deleted", "group_deleted"], "alerts"),
        {"partition": 1},
    ),
)
def member_jumps_ahead(stage: Stage) -> None:
    stage.topic("alarms", 2)
    member = stage.member("alerts", "alarms", name="alerts-1", max_poll_records=1)
    reads = {"alerts": ("alarms",)}
    stage.work(8, 2, reads)
    end = stage.ends("alarms")["alarms", 0]
    stage.say("a member seeks 700 records ahead", group="alerts", topic="alarms", partition=0)
    member.ask("pause", topic="alarms", partition=0)
    stage.produce("alarms", 700, only=0)
    member.ask("seek", topic="alarms", partition=0, offset=end + 700)
    stage.work(8, 2, reads)


@incident(
    "script-in-the-group",
    "A script committed offsets under the name of a service",
    "4.3.1",
    complaint="Stock levels have been wrong since last night: the inventory service seems to have missed a few "
    "hundred movements.",
    done="A script that measures lag was set up with the group id of the service `inventory`: it assigned "
    "itself the partitions and committed the end of the topic. While the service ran, the broker "
    "refused it (there is no trace of that in the log). When the service was stopped for a minute, the "
    "commit was taken, and the service started behind what it had not read.",
    must=(
        found(
            ["reset", "jump"],
            "inventory",
            topic="movements",
            during="a script commits the end",
            says="300 ahead",
        ),
    ),
    must_not=(
        found(
            ["rewind", "offsets_expired", "offsets_deleted", "group_deleted", "topic_deleted"], "inventory"
        ),
        loud("archive"),
    ),
)
def script_in_the_group(stage: Stage) -> None:
    stage.topic("movements", 2)
    service = stage.member("inventory", "movements", name="inventory-1")
    stage.member("archive", "movements", name="archive-1")
    reads = {"inventory": ("movements",), "archive": ("movements",)}
    stage.work(6, 10, reads)
    try:
        stage.commit_as_stranger("inventory", stage.ends("movements"))
    except KafkaError as refused:
        stage.say("a script's commit is refused", group="inventory", error=type(refused).__name__)
    stage.say("the service is stopped", group="inventory")
    service.leave()
    stage.produce("movements", 150)
    stage.caught_up("archive", "movements")
    stage.say("a script commits the end of the topic", group="inventory", topic="movements")
    stage.commit_as_stranger("inventory", stage.ends("movements"))
    stage.pause(1)
    stage.say("the service is started again", group="inventory")
    stage.member("inventory", "movements", name="inventory-1")
    stage.work(4, 10, reads)


@incident(
    "admin-turns-back-one-partition",
    "A program turned one partition of a stopped group back by the Admin API",
    "4.3.1",
    complaint="Yesterday's reports of one shop were written again over night, those of the others were not.",
    done="The operator tool of the platform team stopped `reports` for the night, called "
    "alterConsumerGroupOffsets for partition 0 alone, 30 records back, and started the group again.",
    must=(
        found(
            ["reset", "rewind"],
            "reports",
            topic="sales",
            partition=0,
            during="alterConsumerGroupOffsets",
            says="30 back",
        ),
    ),
    must_not=(
        found(["offsets_expired", "offsets_deleted", "group_deleted", "topic_deleted"], "reports"),
        {"partition": [1, 2]},
    ),
)
def admin_turns_back(stage: Stage) -> None:
    stage.topic("sales", 3)
    service = stage.member("reports", "sales", name="reports-1")
    reads = {"reports": ("sales",)}
    stage.work(6, 10, reads)
    stage.say("the service is stopped for the night", group="reports")
    service.leave()
    stage.say("alterConsumerGroupOffsets, 30 back", group="reports", topic="sales", partition=0)
    stage.admin.alter_group_offsets("reports", {TopicPartition("sales", 0): OffsetAndMetadata(30, "", -1)})
    stage.pause(1)
    stage.say("the service is started again", group="reports")
    stage.member("reports", "sales", name="reports-1")
    stage.work(3, 10, reads)
