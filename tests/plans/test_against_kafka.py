"""The commands of a plan, run as they are printed with Kafka's own tools on a real broker: they do what the plan says."""

import csv
import io
import os
import shlex
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from click.testing import CliRunner
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.structs import OffsetAndMetadata

from offsets_tool.cli import main
from offsets_tool.evidence.replaying import snapshot_of
from offsets_tool.plans.commands import ANY_BROKER
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


def programs(broker: KRaftBroker, folder: Path) -> dict[str, str]:
    """An environment in which a shell finds what a plan calls: Kafka's tools of the broker's release, and this one."""
    folder.mkdir()
    called = {name: broker.command(main_class) for name, main_class in TOOLS.items()}
    # Of itself it waits for five seconds, which is little where much runs at once.
    called["kafka-consumer-groups"] += ["--timeout", "60000"]
    called["offsets-tool"] = [sys.executable, "-m", "offsets_tool.cli"]
    for name, words in called.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}


def run(line: str, env: dict[str, str], folder: Path) -> str:
    """Run a command line of a plan in bash, and return its stdout."""
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=True, cwd=folder, env=env
    )
    assert "Error" not in done.stdout, done.stdout
    return done.stdout


def test_a_plan_is_run_as_it_is_printed(broker: KRaftBroker, tmp_path: Path) -> None:
    """Groups that went astray, one that was deleted, and one with an open transaction are where they were."""
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

    before = {at: offset for at, offset in standing(broker.data_dir).items() if at[0] in groups}
    asked = ["plan", str(broker.data_dir), "--as-of", moment, "--group", f"*{mark}"]
    page = CliRunner().invoke(main, [*asked, "--format", "table"])
    assert page.exit_code == 0, page.output
    text = page.stdout.replace(ANY_BROKER, broker.bootstrap_server)
    lines = [line.strip() for line in text.splitlines() if line.startswith("  ")]
    env = programs(broker, tmp_path / "bin")
    lines = [line for line in lines if (tmp_path / "bin" / line.partition(" ")[0]).exists()]
    find, abort, describe, export, write, dry, execute, check = lines
    assert "find-hanging" in find and "--state" in describe and "--offsets" in check
    assert run(abort, env, tmp_path) == run(export, env, tmp_path) == run(write, env, tmp_path) == ""
    planned = run(dry, env, tmp_path)
    assert run(execute, env, tmp_path) == planned

    then = {at: offset for at, offset in standing(broker.data_dir, moment).items() if at[0] in groups}
    now = standing(broker.data_dir)
    assert len(then) == 2 * len(groups) and {at: now.get(at) for at in then} == then
    assert rows_of(tmp_path / "reset.csv") == {
        at: offset for at, offset in then.items() if before.get(at) != offset
    }
    assert rows_of(tmp_path / "undo.csv") == before
    after = CliRunner().invoke(main, [*asked, "--format", "csv"])
    assert after.stdout == "" and "the file is empty" in after.stderr


def rows_of(file: Path) -> dict[tuple[str, str, int], int]:
    """The offsets in a file that Kafka's tool reads or wrote."""
    # The tool writes one more line end, and reads no empty line but at the end.
    text = io.StringIO(file.read_bytes().decode().rstrip("\n"), newline="")
    return {(group, topic, int(number)): int(at) for group, topic, number, at in csv.reader(text)}


def moment_of(broker: KRaftBroker) -> str:
    """Return the time of the newest record as text, once the clock is past it."""
    newest = snapshot_of(broker.data_dir).newest_timestamp
    assert newest is not None
    text = time_text(newest)
    assert text is not None
    return text
