"""What kafka-dump-log makes of the end of a damaged file, of unreadable batches, and of offsets that do not follow each other."""

from pathlib import Path

import pytest

from tests.dialects.dump_log.segments import COMMIT, NAME, OLD_MESSAGE, dump, errors, lines
from tests.dialects.samples import COMMIT_KEY
from tests.log import encoded_batches


@pytest.mark.parametrize("release", ["0.10.1", "2.8", "4.3"])
def test_a_torn_tail_is_counted(tmp_path: Path, release: str) -> None:
    content = COMMIT + COMMIT[:40]
    assert (
        lines(dump(tmp_path, content, release, records=False))[-1]
        == f"Found 40 invalid bytes at the end of {NAME}"
    )


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ("0.10.2", "Record size is smaller than minimum record overhead (14)."),
        ("2.0", f"Found record size 0 smaller than minimum record overhead (14) in file {NAME}."),
    ],
)
def test_a_zero_tail_kills_later_releases(tmp_path: Path, release: str, said: str) -> None:
    content = OLD_MESSAGE + bytes(100)
    assert errors(dump(tmp_path, content, release, records=False)) == [said]
    assert (
        lines(dump(tmp_path, content, "0.10.1", records=False))[-1]
        == f"Found 100 invalid bytes at the end of {NAME}"
    )


def test_damage_is_told_and_the_dump_goes_on(tmp_path: Path) -> None:
    outputs = dump(tmp_path, COMMIT + b"\x07" * 50 + encoded_batches.v2(5), "4.3", records=False)
    assert len(lines(outputs)) == 2
    assert ["no batch can be proved here" in error for error in errors(outputs)] == [True]


def test_content_that_cannot_be_read_is_told_after_its_batch(tmp_path: Path) -> None:
    outputs = dump(tmp_path, encoded_batches.v2(0, content=b"\xff" * 9, codec=encoded_batches.GZIP), "4.3")
    assert len(lines(outputs)) == 1 and len(errors(outputs)) == 1


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ("0.11", "Non-consecutive offsets in :{}\n  7 is followed by 9\n  3 is followed by 6"),
        ("2.3", "Non-consecutive offsets in {}\n  7 is followed by 9\n  3 is followed by 6"),
        (
            "4.3",
            "Non-consecutive offsets in {}\n  -1 is followed by 3\n  3 is followed by 6\n  7 is followed by 9",
        ),
    ],
)
def test_gaps_are_told_in_the_end(tmp_path: Path, release: str, said: str) -> None:
    content = b"".join(
        encoded_batches.v2(offset, [encoded_batches.record(0, COMMIT_KEY, None)]) for offset in (3, 6, 7, 9)
    )
    outputs = dump(tmp_path, content, release)
    assert errors(outputs) == [said.format(Path(NAME).absolute())]
    assert outputs[-1].text == b""
    assert errors(dump(tmp_path, content, release, records=False)) == []


def test_gaps_between_messages_but_not_before_wrappers(tmp_path: Path) -> None:
    content = (
        encoded_batches.message(0, 1)
        + encoded_batches.wrapper(0, 9, encoded_batches.message(0, 9))
        + encoded_batches.message(0, 12)
    )
    shallow = errors(dump(tmp_path, content, "0.9", records=False))
    deep = errors(dump(tmp_path, content, "0.9", decoder=False))
    head = f"Non-secutive offsets in :{Path(NAME).absolute()}\n"
    assert shallow == [f"{head}  9 is followed by 12"]
    assert deep == [f"{head}  9 is followed by 12\n  1 is followed by 9"]


@pytest.mark.parametrize(
    ("release", "view", "shown", "said"),
    [
        ("0.10.2", {}, [], "the batch at offset 0 has magic 2, which Kafka 0.10.2 does not know"),
        ("1.1", {}, [], "Unknown compression type id: 4"),
        ("2.0", {"records": False}, ["baseOffset: 0"], "Unknown compression type id: 4"),
    ],
)
def test_batches_from_the_future_are_told_and_the_dump_goes_on(
    tmp_path: Path, release: str, view: dict[str, bool], shown: list[str], said: str
) -> None:
    content = encoded_batches.v2(0, codec=encoded_batches.ZSTD) + (
        OLD_MESSAGE if release == "0.10.2" else COMMIT
    )
    outputs = dump(tmp_path, content, release, **view)
    assert errors(outputs)[0] == said
    assert [line[:13] for line in lines(outputs)[:-1]] == shown
    assert lines(outputs)[-1].startswith(("offset: 0 ", "baseOffset: 0 "))


def test_magic_1_is_from_the_future_in_0_9(tmp_path: Path) -> None:
    said = "the batch at offset 0 has magic 1, which Kafka 0.9.0 does not know"
    assert errors(dump(tmp_path, encoded_batches.message(1, 0), "0.9", records=False)) == [said]


def test_a_codec_that_no_release_knows(tmp_path: Path) -> None:
    outputs = dump(tmp_path, encoded_batches.v2(0, attributes=5) + COMMIT, "4.3", records=False)
    assert lines(outputs)[0].endswith(" deleteHorizonMs: OptionalLong.empty")
    assert ["codec is one that Kafka does not know" in error for error in errors(outputs)] == [True]
