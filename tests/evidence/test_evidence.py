"""Evidence is opened, read and counted without the command line: what there is to say goes to a listener, and stays."""

from pathlib import Path

import pytest

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.selection import NameFilter, Wanted
from offsets_tool.as_of.views_offsets import offset_rows
from offsets_tool.errors import SourceError, UsageError
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.filters import Filters
from offsets_tool.evidence.replaying import EvidenceReplay, snapshot_of
from tests.corpora import CORPORA
from tests.replay.story import commit, tombstone
from tests.replay.story_segments import in_order, write_log

LOG = CORPORA / "4.3.1-txn/segments"
NOTHING: list[str] = []


class Ear:
    """A listener that writes down what it hears."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.sizes: list[int] = []
        self.ends = 0

    def note(self, text: str) -> None:
        self.notes.append(text)

    def begin(self, size: int) -> None:
        self.sizes.append(size)

    def advance(self, size: int) -> None:
        self.sizes.append(-size)

    def end(self) -> None:
        self.ends += 1


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A log of three commits, and bytes behind them that are no batch."""
    write_log(tmp_path, in_order(*(commit("g", "t", 0, at) for at in range(3))))
    [segment] = tmp_path.rglob("*.log")
    segment.write_bytes(segment.read_bytes() + b"\x01" * 80)
    return tmp_path


def test_every_record_is_an_event_and_counted() -> None:
    with open_evidence(LOG) as evidence:
        events = list(evidence.events())
    assert events and sum(entry.records for entry in evidence.ledgers) == len(events)
    assert all(entry.adds_up for entry in evidence.ledgers)
    assert (evidence.notes, evidence.lacks()) == (NOTHING, "")


def test_filters_choose_events_and_the_ledger_has_all() -> None:
    filters = Filters(topics=NameFilter(["nowhere"]))
    with open_evidence(LOG, filters=filters) as evidence:
        assert not list(evidence.events()) and not evidence.has_shown
    assert sum(entry.records for entry in evidence.ledgers) > 0


def test_the_listener_hears_what_is_unreadable_and_how_far_it_is(damaged: Path) -> None:
    ear = Ear()
    with open_evidence(damaged, listener=ear) as evidence:
        assert len(list(evidence.events())) == 3
    [note] = evidence.notes
    assert ear.notes == [note] and "80 byte(s)" in note
    assert "1 unreadable range(s)" in evidence.lacks()
    assert ear.sizes[0] > 0 and sum(ear.sizes) == 0 and ear.ends == 1


def test_a_program_that_gives_no_listener_finds_the_notes_too(damaged: Path) -> None:
    with open_evidence(damaged) as evidence:
        list(evidence.events())
    assert len(evidence.notes) == 1


@pytest.mark.parametrize(
    ("paths", "options", "error", "says"),
    [
        ((), {}, UsageError, "give evidence to read"),
        (("",), {}, UsageError, "empty text"),
        (("x",), {"bootstrap_server": "127.0.0.1:1"}, UsageError, "one or the other"),
        ((), {"bootstrap_server": "127.0.0.1:1", "columns": {"key": "k"}}, UsageError, "live topic"),
        (("/nowhere/at/all",), {}, SourceError, "/nowhere/at/all"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(
    paths: tuple[str, ...], options: dict[str, object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        open_evidence(*paths, **options)  # type: ignore[arg-type]


# ---- replayed to a snapshot


def offsets(log: Path, **asked: object) -> list[int]:
    return [row["committed_offset"] for row in offset_rows(snapshot_of(log, **asked), Wanted())]  # type: ignore[arg-type]


def test_a_snapshot_is_of_the_end_or_of_a_moment(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(commit("g", "t", 0, 5), commit("g", "t", 0, 6), tombstone("g", "t", 0)))
    assert offsets(tmp_path) == []
    assert offsets(tmp_path, as_of=AsOf(ends={3: 1})) == [5]
    assert offsets(tmp_path, as_of="3:2") == [6]
    with pytest.raises(UsageError, match="neither a time nor a place"):
        snapshot_of(tmp_path, as_of="soon")


def test_a_moment_that_is_not_plain_is_noted(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(commit("g", "t", 0, 5)))
    ear = Ear()
    snapshot_of(tmp_path, as_of="2026-11-21 14:05", zone="Europe/Berlin", listener=ear)
    assert ear.notes[0] == "as_of '2026-11-21 14:05' is 2026-11-21T13:05:00.000Z"


def test_files_that_kafka_has_set_aside_are_not_replayed(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(commit("g", "t", 0, 5)))
    [segment] = tmp_path.rglob("*.log")
    segment.with_name(f"{segment.name}.deleted").write_bytes(segment.read_bytes())
    with EvidenceReplay(open_evidence(tmp_path)) as replay:
        replay.run()
    assert "1 file(s) that Kafka has set aside" in replay.evidence.notes[0]
    segment.unlink()
    with pytest.raises(UsageError, match="name the files to read"):
        EvidenceReplay(open_evidence(tmp_path))
