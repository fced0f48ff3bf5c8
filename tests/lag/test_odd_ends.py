"""Files of end offsets that no tool wrote: each is one sentence, whatever is in it, and however long it goes on."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.errors import SourceError
from offsets_tool.lag.end_files import read_ends
from offsets_tool.log.files import open_file

ROW = '{"topic": "t", "partition": %s, "at": %s, "end": %s}'
NINES = "9" * 5000

ODD = {
    "nested": "[" * 200_000,
    "nested objects": '{"a":' * 200_000,
    "nested in a line": '{"topic": "t"}\n' + "[" * 200_000,
    "a long number": ROW % (0, 1, NINES),
    "a long number in lines": ROW % (0, 1, 1) + "\n" + ROW % (0, 1, NINES),
    "a long number as text": ROW % (0, 1, f'"{NINES}"'),
    "a long partition": ROW % (NINES[:30], 1, 1),
    "a far time": ROW % (0, NINES[:19], 1),
    "a time long ago": ROW % (0, "-" + NINES[:19], 1),
    "a time that is none": ROW % (0, "1e400", 1),
    "no end at all": ROW % (0, 1, "1e400"),
    "an offset beyond": ROW % (0, 1, 1 << 63),
    "kafka-get-offsets": f"t:0:{NINES}",
    "a partition of kafka-get-offsets": f"t:{NINES}:1",
    "a long field": "topic,partition,offset\n" + "a" * 200_000 + ",0,1",
    "zero bytes": "topic,partition,offset\n\0,0,1",
    "a quote": '"',
    "an answer without series": '{"data": []}',
    "an answer of lists": '{"data": {"result": [{"metric": [], "value": [1, 2]}]}}',
    "an answer of endless times": '{"data": {"result": [{"metric": {}, "value": [1e999, "2"]}]}}',
    "a metric of many letters": "# HELP\n" + "a" * 300_000,
    "a metric's partition": f'kafka_topic_partition_current_offset{{topic="t",partition="{NINES}"}} 1',
    "a metric's time": f'kafka_topic_partition_current_offset{{topic="t",partition="1"}} 1 {NINES}',
    "an endless metric": 'kafka_topic_partition_current_offset{topic="t",partition="1"} 1e300',
}


@pytest.mark.parametrize("case", ODD)
def test_it_is_one_sentence(tmp_path: Path, case: str) -> None:
    path = tmp_path / "ends"
    path.write_text(ODD[case])
    with pytest.raises(SourceError) as caught:
        read_ends(path)
    assert len(str(caught.value)) < 500 + len(str(path)) and "sys." not in str(caught.value)


@given(st.binary(max_size=200) | st.text(alphabet='{}[]":,.-0123456789eEtopicarn \n', max_size=200))
def test_whatever_is_in_it(tmp_path_factory: pytest.TempPathFactory, content: bytes | str) -> None:
    path = tmp_path_factory.getbasetemp() / "ends"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        read_ends(path)
    except SourceError as error:
        assert re.search(r"ends: ", str(error))


def test_what_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for device in ("/dev/zero", "/dev/urandom"):
        with pytest.raises(SourceError, match="cannot be read as text"):
            read_ends(device)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(SourceError, match="has no end offsets"):
        read_ends(pipe)
    monkeypatch.setattr(open_file, "GIVEN_TEXT", 1000)
    (tmp_path / "long").write_text("t:0:1\n" * 1000)
    with pytest.raises(SourceError, match="goes on after 1000 characters"):
        read_ends(tmp_path / "long")


def test_a_pipe_of_the_shell(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"t:0:7\n")
    os.close(theirs)
    (sample,) = read_ends(f"/dev/fd/{ours}")
    os.close(ours)
    assert (sample.topic, sample.end_offset) == ("t", 7)
