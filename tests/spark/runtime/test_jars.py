"""Jars are fetched once, verified, and kept; what stands in the way is one sentence.

The repository is a folder, laid out as Maven's, that DEFAULT_ARTIFACT_REPOSITORY names: the resolver is the real one.
"""

import hashlib
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from offsets_tool.errors import SetupError
from oracle.jars import DECLARED, KAFKA
from oracle.jars import DIGESTS as PINNED
from spark.runtime.jars import DELTA, JarSet, cache, jars
from spark.runtime.jars import DIGESTS as PRODUCT

TOOL = JarSet("tool", ("org.example:tool:1.0",))
CLOSURE = JarSet("closure", ("org.example:tool:1.0",), is_transitive=True)

pytestmark = [pytest.mark.java, pytest.mark.engine]


DIGESTS: dict[str, str] = {}
"""Of all that was put into the repository."""


def fetched(wanted: JarSet) -> list[Path]:
    return jars(wanted, DIGESTS)


def put(repository: Path, artifact: str, requires: str = "", content: bytes | None = None) -> Path:
    """Put an artifact into a repository, with its POM and both checksums."""
    folder = repository / "org" / "example" / artifact / "1.0"
    folder.mkdir(parents=True)
    needed = f"<dependency><groupId>org.example</groupId><artifactId>{requires}</artifactId><version>1.0</version></dependency>"
    pom = (
        "<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>"
        f"<artifactId>{artifact}</artifactId><version>1.0</version>"
        f"<dependencies>{needed if requires else ''}</dependencies></project>"
    )
    (folder / f"{artifact}-1.0.pom").write_text(pom)
    jar = folder / f"{artifact}-1.0.jar"
    if content is None:
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr("name.txt", artifact * 100)
    else:
        jar.write_bytes(content)
    DIGESTS[f"org.example.{artifact}-1.0.jar"] = hashlib.sha256(jar.read_bytes()).hexdigest()
    for file in (folder / f"{artifact}-1.0.pom", jar):
        file.with_name(f"{file.name}.sha1").write_text(hashlib.sha1(file.read_bytes()).hexdigest())
    return jar


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", f"file:{tmp_path}/repository/")
    monkeypatch.setenv("OFFSETS_TOOL_CACHE", str(tmp_path / "cache"))
    DIGESTS.clear()
    return tmp_path / "repository"


def names(paths: list[Path]) -> list[str]:
    return [path.name for path in paths]


def test_fetched_once_and_then_without_the_repository(repository: Path) -> None:
    original = put(repository, "tool")
    first = fetched(TOOL)
    assert [path.read_bytes() for path in first] == [original.read_bytes()]
    original.unlink()
    assert fetched(TOOL) == first


def test_nothing_else_is_left_behind(repository: Path) -> None:
    put(repository, "tool")
    fetched(TOOL)
    assert sorted(names(list((cache() / "jars").iterdir()))) == ["org.example.tool-1.0.jar", TOOL.list_name]


def test_a_closure_and_what_is_left_out_of_it(repository: Path) -> None:
    put(repository, "tool", requires="part")
    put(repository, "part")
    assert names(fetched(TOOL)) == ["org.example.tool-1.0.jar"]
    assert names(fetched(CLOSURE)) == ["org.example.part-1.0.jar", "org.example.tool-1.0.jar"]
    without = CLOSURE._replace(excludes=("org.example:part",))
    assert names(fetched(without)) == ["org.example.tool-1.0.jar"]


@pytest.mark.parametrize(
    "harm", [lambda jar: jar.unlink(), lambda jar: jar.write_bytes(b"PK")], ids=["gone", "torn"]
)
def test_a_jar_that_is_gone_or_torn_is_fetched_again(harm, repository: Path) -> None:  # type: ignore[no-untyped-def]
    original = put(repository, "tool")
    harm(fetched(TOOL)[0])
    assert fetched(TOOL)[0].read_bytes() == original.read_bytes()


