"""Places on disk and in storage by one name: what a URI names, what is refused, and what each refusal of storage means."""

import pickle
import sys
from pathlib import Path

import pytest

from offsets_tool.errors import OffsetsToolError, SetupError, SourceError
from offsets_tool.log.buckets import bucket_of
from offsets_tool.log.discover import find_segments
from offsets_tool.log.refusals import refusal
from offsets_tool.log.storage import StoredEntry, StoredPath, as_path, folder_around, is_stored, real_path
from tests.log.environment import environment
from tests.log.samples import CORPORA

SECRET = "s3cr3t-0f-th1s-t3st"
SEGMENTS = CORPORA / "3.9.2-txn" / "segments"

URIS = {
    "s3://bucket/a/b.log": ("s3://bucket/a/b.log", "b.log", "s3://bucket/a"),
    "S3A://bucket/a/": ("s3://bucket/a", "a", "s3://bucket"),
    "s3n://bucket": ("s3://bucket", "bucket", "s3:"),
    "gs://bucket/a": ("gs://bucket/a", "a", "gs://bucket"),
    "abfss://dumps@account.dfs.core.windows.net/a": (
        "abfs://dumps@account.dfs.core.windows.net/a",
        "a",
        "abfs://dumps@account.dfs.core.windows.net",
    ),
}


@pytest.mark.parametrize("uri", URIS)
def test_a_uri_is_a_path_whose_text_it_is(uri: str) -> None:
    there = as_path(uri)
    text, name, parent = URIS[uri]
    assert isinstance(there, StoredPath)
    assert (str(there), there.as_posix(), there.name, str(there.parent)) == (text, text, name, parent)
    assert there == as_path(text) == as_path(there) == pickle.loads(pickle.dumps(there))
    assert str(there / "x" / "y.json") == f"{text}/x/y.json"
    assert (there / "x").relative_to(there) == Path("x")
    assert folder_around(there / "x") == there == there.resolve() == there.absolute()
    assert is_stored(uri)
    assert real_path(uri) == text


def test_a_path_stays_a_path(tmp_path: Path) -> None:
    odd = tmp_path / "a b%"
    odd.mkdir()
    for text in ("a/b", "./s3:/x", str(odd), "c:d", "//x"):
        assert type(as_path(text)) is type(Path(text))
        assert as_path(text) == Path(text)
    assert as_path(odd.as_uri()) == odd == as_path(f"file://localhost{odd.as_posix().replace('%', '%25')}")
    assert real_path(tmp_path / ".." / tmp_path.name) == str(tmp_path)


def test_a_file_uri_is_read_as_its_path() -> None:
    assert find_segments([SEGMENTS.resolve().as_uri()]) == find_segments([SEGMENTS.resolve()])


REFUSED = {
    f"s3://key:{SECRET}@bucket/a": "AWS_PROFILE",
    f"s3://bucket/a?access_key=x&secret_key={SECRET}": "AWS_PROFILE",
    f"gs://{SECRET}@bucket/a": "GOOGLE_APPLICATION_CREDENTIALS",
    f"abfs://dumps:{SECRET}@account.dfs.core.windows.net/a": "az login",
    f"hdfs://user:{SECRET}@host/a": "HADOOP_USER_NAME",
    f"viewfs://{SECRET}@host/a": "HADOOP_USER_NAME",
    "viewfs:///a": "viewfs://AUTHORITY/PATH",
    f"https://{SECRET}@host/a?sig={SECRET}": "s3://, gs://, abfs://, hdfs:// and file://",
    **dict.fromkeys(("hdfs:///a", "hdfs://h:abc/a", "hdfs://:8020/a"), "hdfs://NAMENODE:PORT/PATH"),
    "s3://": "s3://BUCKET/KEY",
    "abfs://dumps/a": "abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY",
    "abfs://dumps@account/a": "abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY",
}


@pytest.mark.parametrize("uri", REFUSED)
def test_what_a_uri_may_not_have_is_refused_and_not_shown(uri: str) -> None:
    with pytest.raises(SourceError) as error:
        find_segments([uri])
    assert REFUSED[uri] in str(error.value)
    assert SECRET not in str(error.value)


