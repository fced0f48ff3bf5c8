"""The bytes of a file as its log has them: plain, decompressed, or a member of a tar; and its hash as it lies on disk.

Compressed copies are decompressed once, to a file without a name in the system's temporary directory (TMPDIR). Knows nothing about
logs. Raises SourceError for what cannot be opened; what cannot be read of an open file is a hole in its bytes.
"""

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import PurePosixPath

from offsets_tool.errors import SourceError
from offsets_tool.log.files.on_demand import BLOCK, BytesOnDemand
from offsets_tool.log.files.open_file import OpenFile, open_file, why
from offsets_tool.log.files.packed import expand_segment
from offsets_tool.log.files.tar_index import tar_index
from offsets_tool.log.names import Packing, member_source, segment_name
from offsets_tool.log.storage import as_path


def map_file(path: str, member: str = "", *, block: int = BLOCK) -> BytesOnDemand:
    """Return a log's bytes, decompressed and taken out of its tar; SourceError if it cannot be opened. For `block` see
    BytesOnDemand.
    """
    packing = _packing(member or path)
    if not member:
        file = open_file(path) if packing is Packing.NONE else _expanded(path, packing)
        return BytesOnDemand(file, block=block)
    tar = tar_index(path)
    place = tar.find(path, member)
    if packing is Packing.NONE:
        return BytesOnDemand(tar.file, place.start, place.size, block=block)
    inside = expand_segment(tar.file, packing, member_source(path, member), place.start, place.size)
    return BytesOnDemand(inside, block=block)


def raw_pieces(path: str, member: str = "") -> Iterator[bytes]:
    """Return the bytes as they lie on disk (of the member, in a tar), piece by piece: what a SHA-256 of the evidence is of.

    Of the file as it is now, whenever they are asked for. SourceError if it cannot be opened, and later where some are lost.
    """
    if not member:
        file = open_file(path)
        return file.pieces(0, file.size)
    tar = tar_index(path)
    place = tar.find(path, member)
    return tar.file.pieces(place.start, place.size)


def sha256(path: str, member: str = "") -> str:
    """Return the hexadecimal SHA-256 of a file (of a member, in a tar) as it lies on disk; SourceError if not all of it can be
    read.
    """
    return sha256_of(raw_pieces(path, member))


def sha256_of(pieces: Iterable[bytes]) -> str:
    """Return the hexadecimal SHA-256 of bytes in pieces."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _packing(name: str) -> Packing:
    log = segment_name(PurePosixPath(name).name)
    return log.packing if log else Packing.NONE


def _expanded(path: str, packing: Packing) -> OpenFile:
    packed = open_file(path)
    try:
        stat = as_path(path).stat()
    except OSError as error:
        raise SourceError(
            path, f"cannot be opened ({why(error)}); check the path and its permissions"
        ) from error
    return _expanded_once(path, packing, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns, packed.size)


@lru_cache(maxsize=2)
def _expanded_once(path: str, packing: Packing, *_changed: int) -> OpenFile:
    """Return a compressed file decompressed. The last ones are kept: a file that is read in pieces is decompressed once."""
    return expand_segment(open_file(path), packing, path)
