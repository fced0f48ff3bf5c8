"""Where segments are found: files, folders of every shape, tars; and what is said when there are none."""

import gzip
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from offsets_tool.errors import SourceError
from offsets_tool.log.discover import find_segments
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.names import (
    Packing,
    PartitionDirectory,
    Segment,
    SegmentKind,
    SegmentName,
    offsets_directory,
    partition_directory,
    segment_name,
    tar_name,
)
from offsets_tool.log.segment import read_segment
from offsets_tool.log.topics import find_topics
from tests.corpora import REPLICATED
from tests.log import encoded_batches
from tests.log.samples import CORPORA, SMALL

META = "#Fri Jan 01 00:00:00 UTC 2027\nversion=1\nnode.id=3\ncluster.id=c-1\ndirectory.id=d-1\n"
ZERO = f"{0:020}.log"


@pytest.fixture
def broker(tmp_path: Path) -> Path:
    """A broker's data directory: two partitions of the topic, one of another, Kafka's own files."""
    data = tmp_path / "brokers" / "3"
    for name in ("__consumer_offsets-2", "__consumer_offsets-10", "orders-0"):
        (data / name).mkdir(parents=True)
        shutil.copy(SMALL[0], data / name / ZERO)
    shutil.copy(SMALL[1], data / "__consumer_offsets-10" / f"{57:020}.log")
    (data / "orders-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    (data / "meta.properties").write_text(META)
    (data / "replication-offset-checkpoint").write_text("0\n0\n")
    return data


def shape(segments: list[Segment], below: Path) -> list[tuple[str, int | None, int | None]]:
    return [(os.path.relpath(s.source, below), s.log_partition, s.base_offset) for s in segments]


BROKER = [
    (f"__consumer_offsets-2/{ZERO}", 2, 0),
    (f"__consumer_offsets-10/{ZERO}", 10, 0),
    (f"__consumer_offsets-10/{57:020}.log", 10, 57),
]


def test_a_data_directory_is_its_partitions_of_this_topic_in_order(broker: Path) -> None:
    segments = find_segments([broker])
    assert shape(segments, broker) == BROKER
    assert {(s.cluster_id, s.broker_id, s.directory) for s in segments} == {("c-1", 3, broker.as_posix())}
    assert [s.size for s in segments] == [Path(s.path).stat().st_size for s in segments]


def test_the_same_evidence_given_in_parts_is_found_once(broker: Path) -> None:
    whole = find_segments([broker])
    partitions = [broker / "__consumer_offsets-10", broker / "__consumer_offsets-2"]
    assert find_segments(partitions) == whole
    assert find_segments([broker, *partitions, broker / "__consumer_offsets-2" / ZERO]) == whole
    assert find_segments([Path(s.path) for s in whole]) == whole


def test_a_folder_of_brokers_keeps_their_copies_apart(broker: Path) -> None:
    shutil.copytree(broker, broker.parent / "4")
    (broker.parent / "4" / "meta.properties").write_text(META.replace("node.id=3", "broker.id=4"))
    segments = find_segments([broker.parent.parent])
    assert shape(segments[:3], broker) == BROKER
    assert shape(segments[3:], broker.parent / "4") == BROKER
    assert [s.broker_id for s in segments] == [3, 3, 3, 4, 4, 4]
    assert len({s.source for s in segments}) == 6


def test_real_copies_of_several_nights() -> None:
    copies = REPLICATED / "3.9.2-nightly" / "copies"
    segments = find_segments([copies])
    assert {Path(s.directory).name for s in segments} >= {"night-1", "night-2"}
    assert {s.kind for s in segments} == {SegmentKind.LOG, SegmentKind.DELETED}
    assert segments == sorted(segments, key=lambda s: (s.directory, s.log_partition, s.base_offset, s.path))


def test_from_inside_the_folder(broker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(broker / "__consumer_offsets-10")
    for given in (".", ZERO, f"../__consumer_offsets-10/{ZERO}"):
        first = find_segments([given])[0]
        assert (first.log_partition, first.broker_id, first.directory) == (10, 3, "..")
    monkeypatch.chdir(broker)
    assert [s.path for s in find_segments(["."])] == [path for path, _, _ in BROKER]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (f"{9:020}.log.deleted", SegmentKind.DELETED),
        (f"{9:020}.log.cleaned", SegmentKind.CLEANED),
        (f"{9:020}.log.swap", SegmentKind.SWAP),
        (f"{9:020}.log.gz", SegmentKind.LOG),
        (f"{9:020}.log.deleted.zst", SegmentKind.DELETED),
    ],
)
def test_every_suffix_of_a_segment(broker: Path, name: str, kind: SegmentKind) -> None:
    path = broker / "__consumer_offsets-2" / name
    path.write_bytes(b"")
    for given in (path, path.parent):
        found = find_segments([given])[-1]
        assert (found.base_offset, found.kind, found.log_partition) == (9, kind, 2)


