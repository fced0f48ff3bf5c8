"""Markers as Kafka writes them, and what is refused."""

import pytest

from offsets_tool.errors import DecodeError
from offsets_tool.log.batches.control import ControlMarker, decode_control


def bytes_of(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


@pytest.mark.parametrize(
    ("key", "value", "marker"),
    [
        ("00000001", "000000000064", ControlMarker("COMMIT", 1, 0, 100)),
        ("00000000", "00000000000000", ControlMarker("ABORT", 0, 0, 0)),
        ("00010000ffff", "0001ffffffff", ControlMarker("ABORT", 0, 1, -1)),
        ("00000002", "0000", ControlMarker("LEADER_CHANGE", 2, 0, None)),
        ("00000006", None, ControlMarker("KRAFT_VOTERS", 6, 0, None)),
        ("00000009", None, ControlMarker("UNKNOWN", 9, 0, None)),
    ],
)
def test_a_marker_is_named_as_kafka_names_it(key: str, value: str | None, marker: ControlMarker) -> None:
    assert decode_control(bytes_of(key), bytes_of(value)) == marker


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        (None, "000000000064", "key"),
        ("000000", "000000000064", "key"),
        ("ffff0001", "000000000064", "key"),
        ("00000001", None, "value"),
        ("00000001", "0000000000", "value"),
        ("00000000", "ffff00000064", "value"),
    ],
)
def test_a_marker_that_is_cut_or_of_a_negative_version_is_an_error_in_its_field(
    key: str | None, value: str | None, path: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_control(bytes_of(key), bytes_of(value))
    assert caught.value.path == path
