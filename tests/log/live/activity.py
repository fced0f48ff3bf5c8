"""What clients do on the shared broker before its topic is read: groups that commit, leave and are deleted, transactions."""

from time import monotonic

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.structs import OffsetAndMetadata

from tests.members import POLL_MS, member

GROUPS = [f"live-{number}" for number in range(8)]
TRANSACTIONAL = "live-transactional"
TOPIC = "live-orders"


def _joined(bootstrap_server: str, group: str) -> KafkaConsumer:
    """Return a consumer with its assignment."""
    consumer = member(TOPIC, bootstrap_servers=bootstrap_server, group_id=group, enable_auto_commit=False)
    end = monotonic() + 60
    while not consumer.assignment():
        if monotonic() > end:
            raise TimeoutError(f"group {group} gave its member no partitions")
        consumer.poll(timeout_ms=POLL_MS)
    return consumer


def act(bootstrap_server: str) -> None:
    """Let groups commit and leave, delete one, and end transactions, one of them by an abort."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap_server)
    admin.create_topics([NewTopic(TOPIC, 2, 1)])
    for group in GROUPS:
        consumer = _joined(bootstrap_server, group)
        consumer.commit(
            {TopicPartition(TOPIC, number): OffsetAndMetadata(number, group, -1) for number in range(2)}
        )
        consumer.close()
    for number in range(3):
        producer = KafkaProducer(bootstrap_servers=bootstrap_server, transactional_id="live-tx")
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_offsets_to_transaction(
            {TopicPartition(TOPIC, 0): OffsetAndMetadata(number, "", -1)}, TRANSACTIONAL
        )
        if number == 1:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
        producer.close()
    admin.delete_groups(GROUPS[:1])
    admin.close()
