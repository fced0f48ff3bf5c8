"""Make one incident: start its broker, act it, stop the broker, and keep what a test and a reader need of it.

Kept are the segments that have records, the group coordinator's log lines, `story.md`, `expected.json` and `manifest.json`.
"""

import hashlib
import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kafka import __version__ as kafka_python

from tests.broker import KRaftBroker
from tests.incidents.incident import Incident
from tests.incidents.stage import Stage, Step
from tests.incidents.words import MANIFEST, write_words

FAST: Final = {
    "broker.session.timeout.ms": "60000",
    "auto.create.topics.enable": "false",
    "group.min.session.timeout.ms": "1000",
    "offsets.retention.check.interval.ms": "2000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "transaction.state.log.num.partitions": "2",
    "log.index.size.max.bytes": "8192",
    "log.cleaner.dedupe.buffer.size": "8388608",
    "log.cleaner.threads": "1",
}
"""What takes minutes by default, what is large, no topics that nobody made, and no broker fenced because its machine was busy."""
KEPT: Final = ("*.log", "leader-epoch-checkpoint")
LINE: Final = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) \[.*?\] (?P<level>[A-Z]+) (?P<logger>[\w.$]+) - "
    r"(?P<said>\[Group(?:Coordinator|MetadataManager) .*)"
)


def make(incident: Incident, folder: Path) -> float:
    """Make an incident in a folder, replacing what is there; return the seconds that it took."""
    began = time.monotonic()
    with KRaftBroker(incident.release, {**FAST, **incident.properties}) as broker:
        with Stage(broker, incident.release) as stage:
            incident.act(stage)
        broker.stop()
        shutil.rmtree(folder, ignore_errors=True)
        _keep(broker, folder)
    _record(incident, stage.story, folder)
    write_words(incident, folder)
    return time.monotonic() - began


def _keep(broker: KRaftBroker, folder: Path) -> None:
    for partition in sorted(broker.data_dir.glob("__consumer_offsets-*")):
        if any(log.stat().st_size for log in partition.glob("*.log")):
            into = folder / "segments" / partition.name
            into.mkdir(parents=True)
            for file in (file for pattern in KEPT for file in partition.glob(pattern)):
                shutil.copyfile(file, into / file.name)
    lines = coordinator_lines(broker.log.read_text())
    (folder / "group-coordinator.log").write_text("".join(f"{line}\n" for line in lines))


def coordinator_lines(log: str) -> Iterator[str]:
    """Yield what the group coordinator said, laid out as Kafka's own log4j settings lay it out."""
    for line in log.splitlines():
        if match := LINE.fullmatch(line):
            yield "[{at}] {level} {said} ({logger})".format(**match.groupdict())


def _record(incident: Incident, story: list[Step], folder: Path) -> None:
    manifest = {
        "kafka_version": incident.release,
        "mode": "KRaft, single node",
        "scenario": incident.name,
        "client_versions": {"java": incident.release, "kafka-python": kafka_python},
        "config": {**FAST, **incident.properties},
        "story": story,
        "files": {
            file.relative_to(folder).as_posix(): _known(file)
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        },
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")


def _known(file: Path) -> dict[str, str | int]:
    content = file.read_bytes()
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
