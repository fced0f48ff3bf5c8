"""Offsets that went: they expired, or somebody deleted them, their group or their topic."""

from tests.incidents.incident import ACT, found, incident, loud
from tests.incidents.stage import Stage

WEEKEND = {"offsets.retention.minutes": "1"}
"""A week in a minute: the shortest retention that a broker takes."""


@incident(
    "weekend-skipped",
    "The group came back after a long weekend and skipped everything",
    "2.8.2",
    complaint="Billing is up again since Tuesday and shows no lag at all, but the orders of the weekend were "
    "never billed.",
    done="The service `billing` was shut down for a long weekend while orders went on coming. Its offsets "
    "were older than offsets.retention.minutes when it was started again, so it began where "
    "auto.offset.reset=latest told it to: at the end. The group `reporting` read the same topic all the "
    "time. A week of retention is a minute here: ask with --retention 1m.",
    must=(
        found(
            "offsets_expired",
            "billing",
            topic="orders",
            severity=ACT,
            during="the service is shut down",
            says="ahead of",
        ),
    ),
    must_not=(
        found(["offsets_deleted", "group_deleted", "topic_deleted", "offsets_lost", "reset"], "billing"),
        loud("reporting"),
    ),
    properties=WEEKEND,
)
def skipped(stage: Stage) -> None:
    _weekend(stage, "latest")


@incident(
    "weekend-read-again",
    "The group came back after a long weekend and did everything twice",
    "4.3.1",
    complaint="Since billing was restarted this morning customers get invoices a second time, for orders of last "
    "month.",
    done="The service `billing` was shut down for a long weekend. Its offsets were older than "
    "offsets.retention.minutes when it was started again, so it began where auto.offset.reset=earliest "
    "told it to: at the first record that the topic still had. The group `reporting` read the same "
    "topic all the time. A week of retention is a minute here: ask with --retention 1m.",
    must=(
        found(
            "offsets_expired",
            "billing",
            topic="orders",
            severity=ACT,
            during="the service is shut down",
            says="behind",
        ),
    ),
    must_not=(
        found(["offsets_deleted", "group_deleted", "topic_deleted", "offsets_lost", "reset"], "billing"),
        loud("reporting"),
    ),
    properties=WEEKEND,
)
def read_again(stage: Stage) -> None:
    _weekend(stage, "earliest")


def _weekend(stage: Stage, reset: str) -> None:
    stage.topic("orders", 2)
    billing = stage.member("billing", "orders", name="billing-1")
    stage.member("reporting", "orders", name="reporting-1")
    stage.work(6, 5, {"billing": ("orders",), "reporting": ("orders",)})
    stage.say("the service is shut down for the weekend", group="billing")
    billing.leave()
    for _ in range(11):
        stage.work(1, 10, {"reporting": ("orders",)})
        stage.pause(5)
    stage.until("the offsets of billing expire", lambda: not stage.committed("billing"))
    stage.say("the offsets of the group are no longer there", group="billing")
    stage.say("the service is started again", group="billing", auto_offset_reset=reset)
    again = stage.member("billing", "orders", name="billing-1", auto_offset_reset=reset)
    stage.until("it has its partitions", lambda: len(again.owned()) == 2)
    stage.pause(1)
    stage.work(4, 5, {"billing": ("orders",), "reporting": ("orders",)})


