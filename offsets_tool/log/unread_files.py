"""Finds the files below the evidence's paths that are not read, with the reason, so that none is skipped without a word.

Files that Kafka keeps beside a log are not named; other topics' directories, and files that have nothing of a log, are counted by
folder. Where nothing is read at all, `required_segments` says of the files that are there what they are, and what would read them.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from offsets_tool.errors import SourceError
from offsets_tool.log.archive.files import is_delta
from offsets_tool.log.archive.lines import first_rows, is_text, names_of
from offsets_tool.log.discover import find_segments, is_other_topic
from offsets_tool.log.files.folders import Entry, PathKind, look_at, size_of, walk
from offsets_tool.log.files.tar_index import tar_index
from offsets_tool.log.names import (
    Segment,
    member_source,
    offsets_directory,
    partition_directory,
    segment_name,
    tar_name,
)
from offsets_tool.log.storage import as_path, one_listing, real_path
from offsets_tool.log.stored_bytes import open_binary

_KAFKAS: Final = re.compile(
    r"[0-9]{20}\.(?:index|timeindex|txnindex|snapshot)(?:\.[a-z0-9]+)*"
    r"|(?:leader-epoch-checkpoint|partition\.metadata|meta\.properties|bootstrap\.checkpoint|[a-z-]+-offset-checkpoint)(?:\.tmp)?"
    r"|\.kafka_cleanshutdown|\.lock|__cluster_metadata-0",
    re.DOTALL,
)
_LIKE_A_LOG: Final = re.compile(r".*\.log\b.*|.*[0-9]{20}.*", re.DOTALL)
_UNNAMED: Final = "its name is none of Kafka's (20 digits and .log); give the file itself if it is a segment"
_OUTSIDE: Final = "a segment outside of a partition's directory, beside others; give the file itself"
_INSIDE: Final = "a folder inside of a partition's directory; give the folder itself"
_FORMS_SHOWN: Final = 3
_FILES_OPENED: Final = 10
"""How many files of a folder without logs are looked into."""
_REDPANDAS: Final = re.compile(r"[0-9]+-[0-9]+-v[0-9]+\.log")
_AVRO: Final = b"Obj\1"
_ZIP: Final = b"PK\3\4"
_AS_ROWS: Final = "as JSON lines or Parquet with key, value, partition, offset and timestamp"
_OF_REDPANDA: Final = (
    "a segment of Redpanda, whose batches have a layout of their own: read the topic with --bootstrap-server"
)
_OF_ZIP: Final = "a ZIP, which is not read: unpack it, and give what is in it"
_EMPTY: Final = "an empty file: it has no record; copy it again if it was not empty"
_BARE: Final = f"keys or values alone, without offsets: let the sink write them {_AS_ROWS}"
_NO_ROWS: Final = f"text that is no JSON lines (CSV is not read): write it {_AS_ROWS}"
_OF_AVRO: Final = f"Avro, which is not read: write it {_AS_ROWS}"
_OF_ORC: Final = f"ORC, which is not read: write it {_AS_ROWS}"
_PACKED: Final = "Parquet that was compressed as a whole: unpack it"
_BY_NAME: Final = (
    (re.compile(r".*\.bin", re.DOTALL), _BARE),
    (re.compile(r".*\.parquet\.(?:gz|zst|bz2|xz|lz4|zip)", re.DOTALL), _PACKED),
)
_OF_MAGIC: Final = ((_AVRO, _OF_AVRO), (_ZIP, _OF_ZIP), (b"ORC", _OF_ORC))
_REPLACED: Final = "a later member of the tar has the same name; unpack it by hand to read both"


class UnreadFile(NamedTuple):
    """A file, folder or member of a tar that is not read; or a folder, with the number of files that are not read in it."""

    source: str
    reason: str
    size: int = 0
    has_row: bool = True
    """Whether it is a thing that can have bytes, by itself: no pipe, no sum."""


ReadFiles = Collection[tuple[str, str]]
"""What is read: real paths, with the member of a tar or an empty string."""


def required_segments(path: str, log_partition: int | None) -> list[Segment]:
    """Return the segments at a path, as `find_segments`; where none is, the SourceError says what the files there are instead."""
    if _REDPANDAS.fullmatch(as_path(path).name):
        raise SourceError(path, _OF_REDPANDA)
    try:
        return find_segments([path], log_partition)
    except SourceError as error:
        if forms := list(_forms(path)):
            more = f"; and {len(forms) - _FORMS_SHOWN} other kind(s)" if len(forms) > _FORMS_SHOWN else ""
            seen = "; ".join(forms[:_FORMS_SHOWN])
            raise SourceError(error.path, f"{error.reason}; there is {seen}{more}") from error
        raise


def _forms(path: str) -> Iterator[str]:
    """Yield what the files at a path are, each kind once, with the first that is of it."""
    forms: set[str] = set()
    given = look_at(path)
    entries = walk(given.path, _is_looked_into) if given.kind is PathKind.FOLDER else [given]
    files = (entry.path for entry in entries if entry.kind is PathKind.FILE)
    for file in islice(files, _FILES_OPENED):
        form = _form(file)
        if form is not None and form not in forms:
            forms.add(form)
            yield f"{file.as_posix()}, {form}"


def _form(path: Path) -> str | None:
    """Return what a file that is no log is, and how to have it read; None for files of Kafka and for other bytes."""
    if _KAFKAS.fullmatch(path.name) or segment_name(path.name):
        return _OF_REDPANDA if _REDPANDAS.fullmatch(path.name) else None
    if told := next((form for name, form in _BY_NAME if name.fullmatch(path.name)), None):
        return told
    try:
        with open_binary(path) as file:
            begin = file.read(len(_AVRO))
        of_begin = (form for magic, form in _OF_MAGIC if begin.startswith(magic))
        if told := next(of_begin, None if begin else _EMPTY):
            return told
        is_of_text = is_text(path)
        names = names_of(first_rows(path)) if is_of_text else {}
    except (OSError, SourceError):
        return None
    if names:
        fields = "key=COLUMN,value=COLUMN,offset=COLUMN"
        return f"JSON lines with {', '.join(names)}: give the file itself, with --columns {fields} and --log-partition N"
    return _NO_ROWS if is_of_text else None


@one_listing()
def find_unread(paths: Iterable[str], read: ReadFiles) -> list[UnreadFile]:
    """Return the files under the paths that are not in `read`; none of a folder that cannot be listed, which is unreadable."""
    found: dict[tuple[str, str | bool], UnreadFile] = {}
    for path in paths:
        given = look_at(path)
        if is_delta(given.path):
            continue  # its log says which of its files have rows
        try:
            inside = (
                _in_folder(given.path, read) if given.kind is PathKind.FOLDER else _in_tar(given.path, read)
            )
            for each in inside:
                found.setdefault((each.source, not each.has_row and each.reason), each)
        except SourceError:
            continue
    return list(found.values())


def _in_folder(top: Path, read: ReadFiles) -> Iterator[UnreadFile]:
    foreign: Counter[Path] = Counter()
    topics: Counter[Path] = Counter()
    for entry in walk(top, _is_looked_into):
        folder = entry.path.parent
        if entry.kind is PathKind.FOLDER:
            topics[folder] += is_other_topic(entry.path)
            if offsets_directory(folder.name):
                yield UnreadFile(entry.path.as_posix(), _INSIDE)
        elif not _is_accounted_for(entry, read):
            named = list(_of_file(entry, read))
            yield from named
            foreign[folder] += not named and not tar_name(entry.path.name)
    for counted, what in (
        (foreign, "file(s) in it, no logs by their names"),
        (topics, "partition(s) of other topics in it"),
    ):
        for folder, count in counted.items():
            if count:
                yield UnreadFile(folder.as_posix(), f"{count} {what}", has_row=False)


def _is_looked_into(folder: Entry) -> bool:
    inside_a_partition = offsets_directory(folder.path.parent.name) is not None
    return not (inside_a_partition or is_other_topic(folder.path) or is_delta(folder.path))


def _is_accounted_for(entry: Entry, read: ReadFiles) -> bool:
    """Return whether an entry is read, is Kafka's own, or is reported elsewhere as one that cannot be looked at."""
    is_read = (real_path(entry.path), "") in read
    return is_read or bool(entry.problem) or bool(_KAFKAS.fullmatch(entry.path.name))


