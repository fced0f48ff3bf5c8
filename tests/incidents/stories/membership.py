"""Members of classic groups: a storm of rebalances, a member that died, two with one group.instance.id."""

from tests.incidents.incident import ACT, found, incident, loud
from tests.incidents.stage import Stage


@incident(
    "rebalance-storm",
    "One slow member made its group rebalance all night",
    "3.9.2",
    complaint="Our enrichment group rebalanced all night long, and the lag grew although all three pods were up "
    "and busy.",
    done="One of the three members of `scoring` called a slow service for every record: what a poll gave "
    "took it longer than max.poll.interval.ms. Its client left the group each time, and joined it again "
    "with the next poll; each time all members had to stop and join. `tracking`, on the same broker, "
    "was not touched.",
    must=(
        found(
            "rebalance_storm",
            "scoring",
            severity=ACT,
            during="a member starts that is slower",
            says="scoring-3",
        ),
        found("flapping_member", "scoring", says="scoring-3"),
    ),
    must_not=(
        found("rebalance_storm", "tracking"),
        found("flapping_member", "scoring", says=" scoring-1 "),
        loud("tracking"),
        found(["offsets_expired", "offsets_deleted", "reset", "group_deleted"], "scoring"),
    ),
)
def storm(stage: Stage) -> None:
    stage.topic("events", 6)
    stage.topic("positions", 2)
    for number in (1, 2):
        stage.member("scoring", "events", name=f"scoring-{number}")
    stage.member("tracking", "positions", name="tracking-1")
    stage.work(4, 5, {"scoring": ("events",), "tracking": ("positions",)})
    stage.say("a member starts that is slower than max.poll.interval.ms", group="scoring", member="scoring-3")
    stage.member("scoring", "events", name="scoring-3", processing_s=2.5, max_poll_interval_ms=1_500)
    for _ in range(14):
        stage.produce("events", 5)
        stage.work(1, 5, {"tracking": ("positions",)})
        stage.pause(2)


@incident(
    "member-killed",
    "One of two members died, and nobody noticed until its session was over",
    "3.9.2",
    complaint="For a while this morning half of the sensors were not processed, then all of it came at once.",
    done="The process of one of the two members of `sensors` was killed (out of memory). The coordinator "
    "waited for its session timeout of 6 seconds; until then nobody read its partitions. Then the other "
    "member took them over.",
    must=(found("member_timed_out", "sensors", during="member killed", says="sensors-2"),),
    must_not=(
        found(["rebalance_storm", "static_member_replaced", "offsets_expired", "reset"], "sensors"),
        {"severity": "critical"},
    ),
)
def member_killed(stage: Stage) -> None:
    stage.topic("readings", 4)
    first = stage.member("sensors", "readings", name="sensors-1")
    second = stage.member("sensors", "readings", name="sensors-2")
    stage.until("both have partitions", lambda: all(len(each.owned()) == 2 for each in (first, second)))
    stage.work(5, 5, {"sensors": ("readings",)})
    stage.say("member killed (SIGKILL)", group="sensors", member="sensors-2")
    second.kill()
    stage.work(3, 5, {"sensors": ("readings",)})


@incident(
    "duplicate-instance-id",
    "Two pods with the same group.instance.id fence each other",
    "4.0.2",
    complaint="One of our pods restarts every few seconds with FencedInstanceIdException since we scaled the "
    "deployment to two.",
    done="`quotes` sets group.instance.id from a configuration that was meant for one pod. When the "
    "deployment was scaled to two, the second pod took the place of the first, which was fenced, ended, "
    "was restarted by its supervisor, and fenced the second: four times in all.",
    must=(
        found("static_member_replaced", "quotes", during="second member"),
        found("instance_conflict", "quotes", severity=ACT),
    ),
    must_not=(
        found(["offsets_expired", "offsets_deleted", "reset", "group_deleted", "member_timed_out"], "quotes"),
    ),
)
def duplicate_instance_id(stage: Stage) -> None:
    stage.topic("prices", 2)
    running = stage.member("quotes", "prices", name="quotes-a", group_instance_id="quotes-0")
    stage.work(4, 5, {"quotes": ("prices",)})
    for name in ("quotes-b", "quotes-a", "quotes-b", "quotes-a"):
        stage.say(
            "second member with the same group.instance.id: the first is fenced",
            group="quotes",
            member=name,
            instance_id="quotes-0",
        )
        other = stage.member("quotes", "prices", name=name, group_instance_id="quotes-0")
        stage.until("it has the partitions", lambda other=other: len(other.owned()) == 2)  # type: ignore[misc]
        stage.work(1, 5, {"quotes": ("prices",)})
        stage.until("the other one is fenced and ends", lambda running=running: not running.is_running)  # type: ignore[misc]
        running = other
