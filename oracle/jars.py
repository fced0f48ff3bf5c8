"""Which jars hold which Kafka: one set a release, thinned of what none of our questions touches.

`python -m oracle.jars` fetches them ahead of a run, several sets at a time; else each comes when it is first wanted.

| releases | can be asked |
|---|---|
| 4.3.1 | everything: serde, encode, formatter, dumplog, load, batches, build, clean, blob, reset-plan, and a broker |
| 3.9.2, 4.0.2, 4.1.2, 4.2.1 | serde, formatter, dumplog, load (3.9.2: by either coordinator), and a broker; encode from 4.1 |
| 1.1.1, 2.8.2 | formatter, dumplog (the text dialects), load by the classic coordinator; 3.6.2 too |
| 3.3.2 | formatter, dumplog |
| 3.7.2, 4.4.0 | serde; encode with 4.4.0 (whose tools are not in the repository) |
| 3.5.2, 3.8.1 | declarations only, as all from 2.8.2 on |

jars.sha256 has the digests of all of them, as sha256sum prints them: a jar that is new to a set is refused until its line is there.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from offsets_tool.errors import SetupError
from spark.runtime.jars import DELTA, JarSet, jars

# Web servers, documentation, native state stores: no question of ours comes near them.
UNASKED = (
    "org.eclipse.jetty*:*",
    "org.glassfish*:*",
    "jakarta.*:*",
    "javax.*:*",
    "com.sun.activation:*",
    "org.javassist:*",
    "io.swagger*:*",
    "io.github.classgraph:*",
    "org.codehaus.plexus:*",
    "org.rocksdb:*",
    "io.netty:*",
    "org.slf4j:slf4j-log4j12",
    "org.slf4j:slf4j-reload4j",
    "org.scala-lang:scala-reflect",
    "com.fasterxml.jackson.module:jackson-module-jakarta-xmlbind-annotations",
    "com.fasterxml.jackson.module:jackson-module-jaxb-annotations",
    "com.fasterxml.jackson.jakarta.rs:*",
    "com.fasterxml.jackson.jaxrs:*",
    "commons-beanutils:*",
    "commons-digester:*",
    "commons-collections:*",
    "commons-logging:*",
)

ZOOKEEPER = ("org.apache.zookeeper:*", "com.101tec:*")
"""Not needed but by the broker of 3.9, whose configuration names its classes even without it, and by classic coordinators."""

STAND_INS = ("net.bytebuddy:byte-buddy:1.15.11",)
"""Makes the broker's parts that a classic coordinator asks while it loads: a log to read from is all it gets."""

LOGGING = "org.slf4j:slf4j-simple:1.7.36"


def _kafka(version: str, artifacts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"org.apache.kafka:{artifact}:{version}" for artifact in artifacts)


def _release(
    version: str, *artifacts: str, without: tuple[str, ...] = UNASKED, besides: tuple[str, ...] = ()
) -> JarSet:
    """Return the set of jars that runs the tools of a release: these artifacts and what they need."""
    coordinates = (*_kafka(version, artifacts), LOGGING, *besides)
    return JarSet(f"kafka-{version}", coordinates, is_transitive=True, excludes=without)


def _serde(version: str, jackson: str, annotations: str, *artifacts: str) -> JarSet:
    """Return the set of jars that reads and writes a release's records, without its tools."""
    records = ("kafka-clients", "kafka-group-coordinator", "kafka-server-common", *artifacts)
    json = tuple(
        f"com.fasterxml.jackson.core:jackson-{part}"
        for part in (f"databind:{jackson}", f"core:{jackson}", f"annotations:{annotations}")
    )
    return JarSet(
        f"kafka-{version}", (*_kafka(version, records), *json, "org.slf4j:slf4j-api:1.7.36", LOGGING)
    )


def _declarations(version: str) -> JarSet:
    return JarSet(f"kafka-{version}", _kafka(version, ("kafka-group-coordinator",)))


NEWEST = "4.3.1"
"""The newest release that is complete in the repository."""

KAFKA = {
    "1.1.1": _release("1.1.1", "kafka_2.12", besides=STAND_INS),
    "2.8.2": _release("2.8.2", "kafka_2.13", besides=STAND_INS),
    "3.3.2": _release("3.3.2", "kafka_2.13", without=UNASKED + ZOOKEEPER),
    "3.6.2": _release("3.6.2", "kafka_2.13", besides=STAND_INS),
    "3.7.2": _serde("3.7.2", "2.16.2", "2.16.2"),
    "3.9.2": _release("3.9.2", "kafka_2.13", "kafka-tools", besides=STAND_INS),
    "4.0.2": _release("4.0.2", "kafka_2.13", "kafka-tools"),
    "4.1.2": _release("4.1.2", "kafka_2.13", "kafka-tools"),
    "4.2.1": _release("4.2.1", "kafka_2.13", "kafka-tools"),
    "4.3.1": _release("4.3.1", "kafka_2.13", "kafka-tools", "kafka-streams", "connect-runtime"),
    "4.4.0": _serde("4.4.0", "2.21.2", "2.21", "kafka-coordinator-common", "kafka-group-coordinator-api"),
}
"""The jars by release; each set is fetched when a test first asks that release something."""

DEEP_ALONE = ("3.6.2",)
"""Releases whose tools are asked in `make deep` alone: every run reads what they declare, which is in one jar."""

DECLARED = KAFKA | {version: _declarations(version) for version in ("3.5.2", "3.8.1", *DEEP_ALONE)}
"""The jars that hold a release's declarations."""

DIGESTS = {
    name: digest
    for digest, name in map(str.split, Path(__file__).with_name("jars.sha256").read_text().splitlines())
}


def kafka_jars(wanted: JarSet) -> list[Path]:
    """Return the paths of a set's jars, fetched if need be and checked against jars.sha256; SetupError where that fails."""
    return jars(wanted, DIGESTS)


AT_ONCE = 6
"""Most of a download is waiting, a small file at a time."""


def main() -> int:
    """Fetch the jars that `make test` needs, several sets at a time; return the exit code."""
    try:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(kafka_jars, (DELTA, *reversed(DECLARED.values()))))
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
