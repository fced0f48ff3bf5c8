"""Kafka's own tools as peers: dump-log as a process, and its classes in a JVM that has become warm."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.tally import Tally
from oracle.client import Oracle
from oracle.jars import KAFKA, NEWEST, kafka_jars
from spark.runtime.java import java

_QUIET: Final = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
_LINE: Final = re.compile(
    rb'^\| offset: \d+ .*? key: \{"type":"[01]","data":\{"group":"([^"]*)","topic":"[^"]*","partition":\d+\}\}'
    rb'(?: payload: \{"version":"\d","data":\{"offset":(\d+))?',
    re.MULTILINE,
)


def dump_log(path: Path) -> list[str]:
    """Return the command `kafka-dump-log --offsets-decoder --print-data-log` for a segment, with its script's heap."""
    classpath = ":".join(str(jar) for jar in kafka_jars(KAFKA[NEWEST]))
    tool = [str(java()), "-Xmx256M", _QUIET, "-cp", classpath, "org.apache.kafka.tools.DumpLogSegments"]
    return [*tool, "--offsets-decoder", "--print-data-log", "--files", str(path)]


def tally_text(text: bytes) -> Tally:
    """Return the tally of what dump-log printed about commits."""
    records, commits, committed = 0, 0, 0
    groups = set()
    for found in _LINE.finditer(text):
        records += 1
        groups.add(found[1])
        if found[2] is not None:
            commits += 1
            committed += int(found[2])
    return Tally(records, commits, committed, len(groups))


def pace(oracle: Oracle, path: Path, *, memory: bool) -> Callable[[], float]:
    """Return a function that reads a segment with Kafka's classes; it returns the CPU time of the whole JVM."""

    def run() -> float:
        began = oracle.cpu_seconds()
        oracle.pace(path, memory=memory, count_groups=False)
        return oracle.cpu_seconds() - began

    return run


def tally(oracle: Oracle, path: Path, *, memory: bool) -> Tally:
    """Return the tally that Kafka's classes find in a segment."""
    return Tally(*oracle.pace(path, memory=memory, count_groups=True))