@pytest.mark.parametrize("fate", ["delete", "future", "stray"])
def test_a_renamed_partition_directory(broker: Path, fate: str) -> None:
    renamed = broker / f"__consumer_offsets-7.{'0af' * 10}ab-{fate}"
    shutil.move(broker / "__consumer_offsets-2", renamed)
    (segment,) = find_segments([broker], log_partition=7)
    assert (segment.fate, segment.log_partition) == (fate, 7)


def test_a_partition_number_is_a_filter_and_a_name(broker: Path, tmp_path: Path) -> None:
    assert shape(find_segments([broker], log_partition=2), broker) == BROKER[:1]
    shutil.copy(SMALL[0], tmp_path / "any name.log")
    assert find_segments([tmp_path / "any name.log"])[0].log_partition is None
    assert find_segments([tmp_path / "any name.log"], log_partition=5)[0].log_partition == 5
    with pytest.raises(SourceError, match="there are partitions 2, 10"):
        find_segments([broker], log_partition=5)


def test_loose_segments_in_a_folder_of_another_name(tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    folder.mkdir()
    shutil.copy(SMALL[0], folder / ZERO)
    shutil.copy(SMALL[0], folder / "server.log")
    (segment,) = find_segments([folder], log_partition=4)
    assert (segment.base_offset, segment.log_partition, segment.directory) == (0, 4, folder.as_posix())


def tar_of(broker: Path, name: str) -> Path:
    path = broker.parent / name
    with tarfile.open(path, "w:gz" if name.endswith("gz") else "w") as opened:
        opened.add(broker, "backup/3")
    return path


@pytest.mark.parametrize("name", ["copy.tar", "copy.tar.gz", "copy.tgz"])
def test_a_tar_of_a_data_directory(broker: Path, name: str) -> None:
    path = tar_of(broker, name)
    for given in (path, path.parent):
        segments = [s for s in find_segments([given]) if s.member]
        assert [s.source for s in segments] == [
            f"{path.as_posix()}!/backup/3/{name}" for name, _, _ in BROKER
        ]
        assert [(s.log_partition, s.base_offset) for s in segments] == [(p, b) for _, p, b in BROKER]
        assert {(s.cluster_id, s.broker_id) for s in segments} == {("c-1", 3)}
        assert {s.directory for s in segments} == {f"{path.as_posix()}!/backup/3"}
        sizes = [sum(item[0].size for item in read_segment(s)) for s in segments]
        assert sizes == [s.size for s in segments]


def test_a_tar_named_like_the_partition_with_the_files_at_its_root(broker: Path, tmp_path: Path) -> None:
    path = tmp_path / "__consumer_offsets-10.tar.zst"
    with tarfile.open(tmp_path / "plain.tar", "w") as opened:
        for file in (broker / "__consumer_offsets-10").iterdir():
            opened.add(file, f"./{file.name}")
    path.write_bytes(encoded_batches.zstd_frame((tmp_path / "plain.tar").read_bytes()))
    segments = find_segments([path])
    assert [(s.log_partition, s.base_offset) for s in segments] == [(10, 0), (10, 57)]
    assert len(list(read_segment(segments[1]))) == len(list(read_segment(SMALL[1])))
    loose = find_segments([tmp_path / "plain.tar"], log_partition=1)
    assert [(s.log_partition, s.base_offset) for s in loose] == [(1, 0), (1, 57)]


def test_a_hard_link_in_a_tar_has_the_size_of_what_it_links_to(broker: Path) -> None:
    os.link(broker / "__consumer_offsets-2" / ZERO, broker / "__consumer_offsets-2" / f"{1:020}.log.deleted")
    first, second = find_segments([tar_of(broker, "copy.tar")], log_partition=2)
    assert first.size == second.size > 0
    assert list(read_segment(first))[-1][0].position == list(read_segment(second))[-1][0].position


def no_path(folder: Path) -> Path:
    return folder / "nowhere"


def not_a_log(folder: Path) -> Path:
    (folder / "server.txt").write_text("hello")
    return folder / "server.txt"


def empty_folder(folder: Path) -> Path:
    return folder


def empty_partition(folder: Path) -> Path:
    (folder / "__consumer_offsets-3").mkdir()
    return folder / "__consumer_offsets-3"


def other_topic(folder: Path) -> Path:
    (folder / "orders-3").mkdir()
    shutil.copy(SMALL[0], folder / "orders-3" / ZERO)
    return folder / "orders-3"


def loop(folder: Path) -> Path:
    (folder / "inside").symlink_to(folder)
    return folder


def link_to_nothing(folder: Path) -> Path:
    (folder / "link.log").symlink_to(folder / "link.log")
    return folder / "link.log"


def broken_tar(folder: Path) -> Path:
    (folder / "copy.tar.gz").write_bytes(gzip.compress(b"not a tar" * 1000))
    return folder / "copy.tar.gz"


def cut_tar(folder: Path) -> Path:
    (folder / "copy.tar.gz").write_bytes(gzip.compress(os.urandom(5000))[:-9])
    return folder / "copy.tar.gz"


def empty_tar(folder: Path) -> Path:
    (folder / "copy.tar").write_bytes(b"")
    return folder / "copy.tar"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (no_path, "does not exist"),
        (not_a_log, "expected a .log file"),
        (empty_folder, "expected a .log file"),
        (empty_partition, "expected a .log file"),
        (other_topic, "another topic"),
        (loop, "expected a .log file"),
        (link_to_nothing, "symbolic link"),
        (broken_tar, "not a tar"),
        (cut_tar, "copy it again"),
        (empty_tar, "not a tar"),
    ],
)
def test_what_holds_no_segment_is_said_with_a_remedy(
    tmp_path: Path, make: Callable[[Path], Path], words: str
) -> None:
    path = make(tmp_path)
    with pytest.raises(SourceError, match=words) as caught:
        find_segments([path])
    assert caught.value.path.startswith(tmp_path.as_posix())


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_cannot_be_listed(broker: Path) -> None:
    """It is a segment of its own that says why, among the others; given itself, it is an error."""
    (broker / "closed").mkdir(mode=0)
    (closed,) = [segment for segment in find_segments([broker]) if segment.unreadable]
    assert closed.path == (broker / "closed").as_posix() and "permissions" in closed.unreadable
    with pytest.raises(SourceError, match="permissions"):
        find_segments([broker / "closed"])