@incident(
    "unsubscribed-topic-expired",
    "A running group lost the offsets of a topic that it did not read for a while",
    "3.9.2",
    complaint="Our group was up all the time, and still it began one of its topics again from the start. How can "
    "that expire?",
    done="`crawler` reads `pages` and `images`. For one release it read `pages` alone (a feature flag), for "
    "longer than offsets.retention.minutes; the offsets of the topic that no member subscribed to "
    "expired under the running group. With the next release it began `images` again at the start. A "
    "week of retention is a minute here: ask with --retention 1m.",
    must=(
        found(
            "offsets_expired",
            "crawler",
            topic="images",
            severity=ACT,
            during="a release that reads one topic",
            says="behind",
        ),
    ),
    must_not=(
        found("offsets_expired", "crawler", topic="pages"),
        found(["offsets_deleted", "group_deleted", "topic_deleted", "offsets_lost", "reset"], "crawler"),
    ),
    properties=WEEKEND,
)
def unsubscribed(stage: Stage) -> None:
    stage.topic("pages", 2)
    stage.topic("images", 2)
    both = {"crawler": ("pages", "images")}
    before = stage.member("crawler", "pages", "images", name="crawler-1")
    stage.work(6, 10, both)
    stage.say("a release that reads one topic alone", group="crawler", topic="pages")
    before.leave()
    without = stage.member("crawler", "pages", name="crawler-1")
    for _ in range(11):
        stage.work(1, 5, {"crawler": ("pages",)})
        stage.pause(5)
    stage.until("its offsets expire", lambda: ("images", 0) not in stage.committed("crawler"))
    stage.say("the offsets of the other topic are no longer there", group="crawler", topic="images")
    without.leave()
    stage.say("a release that reads both again", group="crawler")
    stage.member("crawler", "pages", "images", name="crawler-1")
    stage.work(3, 5, both)


@incident(
    "idle-simple-client",
    "A client without a group membership was idle for too long, and lost its place while it ran",
    "3.9.2",
    complaint="The import ran all week, there was just nothing to import. Today the first record came, and it "
    "began with the oldest.",
    done="`import` assigns itself its partitions and is no member of a group: its offsets expire "
    "offsets.retention.minutes after they were committed, whether or not it still runs. There was "
    "nothing to read for a week; then it asked for its offset again, found none, and began at the "
    "start. `reporting` read another topic all the time. A week of retention is a minute here: ask with "
    "--retention 1m.",
    must=(
        found(
            "offsets_expired",
            "import",
            topic="prices",
            severity=ACT,
            during="there is nothing more",
            says="behind",
        ),
    ),
    must_not=(
        found(["offsets_deleted", "group_deleted", "topic_deleted", "offsets_lost", "reset"], "import"),
        loud("reporting"),
    ),
    properties=WEEKEND,
)
def idle_simple_client(stage: Stage) -> None:
    stage.topic("prices", 2)
    stage.topic("orders", 2)
    stage.member("reporting", "orders", name="reporting-1")
    for end in (20, 40, 60):
        stage.produce("prices", 20)
        stage.commit_as_stranger("import", {("prices", number): end for number in range(2)})
    stage.say("there is nothing more to read", group="import", topic="prices")
    for _ in range(11):
        stage.work(1, 5, {"reporting": ("orders",)})
        stage.pause(5)
    stage.until("the offsets of import expire", lambda: not stage.committed("import"))
    stage.say("the offsets of the client are no longer there", group="import")
    for end in (5, 10, 15):
        stage.commit_as_stranger("import", {("prices", number): end for number in range(2)})
    stage.say("it has begun at the start", group="import", topic="prices")
    stage.work(1, 5, {"reporting": ("orders",)})


@incident(
    "offsets-deleted",
    "Somebody cleaned up the offsets of a topic that a group still reads",
    "3.9.2",
    complaint="Search reads the whole product catalogue again since we deployed it. Nobody touched its offsets, "
    "they say.",
    done="While `search` was stopped for a deployment, somebody who cleaned up old topics ran "
    "kafka-consumer-groups --delete-offsets for the topic `products`, which the group reads, and not "
    "for the one that was meant. `search` began `products` again at the start; `prices`, its other "
    "topic, and `audit`, another group of the same topic, were left alone.",
    must=(
        found(
            "offsets_deleted",
            "search",
            topic="products",
            severity=ACT,
            during="offsets deleted",
            says="behind",
        ),
    ),
    must_not=(
        found(["offsets_expired", "group_deleted", "topic_deleted", "offsets_lost"], "search"),
        found("offsets_deleted", "search", topic="prices"),
        loud("audit"),
    ),
)
def offsets_deleted(stage: Stage) -> None:
    stage.topic("products", 2)
    stage.topic("prices", 2)
    search = stage.member("search", "products", "prices", name="search-1")
    stage.member("audit", "products", name="audit-1")
    reads = {"search": ("products", "prices"), "audit": ("products",)}
    stage.work(6, 5, reads)
    stage.say("the service is stopped for a deployment", group="search")
    search.leave()
    stage.say("offsets deleted (OffsetDelete)", group="search", topic="products")
    stage.groups_tool("--delete-offsets", "--group", "search", "--topic", "products")
    for _ in range(3):
        stage.work(1, 5, {"audit": ("products",)})
        stage.pause(4)
    stage.say("the service is started again", group="search")
    stage.member("search", "products", "prices", name="search-1")
    stage.work(4, 5, reads)


