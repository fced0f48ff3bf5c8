"""Google's storage on 127.0.0.1: gcp-storage-emulator answers Arrow's JSON API, and what stands here deltalake's XML API.

The emulator lacks of that API listings, generations, and puts that are refused where there is an object already. Of the JSON API it
answers otherwise than Google how much of an upload has arrived, where nothing has, or all: so that stands here too.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from gcp_storage_emulator.exceptions import NotFound
from gcp_storage_emulator.handlers import buckets, objects
from gcp_storage_emulator.server import RequestHandler
from gcp_storage_emulator.storage import Storage

from tests.log.environment import environment
from tests.log.faults import FaultyStore, forwarding, serve, started

BUCKET: Final = "evidence"
ROOT: Final = f"gs://{BUCKET}"
_JSON: Final = ("/storage/", "/upload/", "/download/", "/batch/")
_ENTRY: Final = (
    "<Contents><Key>{}</Key><Size>{}</Size><LastModified>{}</LastModified><ETag>{}</ETag></Contents>"
)
_PREFIX: Final = "<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>"
_LISTING: Final = "<ListBucketResult><IsTruncated>false</IsTruncated>{}</ListBucketResult>"


@contextmanager
def google_store() -> Iterator[FaultyStore]:
    """Start a server with an empty bucket, whose environment is set in this process meanwhile."""
    with started("tests.log.google_store") as url, environment({"STORAGE_EMULATOR_HOST": url}):
        yield FaultyStore(url, ROOT)


class _Storage(Storage):  # type: ignore[misc]
    """The emulator's storage, which writes a list of all objects with each change: to go on after a restart, and this has none."""

    def _write_config_to_file(self) -> None:
        """Write nothing: with some hundred objects the list takes longer than clients wait for many deletions."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    putting = threading.Lock()
    """Held from the look whether an object may be put until it is."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients hang up when they have what they need."""


class _Handler(RequestHandler):  # type: ignore[misc]
    """Answers the XML API itself, and has the emulator answer the JSON API."""

    def parse_request(self) -> bool:
        is_read: bool = super().parse_request()
        if is_read and not self.path.startswith(_JSON):
            self.command = f"XML_{self.command}"
        return is_read

    def do_XML_GET(self) -> None:
        bucket, key = self._place()
        if not key:
            self._answer(200, self._listing(bucket))
        elif (there := self._there(bucket, key)) is None:
            self._answer(404)
        else:
            self._give(self.storage.get_file(bucket, key), there)

    do_XML_HEAD = do_XML_GET

    def do_XML_PUT(self) -> None:
        (bucket, key), content = self._place(), self.rfile.read(int(self.headers["Content-Length"]))
        kind, at = self.headers.get("Content-Type"), f"http://{self.headers['Host']}"
        new = objects._make_object_resource(at, bucket, key, kind, str(len(content)))
        wanted = self.headers.get("x-goog-if-generation-match")
        with _Server.putting:
            there = self._there(bucket, key)
            is_wanted = wanted in (None, there["generation"] if there else "0")
            if is_wanted:
                self.storage.create_file(bucket, key, content, objects._checksums(content, new))
        self._answer(200 if is_wanted else 412, headers=_version(new))

    def do_XML_DELETE(self) -> None:
        try:
            self.storage.delete_file(*self._place())
        except NotFound:
            self._answer(404)
        else:
            self._answer(204)

    def do_PUT(self) -> None:
        what = self.headers.get("Content-Range", "")
        # Whoever ends an upload of nothing asks in the same words.
        if what == "bytes */0" or not what.startswith("bytes */"):
            super().do_PUT()
            return
        asked = parse_qs(urlsplit(self.path).query)
        try:
            self.storage.get_resumable_file_obj(asked["upload_id"][0])
        except NotFound:
            there = self._there(BUCKET, asked["name"][0])
            self._answer(200 if there else 404, json.dumps(there).encode())
            return
        if self.storage.get_resumable_byte_count(asked["upload_id"][0]):
            super().do_PUT()
        else:
            self._answer(308)

    def _place(self) -> tuple[str, str]:
        bucket, _, key = unquote(urlsplit(self.path).path)[1:].partition("/")
        return bucket, key

    def _there(self, bucket: str, key: str) -> dict[str, str] | None:
        try:
            return self.storage.get_file_obj(bucket, key)  # type: ignore[no-any-return]
        except NotFound:
            return None

    def _give(self, content: bytes, there: Mapping[str, str]) -> None:
        headers = {"Last-Modified": self.date_time_string(), **_version(there)}
        asked = self.headers.get("Range")
        if asked is None:
            self._answer(200, content, headers)
            return
        begin, _, end = asked.removeprefix("bytes=").partition("-")
        first = int(begin) if begin else len(content) - int(end)
        last = min(len(content) - 1, int(end)) if begin and end else len(content) - 1
        headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        self._answer(206, content[first : last + 1], headers)

    def _listing(self, bucket: str) -> bytes:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        files, prefixes = self.storage.get_file_list(bucket, asked.get("prefix"), asked.get("delimiter"))
        entries = [
            _ENTRY.format(escape(each["name"]), each["size"], each["updated"], each["generation"])
            for each in sorted(files, key=lambda each: each["name"])
            if each["name"] > asked.get("start-after", "")
        ]
        said = entries + [_PREFIX.format(escape(each)) for each in prefixes]
        return _LISTING.format("".join(said)).encode()

    def _answer(self, status: int, content: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if not self.command.endswith("HEAD"):
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def _version(there: Mapping[str, str]) -> dict[str, str]:
    return {"ETag": f'"{there["generation"]}"', "x-goog-generation": there["generation"]}


def _serve() -> None:
    storage = _Storage(use_memory_fs=True)
    buckets.create_bucket(BUCKET, storage)
    server = _Server(("127.0.0.1", 0), partial(_Handler, storage))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    serve(forwarding(f"http://127.0.0.1:{server.server_port}"))


if __name__ == "__main__":
    _serve()