def test_a_link_to_a_folder_above_hides_nothing(broker: Path) -> None:
    before = find_segments([broker]), find_topics([broker])
    (broker / "again").symlink_to(broker.parent)
    assert (find_segments([broker]), find_topics([broker])) == before


def test_loose_segments_beside_a_broken_tar(tmp_path: Path) -> None:
    shutil.copy(SMALL[0], tmp_path / ZERO)
    broken_tar(tmp_path)
    found = find_segments([tmp_path], log_partition=4)
    assert [(Path(s.path).name, s.log_partition, bool(s.unreadable)) for s in found] == [
        ("copy.tar.gz", None, True),
        (ZERO, 4, False),
    ]


def test_topics_are_named_and_their_ids_with_them(broker: Path) -> None:
    topics = find_topics([broker.parent])
    assert [(t.topic, t.partition, t.topic_id) for t in topics] == [
        ("__consumer_offsets", 10, None),
        ("__consumer_offsets", 2, None),
        ("orders", 0, "AAAAAAAAAAAAAAAAAAAAAQ"),
    ]


def test_every_corpus_is_found_partition_by_partition() -> None:
    for corpus in CORPORA.iterdir():
        segments = find_segments([corpus / "segments"])
        folders = {int(folder.name.rpartition("-")[2]) for folder in (corpus / "segments").iterdir()}
        assert {s.log_partition for s in segments} == folders
        assert all(s.fate == "" and s.base_offset is not None for s in segments)


def test_names() -> None:
    assert partition_directory("a-b-12") == PartitionDirectory("a-b", 12)
    assert partition_directory("a.b-0.0af-delete") == PartitionDirectory("a.b", 0, "delete")
    assert partition_directory("a-0-stray") == PartitionDirectory("a", 0, "stray")
    assert partition_directory("__consumer_offsets") is None
    assert offsets_directory("__consumer_offsets_old-1") is None
    assert segment_name(f"{12:020}.log") == SegmentName(12, SegmentKind.LOG, Packing.NONE)
    assert segment_name("any.log.swap.gz") == SegmentName(None, SegmentKind.SWAP, Packing.GZIP)
    assert segment_name(f"{12:020}.index") is None
    assert tar_name("a.tar.zst") == ("a", Packing.ZSTD)
    assert tar_name("a.tgz") == ("a", Packing.GZIP)
    assert tar_name("a.log") is None
    assert [tar_name(f"a.{end}") for end in ("tar.bz2", "txz", "tar.lz4")] == [
        ("a", Packing.BZIP2),
        ("a", Packing.XZ),
        ("a", Packing.LZ4),
    ]
    assert partition_directory("t-" + "9" * 5000) is partition_directory("t-2147483648") is None


def test_a_tar_that_is_cut_off_inside_a_member(broker: Path, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.tar", tmp_path / "cut.tar"
    with tarfile.open(whole, "w") as tar:
        tar.add(broker / "meta.properties", "broker/meta.properties")
        for name in ("__consumer_offsets-2", "__consumer_offsets-10"):
            tar.add(broker / name, f"broker/{name}")
    with tarfile.open(whole) as tar:
        log = [info for info in tar.getmembers() if info.name.endswith(".log")][-1]
        end = log.offset_data + log.size // 2
    cut.write_bytes(whole.read_bytes()[:end])
    *_, member, rest = sorted(find_segments([cut]), key=lambda segment: segment.is_rest)
    ledger = Ledger(member.source)
    assert list(read_segment(member, ledger=ledger))
    entry = ledger.entry()
    assert entry.bytes == member.size == log.size and entry.bytes_in_batches <= log.size // 2
    assert entry.bytes_in_batches + entry.bytes_unreadable == entry.bytes and entry.sha256 is None
    assert f"the file ends at byte {end}" in entry.unreadable[-1].reason
    assert rest.is_rest and "copy it again" in rest.unreadable