def _of_file(entry: Entry, read: ReadFiles) -> Iterator[UnreadFile]:
    """Yield a file that is not read, if its name or folder suggests a log; of a tar, its members that are not read."""
    if entry.kind is PathKind.FILE and tar_name(entry.path.name):
        yield from _in_tar(entry.path, read)
    elif _may_be_a_log(entry.path):
        is_file = entry.kind is PathKind.FILE
        reason = _why_not(entry.path.name) if is_file else f"it is {entry.kind.value}"
        has_bytes = entry.kind is not PathKind.OTHER
        yield UnreadFile(entry.path.as_posix(), reason, size_of(entry.path), has_bytes)


def _may_be_a_log(path: Path | PurePosixPath) -> bool:
    return offsets_directory(path.parent.name) is not None or bool(_LIKE_A_LOG.fullmatch(path.name))


def _why_not(name: str) -> str:
    if _REDPANDAS.fullmatch(name):
        return _OF_REDPANDA
    named = segment_name(name)
    return _OUTSIDE if named is not None and named.base_offset is not None else _UNNAMED


def _in_tar(path: Path, read: ReadFiles) -> Iterator[UnreadFile]:
    """Yield members of a tar that may be logs and are not read; nothing for a tar that does not read (reported elsewhere)."""
    if not tar_name(path.name):
        return
    try:
        tar = tar_index(path.as_posix())
    except SourceError:
        return
    real = real_path(path)
    for member in tar.replaced:
        yield UnreadFile(member_source(path.as_posix(), member.name), _REPLACED, member.size)
    for member in tar.members.values():
        place = PurePosixPath(member.name)
        directory = partition_directory(place.parent.name)
        is_foreign = directory is not None and offsets_directory(place.parent.name) is None
        if (real, member.name) in read or is_foreign or _KAFKAS.fullmatch(place.name):
            continue
        if _may_be_a_log(place):
            reason = f"it is {member.problem}" if member.problem else _why_not(place.name)
            yield UnreadFile(member_source(path.as_posix(), member.name), reason, member.size)
