"""Measure what questions about little of a lake read of it, where it is compacted each night.

Statistics tell which files and row groups cannot have what is asked for. Linux only: /proc counts the bytes that a process reads.
"""

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

from bench.benchmark import Room
from bench.inputs import Input
from bench.lake.nights import ends_of
from bench.pace import ratio
from bench.table import Table, number
from offsets_tool.errors import OffsetsToolError
from offsets_tool.lake.scan import facts_of
from offsets_tool.lake.tables import EVENTS
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.sql.duck_lake import DuckLake
from spark.ingest.ingest import Request, ingest
from spark.lake.compact import compact

_INPUT: Final = Input("commits", 0.5)
_CLUSTERS: Final = 10
_NIGHTS: Final = 5
_ALL: Final = "all"
_PEER: Final = "a question about all"
_ASKED: Final = "SELECT count(*) AS commits, sum(committed_offset % 97) AS told FROM events WHERE "
_OF_GROUP: Final = "SELECT `group` FROM events WHERE cluster = 'cluster-3' GROUP BY `group` ORDER BY count(*) DESC, `group` LIMIT 1"
_MEGABYTE: Final = 1 << 20


class Read(NamedTuple):
    """What a question read: bytes of files, seconds, and the answer."""

    bytes: int
    seconds: float
    answer: list[dict[str, Any]]


def questions_table(room: Room) -> Table:
    """Return the table of questions; the lake is made in the room's folder."""
    lake = room.folder / "lake"
    _ingest(room.folder / "clusters", lake)
    asked = {name: _read(lake, query) for name, query in _questions(lake)}
    files = len(facts_of(open_delta(lake / EVENTS.name)))
    title = (
        f"What `offsets-tool sql` reads of `events` on disk, {_CLUSTERS} clusters, ingested and compacted in {_NIGHTS} nights, "
        f"{files} files:"
    )
    whole = asked[_ALL].bytes
    rows = [
        (
            name,
            f"{read.answer[0]['commits']:,}",
            number(read.bytes / _MEGABYTE),
            f"{read.bytes / whole:.1%}",
            number(read.seconds),
        )
        for name, read in asked.items()
    ]
    ratios = {
        f"{name}, bytes read": ratio(_PEER, [whole], [read.bytes])
        for name, read in asked.items()
        if name != _ALL
    }
    return Table(title, ("", "commits", "MB read", "of all", "seconds"), rows, ratios)


def _ingest(clusters: Path, lake: Path) -> None:
    """Ingest each night's new segment of each cluster and compact the lake, night by night."""
    content = _INPUT.path().read_bytes()
    ends = ends_of(content, [(night + 1) / _NIGHTS * len(content) for night in range(_NIGHTS)])
    for first, end in zip([0, *ends], ends, strict=False):
        for cluster in range(_CLUSTERS):
            name = f"cluster-{cluster}"
            partition = clusters / name / "__consumer_offsets-0"
            partition.mkdir(parents=True, exist_ok=True)
            base_offset = int.from_bytes(content[first : first + 8])
            (partition / f"{base_offset:020d}.log").write_bytes(content[first:end])
            ingest(Request(paths=[str(clusters / name)], lake=str(lake), cluster=name), _no_session)
        compact(str(lake), _no_session)


def _questions(lake: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the query of each question; the first one is about all."""
    yield _ALL, f"{_ASKED} true"
    yield f"one cluster of {_CLUSTERS}", f"{_ASKED} cluster = 'cluster-3'"
    [group] = _read(lake, _OF_GROUP).answer
    yield (
        "one group of 400 of one cluster",
        f"{_ASKED} cluster = 'cluster-3' AND `group` = '{group['group']}'",
    )
    [times] = _read(lake, "SELECT min(timestamp) AS first, max(timestamp) AS last FROM events").answer
    night = (times["last"] - times["first"]) // _NIGHTS
    begin = times["first"] + 4 * night
    between = f"timestamp BETWEEN {begin} AND {begin + night}"
    yield f"one night of {_NIGHTS} of one cluster", f"{_ASKED} cluster = 'cluster-3' AND {between}"
    yield f"one night of {_NIGHTS} of all clusters", f"{_ASKED} {between}"


def _read(lake: Path, query: str) -> Read:
    opened = DuckLake(str(lake))
    bytes_before, began = _bytes_read(), perf_counter()
    answer = list(opened.ask(query).rows)
    return Read(_bytes_read() - bytes_before, perf_counter() - began, answer)


def _bytes_read() -> int:
    counts = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in counts if line.startswith("rchar:"))


def _files(lake: Path) -> int:
    return len(facts_of(open_delta(lake / EVENTS.name)))


def _no_session() -> Any:
    raise OffsetsToolError("little work needs no session of Spark")
