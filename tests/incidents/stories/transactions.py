"""Transactions that commit offsets: left open, ended by their timeout, ended by a second producer of the same name."""

from tests.incidents.incident import ACT, found, incident, loud
from tests.incidents.members import ApplicationMember
from tests.incidents.stage import Stage, StageError

READS = {"enrich": ("raw",)}


def _application(stage: Stage, name: str, transactional_id: str, timeout_ms: int) -> ApplicationMember:
    """Start an application that commits what it reads in transactions, and reads committed records alone."""
    transaction = {"transactional_id": transactional_id, "transaction_timeout_ms": timeout_ms}
    return stage.member("enrich", "raw", name=name, transaction=transaction, isolation_level="read_committed")


def _hold(stage: Stage, application: ApplicationMember, transactional_id: str) -> None:
    """Let the application begin a transaction, send its offsets, and not end it."""
    application.ask("hold")
    stage.say("sendOffsetsToTransaction", transactional_id=transactional_id, group="enrich", topic="raw")
    stage.produce("raw", 3)
    application.answer()


def _refused(stage: Stage, application: ApplicationMember, what: str) -> None:
    """Let the application end its transaction, which the coordinator has aborted, and crash."""
    error = application.ask("end")["error"]
    if error is None:
        raise StageError("the transaction was committed, and should have been aborted before")
    stage.say(what, group="enrich", error=error)
    application.kill()


def _start(stage: Stage) -> None:
    stage.topic("raw", 2)
    stage.topic("clicks", 2)
    stage.member("counting", "clicks", name="counting-1")


@incident(
    "hanging-transaction",
    "A group waits behind a transaction that nobody ends",
    "3.9.2",
    complaint="Enrich has been stuck since its pod was moved: the new one is up, joins the group, and does not "
    "read a single record.",
    done="`enrich` commits its offsets in transactions, with a transactional.id that has the pod's name in "
    "it and a timeout of 15 minutes. Its pod was killed in the middle of a transaction. The new pod has "
    "another transactional.id, so nothing ended the old transaction: the group's offsets are pending, "
    "and the new member is told to try again (UNSTABLE_OFFSET_COMMIT).",
    must=(
        found("hanging_transaction", "enrich", severity=ACT, during="sendOffsetsToTransaction"),
        found("member_timed_out", "enrich", during="another pod is started", says="enrich-7f9c"),
    ),
    must_not=(
        found(
            ["transaction_timed_out", "transaction_fenced", "offsets_expired", "offsets_deleted"], "enrich"
        ),
        loud("counting"),
    ),
)
def hanging(stage: Stage) -> None:
    _start(stage)
    pod = _application(stage, "enrich-7f9c", "enrich-7f9c-tx", 900_000)
    stage.work(6, 3, {**READS, "counting": ("clicks",)})
    _hold(stage, pod, "enrich-7f9c-tx")
    stage.say("member killed (SIGKILL)", group="enrich", member="enrich-7f9c")
    pod.kill()
    stage.pause(1)
    stage.say("another pod is started", group="enrich", member="enrich-b21d")
    _application(stage, "enrich-b21d", "enrich-b21d-tx", 900_000)
    for _ in range(13):
        stage.produce("raw", 3)
        stage.work(1, 3, {"counting": ("clicks",)})
        stage.pause(5)


@incident(
    "transaction-timed-out",
    "A transaction was aborted because its producer paused for too long",
    "3.9.2",
    complaint="Enrich logs ProducerFencedException about once a day and crashes, though there is only one "
    "instance of it.",
    done="The process of `enrich` stood still for a quarter of a minute in the middle of a transaction (its "
    "host was out of memory). The transaction's timeout of 10 seconds was over before: the coordinator "
    "aborted it. When the process woke up, it could not commit, ended, and was started again after a "
    "back-off; what it had read was read again.",
    must=(found("transaction_timed_out", "enrich", during="transaction left to the timeout"),),
    must_not=(
        found("hanging_transaction", "enrich"),
        found("transaction_fenced", "enrich", confidence=["certain", "likely"]),
        loud("counting"),
    ),
)
def timed_out(stage: Stage) -> None:
    _start(stage)
    first = _application(stage, "enrich-1", "enrich-tx", 10_000)
    stage.work(6, 3, {**READS, "counting": ("clicks",)})
    _hold(stage, first, "enrich-tx")
    stage.say("transaction left to the timeout", transactional_id="enrich-tx", timeout_ms=10_000)
    first.freeze()
    stage.pause(15)
    first.thaw()
    _refused(stage, first, "it wakes up and cannot commit")
    stage.pause(10)
    stage.say("the service is started again", group="enrich")
    _application(stage, "enrich-1", "enrich-tx", 10_000)
    stage.work(4, 3, {**READS, "counting": ("clicks",)})


@incident(
    "zombie-fenced",
    "Two instances with one transactional.id: the older is fenced",
    "4.3.1",
    complaint="After the failover last night enrich complained of ProducerFencedException, and some results came "
    "in late.",
    done="The first instance of `enrich` hung in the middle of a transaction. The supervisor took it for "
    "dead and started a second one with the same transactional.id, whose initTransactions fenced the "
    "first and aborted its transaction at once, long before its timeout of a minute. The first came "
    "back, could not commit any more, and ended.",
    must=(found("transaction_fenced", "enrich", during="second producer"),),
    must_not=(
        found("hanging_transaction", "enrich"),
        found("transaction_timed_out", "enrich", confidence=["certain", "likely"]),
        loud("counting"),
    ),
)
def fenced(stage: Stage) -> None:
    _start(stage)
    first = _application(stage, "enrich-1", "enrich-tx", 60_000)
    stage.work(6, 3, {**READS, "counting": ("clicks",)})
    _hold(stage, first, "enrich-tx")
    stage.pause(2)
    stage.say(
        "second producer with the same transactional.id starts: the transaction is aborted",
        transactional_id="enrich-tx",
    )
    _application(stage, "enrich-2", "enrich-tx", 60_000).ask("tell")
    _refused(stage, first, "the first cannot commit")
    stage.work(4, 3, {**READS, "counting": ("clicks",)})
