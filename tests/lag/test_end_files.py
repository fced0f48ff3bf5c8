"""Samples of end offsets in every form that they are kept in."""

import json
import os
from pathlib import Path

import pytest

from offsets_tool.errors import SourceError
from offsets_tool.lag.end_files import read_ends
from offsets_tool.lag.samples import EndSample

AT = 1_795_263_753_000


def samples_of(at: int, **known: int) -> tuple[EndSample, ...]:
    return (EndSample("orders", 3, at, **known),)  # type: ignore[arg-type]


EXPOSITION = """# HELP kafka_topic_partition_current_offset Current Offset of a Broker at Topic/Partition
# TYPE kafka_topic_partition_current_offset gauge
kafka_topic_partition_current_offset{partition="3",topic="orders"} 1.2000001e+07
kafka_topic_partition_oldest_offset{partition="3",topic="orders"} 12
kafka_brokers 1
kafka_topic_partitions{topic="orders"} 4
"""
KMINION = """kminion_kafka_topic_partition_high_water_mark{partition_id="3",topic_name="orders"} 45 1795263753001
kminion_kafka_topic_partition_low_water_mark{partition_id="3",topic_name="orders"} 44 1795263753001
kminion_kafka_topic_partition_high_water_mark{partition_id="4",topic_name="orders"} NaN
"""


def answer(kind: str, name: str, **labels: str) -> str:
    values = {"values": [[1795263753.001, "45"]]} if kind == "matrix" else {"value": [1795263753.001, "45"]}
    result = [{"metric": {"__name__": name, "topic": "orders", "partition": "3", **labels}, **values}]
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("orders:3:45\n", samples_of(AT, end_offset=45)),
        ("orders:4:\norders:3:45\n", None),
        ("\norders:3:0", samples_of(AT, end_offset=0)),
        ("orders,3,45\n", samples_of(AT, end_offset=45)),
        ("topic,partition,offset\norders,3,45\n", samples_of(AT, end_offset=45)),
        (
            "\ufeffTopic,Partition,At,Log_Start,Last_Stable,End\norders,3,1000,1,,45\n",
            samples_of(1000, log_start_offset=1, end_offset=45),
        ),
        ("topic,partition,at,end\norders,3,1970-01-01T00:00:01Z,45\n", samples_of(1000, end_offset=45)),
        (
            '{"topic":"orders","partition":3,"at":1000,"last_stable_offset":4}\n',
            samples_of(1000, last_stable_offset=4),
        ),
        ('[{"topic":"orders","partition":3,"offset":45}]', samples_of(AT, end_offset=45)),
        (
            '{"topic":"orders",\n"partition":3,\n"log_end_offset":45,"log_start_offset":-1}',
            samples_of(AT, end_offset=45),
        ),
        (EXPOSITION, samples_of(AT, log_start_offset=12, end_offset=12_000_001)),
        (KMINION, samples_of(AT + 1, log_start_offset=44, end_offset=45)),
        (answer("matrix", "kafka_partition_latest_offset"), samples_of(AT + 1, end_offset=45)),
        (answer("vector", "kafka_topic_partition_current_offset"), samples_of(AT + 1, end_offset=45)),
    ],
)
def test_the_form_is_told_from_the_content(
    text: str, expected: tuple[EndSample, ...] | None, tmp_path: Path
) -> None:
    path = tmp_path / "ends"
    path.write_text(text)
    wanted = samples_of(AT, end_offset=45) if expected is None else expected
    assert read_ends(path, AT) == [one._replace(source=path.as_posix()) for one in wanted]


def test_without_a_time_it_is_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ends.txt"
    path.write_text("orders:3:45\n")
    os.utime(path, (1000, 1000))
    assert read_ends(path)[0].at == 1_000_000


def test_the_earliest_offsets_are_log_starts(tmp_path: Path) -> None:
    path = tmp_path / "starts.txt"
    path.write_text("orders:3:45\n")
    (found,) = read_ends(path, AT, log_starts=True)
    assert (found.log_start_offset, found.end_offset) == (45, None)


def test_exporters_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text(answer("vector", "kafka_topic_partition_current_offset", instance="a:9308"))
    (found,) = read_ends(path)
    assert found.source == f"{path.as_posix()}#a:9308"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no end offsets"),
        ("kafka_brokers 1\n", "has no end offsets"),
        ("orders:3:45\nno such thing\n", "line 2"),
        ("topic,partition,end\norders,3\n", "row 2 has 2 columns"),
        ("topic,partition,end\norders,x,4\n", "row 2: "),
        ("topic,partition,end\norders,3,\n", "row 2: a row needs one of"),
        ("group,lag\na,1\n", "a row needs `topic`"),
        ('{"topic":"orders"}\n{', "line 2 is not JSON"),
        ("[1]", "not a JSON object"),
        ('{"status":"success","data":{"result":[{"metric":{}}]}}', "query API"),
        ('{"status":"error","error":"too many","data":{}}', "too many"),
        ('kafka_topic_partition_current_offset{partition="3",topic="orders"} x\n', "no number"),
        ('{"topic":"orders","partition":3,"at":"noon","end":4}', "row 1: "),
        (b"\xff\xfe\x00", "cannot be read as text"),
    ],
)
def test_what_cannot_be_read_is_said(text: str | bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "ends"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SourceError, match=words):
        read_ends(path, AT)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        read_ends(tmp_path / "none", AT)
