"""A server of object storage on 127.0.0.1 (moto's S3), which counts what it is asked and fails as it is told.

It is a process of its own: deltalake waits for answers without letting other threads of its process run.
"""

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen
from wsgiref.types import StartResponse, WSGIEnvironment

from pyarrow import fs

SECRET: Final = "s3cr3t-0f-th1s-t3st"
BUCKET: Final = "evidence"
CUT: Final = "cut"
"""The fault of a connection that ends without an answer."""
CUT_AFTER: Final = "cut after"
"""The fault of a connection that ends without an answer, though what was asked was done."""
LATE: Final = "late"
"""The fault of a listing that does not have yet what is there: keys with `part` in them."""
_ENTRY: Final = re.compile(rb"<Contents>.*?</Contents>", re.DOTALL)
_CONTROL: Final = "/-control/"
_STATUS: Final = {
    "AccessDenied": "403 Forbidden",
    "InvalidAccessKeyId": "403 Forbidden",
    "SlowDown": "503 Slow Down",
    "InternalError": "500 Internal Server Error",
}
_ERROR: Final = "<?xml version='1.0'?><Error><Code>{0}</Code><Message>{0} of {1}</Message></Error>"


@dataclass
class ObjectStore:
    """A running server of object storage, with its address and its bucket."""

    url: str

    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to use it."""
        return {
            "AWS_ACCESS_KEY_ID": "offsets",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def system(self) -> fs.S3FileSystem:
        return fs.S3FileSystem(
            access_key="offsets",
            secret_key=SECRET,
            endpoint_override=self.url,
            region="us-east-1",
            allow_bucket_creation=True,
        )

    def upload(self, folder: Path, key: str) -> str:
        """Copy a folder of this machine, and return its URI."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{key}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        return f"s3://{BUCKET}/{key}"

    def put(self, key: str, content: bytes) -> str:
        """Put an object, and return its URI. The key may be one that Arrow does not accept."""
        # Without an authorization, which nobody checks, nothing that is there may be written anew.
        headers = {"Content-Type": "application/octet-stream", "Authorization": "AWS offsets:unchecked"}
        with urlopen(Request(f"{self.url}/{BUCKET}/{key}", content, headers, method="PUT")):
            return f"s3://{BUCKET}/{key}"

    def asked(self) -> list[tuple[str, str]]:
        """Method and path of each request since the last time that somebody asked."""
        return [(method, path) for method, path in self._control("asked", None)]

    def counts(self) -> Counter[str]:
        """How many requests of each method there were since the last time that somebody asked."""
        return Counter(method for method, _ in self.asked())

    def fail(self, code: str, *, times: int, method: str = "", part: str = "") -> None:
        """Let the next requests of a method, with `part` in their path, fail: with S3's error of that code, CUT or LATE."""
        self._control("fault", {"code": code, "times": times, "method": method, "part": part})

    def mend(self) -> None:
        """Let all later requests succeed."""
        self._control("mend", None)

    def _control(self, what: str, said: object) -> Any:
        with urlopen(self.url + _CONTROL + what, json.dumps(said).encode()) as answer:
            return json.loads(answer.read())


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Start a server with an empty bucket, whose environment is set in this process meanwhile."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.log.object_store"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    before = dict(os.environ)
    try:
        assert server.stdout is not None
        store = ObjectStore(server.stdout.readline().strip())
        os.environ.update(store.environment())
        store.system().create_dir(BUCKET)
        yield store
    finally:
        os.environ.clear()
        os.environ.update(before)
        server.kill()
        server.communicate()


class _Server:
    """Answers requests, records them, and lets those fail for which `fail` was called."""

    def __init__(self) -> None:
        from moto.server import create_backend_app

        self._answer = create_backend_app("s3")
        self._asked: list[tuple[str, str]] = []
        self._faults: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def __call__(self, request: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        method, path = request["REQUEST_METHOD"], request["PATH_INFO"]
        if path.startswith(_CONTROL):
            said = json.loads(request["wsgi.input"].read(int(request["CONTENT_LENGTH"])))
            start("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(self._controlled(path.removeprefix(_CONTROL), said)).encode()]
        with self._lock:
            self._asked.append((method, path))
            is_listing = method == "GET" and "list-type" in request["QUERY_STRING"]
            late = [fault["part"].encode() for fault in self._faults if is_listing and fault["code"] == LATE]
            code = self._fault(method, path)
        if late:
            return self._without(late, request, start)
        if code is None:
            return self._answer(request, start)  # type: ignore[no-any-return]
        if code in (CUT, CUT_AFTER):
            if code == CUT_AFTER:
                list(self._answer(request, lambda *_: print))
            request["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            raise ConnectionAbortedError
        start(_STATUS[code], [("Content-Type", "application/xml")])
        return [_ERROR.format(code, path).encode()]

    def _without(self, parts: list[bytes], request: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Answer a listing without the keys that have one of these parts."""
        said: list[Any] = []
        body = b"".join(self._answer(request, lambda *head: said.append(head)))
        for entry in _ENTRY.findall(body):
            if any(part in entry for part in parts):
                body = body.replace(entry, b"")
        status, headers = said[0][:2]
        start(status, [(name, value) for name, value in headers if name.lower() != "content-length"])
        return [body]

    def _controlled(self, what: str, said: Any) -> Any:
        with self._lock:
            if what == "fault":
                self._faults.append(said)
            elif what == "mend":
                self._faults.clear()
            else:
                asked, self._asked = self._asked, []
                return asked
        return None

    def _fault(self, method: str, path: str) -> str | None:
        for fault in self._faults:
            if (
                fault["code"] != LATE
                and fault["times"]
                and fault["method"] in ("", method)
                and fault["part"] in path
            ):
                fault["times"] -= 1
                code: str = fault["code"]
                return code
        return None


def _serve() -> None:
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, type: str, message: str, *args: Any) -> None:
            """Log nothing: requests are counted instead."""

    server = make_server("127.0.0.1", 0, _Server(), threaded=True, request_handler=Quiet)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    _serve()
