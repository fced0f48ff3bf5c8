"""Subscriptions as clients wrote them, whole and cut, with the topics that a broker reads of each."""

from typing import Final, NamedTuple

from hypothesis import strategies as st

from offsets_tool.records.embedded import ConsumerProtocolSubscription, TopicPartitionNames
from offsets_tool.wire.walk import encode


class Subscribed(NamedTuple):
    """A subscription's bytes, and the topics that brokers read of it; None where they read none of it."""

    name: str
    blob: bytes
    topics: tuple[str, ...] | None


WHOLE: Final = ConsumerProtocolSubscription(
    topics=("orders", "pay"),
    user_data=b"\1\2",
    owned_partitions=(TopicPartitionNames(topic="orders", partitions=(0, 1)),),
    generation_id=7,
    rack_id="r",
)
_VERSION_0: Final = encode(WHOLE, 0)
_NAMES: Final = ("orders", "pay")


def said(version: int, layout: int, cut: int = 0) -> bytes:
    """Return the subscription WHOLE, laid out as one version and saying another, without its last `cut` bytes."""
    body = encode(WHOLE, layout)
    return version.to_bytes(2, signed=True) + body[: len(body) - cut]


TABLE: Final = (
    *(Subscribed(f"version {version}", said(version, version), _NAMES) for version in range(4)),
    Subscribed("version 1 without owned partitions: kafka-go, sarama-cluster", said(1, 0), _NAMES),
    Subscribed("version 1, cut in the owned partitions", said(1, 1, 5), _NAMES),
    Subscribed("version 3 without a rack", said(3, 2), _NAMES),
    Subscribed("version 9, of which only the topics are there", said(9, 0), _NAMES),
    Subscribed("version 9, laid out as version 3", said(9, 3), _NAMES),
    Subscribed("version -1", said(-1, 0), _NAMES),
    Subscribed("the lowest version", said(-32768, 3), _NAMES),
    Subscribed("more behind it", said(0, 0) + b"more", _NAMES),
    Subscribed("no topics", b"\0\1" + bytes(4) + b"\xff\xff\xff\xff", ()),
    Subscribed("no user data", b"\0\1" + bytes(8), ()),
    Subscribed("without the length of its user data", said(1, 0, 4 + 2), None),
    Subscribed("cut in the length of a topic", said(1, 0, 4 + 2 + 3 + 1), None),
    Subscribed("a version alone", b"\0\1", None),
    Subscribed("half a version", b"\0", None),
    Subscribed("no bytes", b"", None),
)


@st.composite
def blobs(draw: st.DrawFn) -> bytes:
    """Draw bytes of a subscription: of any version, laid out as any, cut anywhere or with a byte changed."""
    topics = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=3)
    message = ConsumerProtocolSubscription(
        topics=tuple(draw(st.lists(topics, max_size=3))),
        user_data=draw(st.none() | st.binary(max_size=3)),
        owned_partitions=WHOLE.owned_partitions,
        generation_id=1,
        rack_id=draw(st.none() | st.just("r")),
    )
    version = draw(st.integers(-2, 5) | st.sampled_from((-32768, 32767)))
    blob = bytearray(version.to_bytes(2, signed=True) + encode(message, draw(st.integers(0, 3))))
    if draw(st.booleans()):
        blob = blob[: draw(st.integers(0, len(blob)))]
    elif draw(st.booleans()):
        blob[draw(st.integers(0, len(blob) - 1))] = draw(st.sampled_from((0, 1, 3, 0x7F, 0x80, 0xFF)))
    return bytes(blob)