ERRORS: dict[str, tuple[type[OffsetsToolError], str]] = {
    "When listing: AWS Error NO_SUCH_BUCKET during ListObjectsV2": (SourceError, "no such bucket"),
    "AWS Error ACCESS_DENIED during HeadObject operation: No response body.": (
        SourceError,
        "access is denied",
    ),
    "AWS Error INVALID_OBJECT_STATE during GetObject": (SourceError, "is archived"),
    "AWS Error EXPIRED_TOKEN during GetObject": (SetupError, "have expired"),
    "AWS Error INVALID_ACCESS_KEY_ID during ListObjectsV2: The key AKIA does not exist": (
        SetupError,
        "not accepted",
    ),
    "Could not create credentials: none": (SetupError, "no credentials are found"),
    "AWS Error NETWORK_CONNECTION: curlCode: 6, Could not resolve hostname": (
        SetupError,
        "cannot be reached",
    ),
    "AWS Error SLOW_DOWN during GetObject": (SetupError, "no capacity"),
    "AWS Error UNKNOWN (HTTP status 503) during HeadObject": (SetupError, "no capacity"),
    "AWS Error INTERNAL_FAILURE (HTTP status 500)": (SetupError, "failed to answer"),
    "AWS Error UNKNOWN (HTTP status 301)": (SetupError, "another region"),
    "GSSAPIError: No Kerberos credentials available": (SetupError, "not accepted"),
    "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException: the quota of /a": (
        SetupError,
        "quota is used up",
    ),
    "org.apache.hadoop.hdfs.server.namenode.SafeModeException: Name node is in safe mode": (
        SetupError,
        "safe mode",
    ),
    "org.apache.hadoop.ipc.StandbyException: READ in state standby": (
        SetupError,
        "failed (StandbyException)",
    ),
    f"some AWS Error ODD_ONE with {SECRET}": (SetupError, "failed (ODD_ONE)"),
    f"nothing known, {SECRET}": (SetupError, "failed (OSError)"),
}


@pytest.mark.parametrize("said", ERRORS)
def test_each_refusal_is_one_sentence_with_a_remedy(said: str) -> None:
    kind, words = ERRORS[said]
    found = refusal("s3://bucket/a", OSError(said))
    assert type(found) is kind
    assert str(found).startswith("s3://bucket/a: ")
    assert words in str(found)
    assert ";" in str(found)
    assert SECRET not in str(found)
    assert "AKIA" not in str(found)


def test_what_is_stored_has_the_form_of_what_is_on_disk() -> None:
    there = StoredPath("s3:/", "bucket", "a")
    found = StoredEntry(there, False, 5, 1_700_000_000_123_456_789).stat()
    assert (found.st_size, found.st_mtime_ns) == (5, 1_700_000_000_123_456_789)
    assert int(found.st_mtime) == 1_700_000_000


def test_a_container_is_found_by_its_account_and_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ENDPOINT", raising=False)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")
    bucket = bucket_of(as_path("abfs://dumps@account.dfs.core.chinacloudapi.cn/a"))
    made = bucket.system.__reduce__()[1][0]
    assert (bucket.base, bucket.name(as_path("abfs://dumps@account.dfs.core.chinacloudapi.cn/a"))) == (
        "dumps",
        "dumps/a",
    )
    assert {
        name: made[name] for name in ("account_name", "blob_storage_authority", "dfs_storage_authority")
    } == {
        "account_name": "account",
        "blob_storage_authority": ".blob.core.chinacloudapi.cn",
        "dfs_storage_authority": ".dfs.core.chinacloudapi.cn",
    }


EXTRAS = {
    "hdfs://names/a": ("offsets_tool.log.hadoop.native", "hdfs_native", "hdfs"),
    "viewfs://names/a": ("offsets_tool.log.hadoop.jvm", "jpype", "hadoop"),
}


@pytest.mark.parametrize("uri", EXTRAS)
def test_what_reads_it_is_an_extra(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    *modules, extra = EXTRAS[uri]
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)
    with environment({}), pytest.raises(SetupError, match=rf"pip install 'offsets-tool\[{extra}\]'"):
        as_path(uri).exists()
