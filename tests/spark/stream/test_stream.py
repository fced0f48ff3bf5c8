"""How a stream is asked for, without Spark: where its checkpoint is, and what is refused in one sentence."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from offsets_tool.errors import UsageError
from spark.cli import main
from spark.ingest.ingest import Request
from spark.stream.stream import StreamRequest, StreamSource, stream
from tests.spark.lakes import ingest_here, no_session, write_segment


def of(lake: Path | str, **options: str) -> StreamRequest:
    return StreamRequest(Request(paths=[], lake=str(lake)), **options)


def test_each_source_has_a_checkpoint_of_its_own(tmp_path: Path) -> None:
    lake = tmp_path / "a lake"
    one, other = (of(lake).checkpoint_of(name) for name in ("one", "other"))
    assert one.parent == Path(lake, "_stream") and len({one, other, of(lake).checkpoint_of("one")}) == 2
    assert of("s3://b/lake", checkpoint=str(tmp_path)).checkpoint_of("one") == tmp_path


@pytest.mark.parametrize(
    ("lake", "checkpoint", "said"),
    [
        ("s3://b/lake", None, "with --checkpoint"),
        ("viewfs://n/lake", None, "with --checkpoint"),
        ("lake", "s3://b/c", "is in storage"),
    ],
)
def test_a_checkpoint_is_on_disk(lake: str, checkpoint: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        StreamRequest(Request(paths=[], lake=lake), checkpoint=checkpoint).checkpoint_of("one")


def test_a_checkpoint_of_a_lake_that_is_gone_is_refused(tmp_path: Path) -> None:
    """It says that all was brought."""
    request = of(tmp_path / "lake", checkpoint=str(tmp_path / "kept"))
    (tmp_path / "kept" / "commits").mkdir(parents=True)
    with pytest.raises(UsageError, match="not there any more"):
        request.checkpoint_of("one")
    ingest_here(tmp_path / "lake", write_segment(tmp_path, b""))
    request.checkpoint_of("one")


@pytest.mark.parametrize(("seen", "is_refused"), [("{}", False), ('{"/night": {"files": 1}}', True)])
def test_a_checkpoint_that_has_seen_nothing_is_of_no_lake_that_is_gone(
    tmp_path: Path, seen: str, is_refused: bool
) -> None:
    """It was left by a stream that began before there was anything to bring."""
    for name, text in (
        ("commits/0", "v1"),
        ("offsets/0", f'v1\n{{"conf": {{}}}}\n{seen}'),
        ("offsets/.0.crc", "crc"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    request = of(tmp_path / "lake", checkpoint=str(tmp_path))
    if is_refused:
        with pytest.raises(UsageError, match="not there any more"):
            request.checkpoint_of("one")
    else:
        assert request.checkpoint_of("one") == tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--once"], 2, "FOLDER"),
        (["nowhere", "--once"], 1, "nowhere: does not exist"),
        ([".", "--every", "x"], 2, "--every: 'x' is no span of time"),
        ([".", "--checkpoint", "s3://b/c"], 2, "is in storage"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["stream", *arguments, "--lake", "lake"])
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr


def test_a_server_of_spark_connect_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:1")
    source = StreamSource("one", lambda session: None, lambda rows, batch: [])  # type: ignore[arg-type, return-value]
    with pytest.raises(UsageError, match="unset SPARK_REMOTE"):
        stream(no_session, of(tmp_path), source, lambda done: None, None)  # type: ignore[arg-type]
