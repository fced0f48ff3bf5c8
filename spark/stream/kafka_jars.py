"""The jars of Spark's Kafka source, fetched for a stream of the live topic alone; all others in their POMs are Spark's own.

What fetches and verifies them is spark.runtime.jars.
"""

from collections.abc import Mapping
from typing import Final

from spark.runtime.jars import JarSet, jars
from spark.runtime.settings import JARS, is_submitted

_SHA256: Final = {
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0": "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.2.0": (
        "641c7947afc8aa1189e433b7c2d305293993c8691bc1c2062d6d4f513b12518c"
    ),
    "org.apache.kafka:kafka-clients:3.9.2": "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8",
    "org.apache.commons:commons-pool2:2.13.1": "f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f",
}
KAFKA_SOURCE: Final = JarSet("spark-kafka-4.2.0", tuple(_SHA256))
KAFKA_DIGESTS: Final[Mapping[str, str]] = {
    "{}.{}-{}.jar".format(*coordinate.split(":")): digest for coordinate, digest in _SHA256.items()
}
_OFFSETS_BY_CONSUMER: Final = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"


def with_kafka() -> dict[str, str]:
    """Return the settings of a session that reads Kafka topics too. SetupError where the jars cannot be had.

    Of a JVM that spark-submit has started they are spark-submit's to name (`--packages`).
    """
    # The other way to ask for offsets, by Kafka's admin client, leaves out internal topics (ConsumerStrategy of Spark's source).
    asked = {_OFFSETS_BY_CONSUMER: "true"}
    if is_submitted():
        return asked
    return {**asked, JARS: ",".join(map(str, jars(KAFKA_SOURCE, KAFKA_DIGESTS)))}