def test_jars_without_their_list_are_an_interrupted_download(repository: Path) -> None:
    original = put(repository, "tool")
    fetched(TOOL)[0].write_bytes(b"half of it")
    (cache() / "jars" / TOOL.list_name).unlink()
    assert fetched(TOOL)[0].read_bytes() == original.read_bytes()


def test_no_jar_is_kept_that_cannot_be_read(repository: Path) -> None:
    put(repository, "tool", content=b"not a jar")
    with pytest.raises(SetupError, match=r"tool-1.0.jar came damaged .*Run the same command again"):
        fetched(TOOL)
    assert list((cache() / "jars").iterdir()) == []


@pytest.mark.parametrize(
    ("digest", "said"),
    [("0" * 64, "is not the jar that was meant"), (None, "is not among the jars whose digests are known")],
)
def test_a_jar_of_another_digest_is_not_kept(repository: Path, digest: str | None, said: str) -> None:
    """Though it is whole, and its repository's own checksum is right."""
    put(repository, "tool")
    DIGESTS.clear()
    DIGESTS.update({} if digest is None else {"org.example.tool-1.0.jar": digest})
    with pytest.raises(SetupError, match=f"tool-1.0.jar came, and {said}.*Nothing of it was kept") as told:
        fetched(TOOL)
    assert str(told.value).count("\n") == 0
    assert list((cache() / "jars").iterdir()) == []


def test_a_jar_that_was_changed_where_it_is_kept_is_set_aside(repository: Path) -> None:
    """Of the same size, as one that was planted would be: nothing is loaded; asked again, it is fetched."""
    original = put(repository, "tool")
    (jar,) = fetched(TOOL)
    planted = bytes(reversed(jar.read_bytes()))
    jar.write_bytes(planted)
    with pytest.raises(SetupError, match=r"is not the jar that was meant.* set aside as .*\.refused"):
        fetched(TOOL)
    assert jar.with_name(f"{jar.name}.refused").read_bytes() == planted
    assert fetched(TOOL)[0].read_bytes() == original.read_bytes()


def test_every_jar_is_pinned() -> None:
    """Delta's in the product; for the tests at least every jar that a set names itself."""
    named = {
        "{}.{}-{}.jar".format(*coordinate.split(":"))
        for wanted in (DELTA, *KAFKA.values(), *DECLARED.values())
        for coordinate in wanted.coordinates
    }
    assert named - set(PINNED) == set()
    assert dict(PRODUCT) == {name: PINNED[name] for name in PRODUCT} != {}
    assert {len(digest) for digest in PINNED.values()} == {64}


def test_what_the_repository_lacks(repository: Path) -> None:
    with pytest.raises(
        SetupError, match=r"could not be fetched: org.example#tool;1.0: not found. Check the network"
    ):
        fetched(TOOL)


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("http://127.0.0.1:9/", "ConnectException: Connection refused"),
        ("http://nowhere.invalid/", "Host nowhere.invalid not found"),
    ],
)
def test_an_unreachable_repository(
    address: str, complaint: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", address)
    with pytest.raises(SetupError, match=f"{complaint}. Check the network.*DEFAULT_ARTIFACT_REPOSITORY"):
        fetched(TOOL)


def test_one_failing_answer_is_asked_for_again(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = put(repository, "tool")
    failures = [f"/{original.relative_to(repository)}"]

    class Flaky(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path in failures:
                failures.remove(self.path)
                self.send_error(503)
            else:
                super().do_GET()

        def log_message(self, *spoken: object) -> None:
            """Not a word: stderr belongs to the tests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Flaky, directory=str(repository))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", f"http://127.0.0.1:{server.server_port}/")
        try:
            assert [path.read_bytes() for path in fetched(TOOL)] == [original.read_bytes()]
        finally:
            server.shutdown()
    assert failures == []


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("OFFSETS_TOOL_CACHE", str(tmp_path / "file"))
    with pytest.raises(
        SetupError, match=r"cannot be kept .*Let OFFSETS_TOOL_CACHE name a folder that can be written"
    ):
        fetched(TOOL)


def test_another_request_has_another_list() -> None:
    assert TOOL.list_name != CLOSURE.list_name
    assert DELTA.list_name.startswith("delta-4.4.0-")
