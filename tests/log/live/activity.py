"""What clients do on the shared broker before its topic is read: groups that commit, leave and are deleted, transactions."""

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.structs import OffsetAndMetadata

from tests.members import joined

GROUPS = [f"live-{number}" for number in range(8)]
TRANSACTIONAL = "live-transactional"
TOPIC = "live-orders"


def act(bootstrap_server: str) -> None:
    """Let groups commit and leave, delete one, and end transactions, one of them by an abort."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap_server)
    admin.create_topics([NewTopic(TOPIC, 2, 1)])
    for group in GROUPS:
        consumer = joined(TOPIC, group=group, bootstrap_server=bootstrap_server)
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
