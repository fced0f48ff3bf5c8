"""Control records: what a transaction's marker (or KRaft's own records) says. Knows nothing about transactions' meaning.

Kafka's ControlRecordType and EndTransactionMarker: key = int16 version, int16 type; value of ABORT and COMMIT = int16
version, int32 coordinator epoch.
"""

import struct
from typing import Final, NamedTuple

from offsets_tool.errors import DecodeError

_KEY: Final = struct.Struct(">hh")
_VALUE: Final = struct.Struct(">hi")
_TYPES: Final = {
    0: "ABORT",
    1: "COMMIT",
    2: "LEADER_CHANGE",
    3: "SNAPSHOT_HEADER",
    4: "SNAPSHOT_FOOTER",
    5: "KRAFT_VERSION",
    6: "KRAFT_VOTERS",
}
_END_TRANSACTION: Final = (0, 1)


class ControlMarker(NamedTuple):
    """A control record; `type` is Kafka's name, UNKNOWN for ids it does not know; the epoch is of COMMIT and ABORT only."""

    type: str
    type_id: int
    version: int
    coordinator_epoch: int | None


def decode_control(key: bytes | None, value: bytes | None) -> ControlMarker:
    """Return the marker in a control record; DecodeError when key or value are missing, too short or of a negative version, as in
    Kafka.
    """
    if key is None or len(key) < _KEY.size:
        raise DecodeError("a control record's key has less than 4 bytes", path="key")
    version, type_id = _KEY.unpack_from(key)
    if version < 0:
        raise DecodeError(f"control record key of version {version}", path="key")
    name = _TYPES.get(type_id, "UNKNOWN")
    if type_id not in _END_TRANSACTION:
        return ControlMarker(name, type_id, version, None)
    return ControlMarker(name, type_id, version, _coordinator_epoch(value))


def _coordinator_epoch(value: bytes | None) -> int:
    if value is None or len(value) < _VALUE.size:
        raise DecodeError("an end transaction marker's value has less than 6 bytes", path="value")
    version, epoch = _VALUE.unpack_from(value)
    if version < 0:
        raise DecodeError(f"end transaction marker of version {version}", path="value")
    return int(epoch)
