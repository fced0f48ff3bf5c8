"""Brokers' own logs in the fixtures, and what the records beside them say of the groups that they name."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.evidence.findings.finding import partition_rows
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.server_log.clocks import FileClock, RecordTimes, record_times
from offsets_tool.server_log.join import JoinedFile, ServerLog
from offsets_tool.server_log.parse import ServerLogFile, read_server_log
from tests.corpora import INCIDENTS, every_corpus
from tests.depth import DEEP

NAME = "group-coordinator.log"


def folders() -> list[Path]:
    """Return the folders of all incidents, and of the corpora that this run has, which have the broker's log."""
    incidents = [folder for folder in sorted(INCIDENTS.iterdir()) if (folder / NAME).is_file()]
    return incidents + [folder for folder in every_corpus() if (folder / "oracle" / NAME).is_file()]


def joined_folders() -> list[Path]:
    """Return the folders whose records this run reads: all in `make deep`, else those of corpora and some incidents."""
    some = (
        "member-killed",
        "rolling-deployment",
        "partitions-not-given-up",
        "duplicate-instance-id",
        "converted-and-back",
    )
    return [folder for folder in folders() if DEEP or folder.parent != INCIDENTS or folder.name in some]


def path_of(folder: Path) -> Path:
    """Return the broker's log of an incident or a corpus."""
    return folder / NAME if (folder / NAME).is_file() else folder / "oracle" / NAME


@cache
def log_of(folder: Path) -> ServerLogFile:
    """Return the broker's log of a folder, parsed; it is called server.log."""
    return read_server_log(str(path_of(folder)), "server.log")


@cache
def rows_of(folder: Path) -> tuple[GroupRows, ...]:
    """Return the rows of all groups of a folder."""
    with EvidenceReplay(open_evidence(folder / "segments")) as replay:
        partitions = partition_rows(replay, PolicyOverrides())
        return tuple(rows for each in partitions for rows in each.groups())


def records_of(folder: Path, log: ServerLogFile) -> RecordTimes:
    """Return what the records of a folder say of the groups that a log names."""
    records = record_times([log])
    for rows in rows_of(folder):
        records.observe(rows.group, rows.groups, rows.members)
    return records


def log_saying(*lines: str, name: str = "server.log") -> ServerLog:
    """Return the log of a broker of 4.x whose clock is that of the records; each line is an ISO time, a blank and the message."""
    by = "INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=7]"
    home = "(org.apache.kafka.coordinator.group.GroupMetadataManager)"
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(
            "".join(f"[{at}] {by} {said} {home}\n" for at, _, said in (line.partition(" ") for line in lines))
        )
        file = read_server_log(str(path), name)
    assert file.understood == len(lines), file.unknown
    return ServerLog([JoinedFile(file, FileClock(0, 0, 0, True, False, {}))])
