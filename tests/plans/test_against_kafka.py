"""The commands of a plan, run as they are printed with Kafka's own tools on a real broker: they do what the plan says."""

import shlex
import subprocess
import uuid
from pathlib import Path

import pytest
from click.testing import CliRunner
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.structs import OffsetAndMetadata

from offsets_tool.cli import main
from offsets_tool.time_texts import time_text
from tests.broker import KRaftBroker
from tests.plans.planned import standing

pytestmark = pytest.mark.broker
TOOLS = {
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
}
ODD = ('a,"b"', " lead", "käse", "--execute", "$HOME's", "x\ry")
"""Names that CSV or a shell could take for something else."""
RECORDS = 20


def commit(broker: KRaftBroker, group: str, offsets: dict[TopicPartition, int]) -> None:
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap_server, group_id=group, enable_auto_commit=False
    )
    consumer.assign(list(offsets))
    consumer.commit({at: OffsetAndMetadata(offset, "", -1) for at, offset in offsets.items()})
    consumer.close()


def filled(broker: KRaftBroker, topic: str) -> list[TopicPartition]:
    """The partitions of a new topic, with some records in each."""
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_server)
    admin.create_topics([NewTopic(topic, 2, 1)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_server)
    for number in range(2 * RECORDS):
        producer.send(topic, b"x", partition=number % 2)
    producer.close()
    return [TopicPartition(topic, number) for number in range(2)]


def commands(text: str) -> list[list[str]]:
    """The command lines of a plan, each as a shell makes words of it."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("  ")]
    asked = [line for line in lines if line.partition(" ")[0] in (*TOOLS, "offsets-tool")]
    script = "".join(f"printf '%s\\0' {line}; printf '\\n'\n" for line in asked)
    said = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout.decode()
    return [line.split("\0")[:-1] for line in said.split("\0\n") if line for line in [f"{line}\0"]]


def run(broker: KRaftBroker, words: list[str], folder: Path) -> str:
    """What a command of a plan says: Kafka's tool of the broker's release, or this one."""
    if words[0] == "offsets-tool":
        done = CliRunner().invoke(main, words[1:])
        assert done.exit_code == 0, done.output
        return done.stdout
    command = broker.command(TOOLS[words[0]], *words[1:])
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert "Error" not in told.stdout, told.stdout
    return told.stdout


def test_a_plan_is_run_as_it_is_printed(
    broker: KRaftBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups that went astray, one that was deleted, and one with an open transaction are where they were."""
    monkeypatch.chdir(tmp_path)
    mark = uuid.uuid4().hex[:8]
    places = filled(broker, f"plan-{mark}")
    deleted, open_ = f"deleted-{mark}", f"open-{mark}"
    groups = [*(name + mark for name in ODD), deleted, open_]
    for number, group in enumerate(groups):
        commit(broker, group, {places[0]: number, places[1]: 7})
    moment = moment_of(broker)
    for group in groups:
        commit(broker, group, {places[0]: RECORDS})
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_server)
    admin.delete_groups([deleted])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_server, transactional_id=f"tx-{mark}")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send_offsets_to_transaction({places[0]: OffsetAndMetadata(11, "", -1)}, open_)

    asked = ["plan", str(broker.data_dir), "--as-of", moment, "--group", f"*{mark}"]
    page = CliRunner().invoke(main, [*asked, "--format", "table"])
    assert page.exit_code == 0, page.output
    lines = commands(page.stdout.replace("BROKER:9092", broker.bootstrap_server))
    printed = [run(broker, words, tmp_path) for words in lines if "--describe" not in words]
    hanging, aborted, file, dry, executed = printed
    assert "StartOffset" in hanging and aborted == file == ""
    then = {at: offset for at, offset in standing(broker.data_dir, moment).items() if at[0] in groups}
    assert len(then) == 2 * len(groups)
    assert dry == executed and all(f" {offset}" in dry for offset in then.values())
    now = standing(broker.data_dir)
    assert {at: now.get(at) for at in then} == then
    after = CliRunner().invoke(main, [*asked, "--format", "csv"])
    assert after.stdout == "" and "the file is empty" in after.stderr
    assert shlex.quote(groups[0]) in page.stdout


def moment_of(broker: KRaftBroker) -> str:
    """The time of the newest record, once the clock has gone on."""
    from offsets_tool.evidence.replaying import snapshot_of

    newest = snapshot_of(broker.data_dir).newest_timestamp
    assert newest is not None
    text = time_text(newest)
    assert text is not None
    return text