@incident(
    "group-deleted",
    "Somebody deleted the group while it was stopped",
    "2.8.2",
    complaint="Mailer sent every mail of the last month again when it came back from maintenance.",
    done="While `mailer` was stopped, somebody deleted the group by mistake (kafka-consumer-groups "
    "--delete), taking it for one that was left over from a test. Started again with "
    "auto.offset.reset=earliest, it read both topics from the start.",
    must=(found("group_deleted", "mailer", severity=ACT, during="group deleted", says="behind"),),
    must_not=(
        found(["offsets_expired", "offsets_deleted", "topic_deleted", "offsets_lost", "reset"], "mailer"),
        loud("audit"),
    ),
)
def group_deleted(stage: Stage) -> None:
    stage.topic("welcome", 2)
    stage.topic("reminders", 2)
    mailer = stage.member("mailer", "welcome", "reminders", name="mailer-1")
    stage.member("audit", "welcome", name="audit-1")
    reads = {"mailer": ("welcome", "reminders"), "audit": ("welcome",)}
    stage.work(6, 5, reads)
    stage.say("the service is stopped for maintenance", group="mailer")
    mailer.leave()
    stage.say("group deleted (DeleteGroups)", group="mailer")
    stage.groups_tool("--delete", "--group", "mailer")
    stage.pause(2)
    stage.say("the service is started again", group="mailer")
    stage.member("mailer", "welcome", "reminders", name="mailer-1")
    stage.work(4, 5, reads)


@incident(
    "topic-recreated",
    "A topic was deleted and created again while a group read it",
    "4.3.1",
    complaint="The dashboard counts clicks from zero since this afternoon, and its offsets went down from "
    "thousands to a handful.",
    done="Somebody deleted the topic `clicks` and created it again with more partitions, while `dashboard` "
    "and `archive` read it and `views`. The broker took away the offsets of the deleted topic, and both "
    "groups went on at the start of the new one.",
    must=(
        found("topic_deleted", "dashboard", topic="clicks", during="topic deleted", says="behind"),
        found("topic_deleted", "archive", topic="clicks", during="topic deleted", says="behind"),
        found("topic_recreated", "dashboard", topic="clicks"),
        found("topic_recreated", "archive", topic="clicks"),
    ),
    must_not=(
        found(["offsets_expired", "offsets_deleted", "group_deleted", "offsets_lost"], "dashboard"),
        found(["offsets_expired", "offsets_deleted", "group_deleted", "offsets_lost"], "archive"),
        {"topic": "views"},
    ),
)
def topic_recreated(stage: Stage) -> None:
    stage.topic("clicks", 2)
    stage.topic("views", 2)
    running = {
        group: stage.member(group, "clicks", "views", name=f"{group}-1") for group in ("dashboard", "archive")
    }
    reads = dict.fromkeys(running, ("clicks", "views"))
    stage.work(6, 20, reads)
    stage.say("topic deleted", topic="clicks")
    stage.admin.delete_topics(["clicks"])
    stage.pause(3)
    stage.topic("clicks", 4)
    for each in running.values():
        stage.until("the new topic is assigned", lambda each=each: ["clicks", 3] in each.owned())  # type: ignore[misc]
    stage.work(4, 5, reads)
