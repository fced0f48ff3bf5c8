"""A server of object storage that counts what it is asked and fails on request, whatever storage stands behind it.

It is a WSGI application around another, for a process of its own: deltalake waits for answers without letting other threads of
its process run. Knows of S3's, Google's and Azure's interfaces how each says an error and what is in a listing.
"""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit
from urllib.request import urlopen
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from offsets_tool.log.storage import as_path

CUT: Final = "cut"
"""The fault of a connection that ends without an answer."""
CUT_AFTER: Final = "cut after"
"""The fault of a connection that ends without an answer, though what was asked was done."""
CUT_INSIDE: Final = "cut inside"
"""The fault of an answer that ends in the middle of its body."""
SLOW: Final = "slow"
"""The fault of an answer that comes after SECONDS, when some clients have given up."""
SECONDS: Final = 4.0
LATE: Final = "late"
"""The fault of a listing that does not have yet what is there: keys with `part` in them."""
_ENTRY: Final = re.compile(rb"<(Contents|Blob)>.*?</\1>", re.DOTALL)
_LISTS: Final = ("list-type=", "comp=list", "/o?", "delimiter=", "prefix=")
_CONTROL: Final = "/-control/"
_STATUS: Final = {
    "AccessDenied": "403 Forbidden",
    "InvalidAccessKeyId": "403 Forbidden",
    "TooManyRequests": "429 Too Many Requests",
    "SlowDown": "503 Slow Down",
    "InternalError": "500 Internal Server Error",
}
_ERROR: Final = "<?xml version='1.0'?><Error><Code>{0}</Code><Message>{0} of {1}</Message></Error>"
_OF_CONNECTION: Final = ("connection", "keep-alive", "transfer-encoding", "content-length", "date", "server")
_OF_REQUEST: Final = ("connection", "transfer-encoding", "content-length", "expect")
_SENT: Final = "offsets_tool.sent"
"""What a request's headers are in its environment: WSGI's own have none with an underscore, as Azure's folders have."""


@dataclass
class FaultyStore:
    """A running server of object storage: its address, and the URI of its bucket."""

    url: str
    root: str

    def upload(self, folder: Path, key: str) -> str:
        """Copy a folder of this machine, and return its URI."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{key}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        return f"{self.root}/{key}"

    def put(self, key: str, content: bytes) -> str:
        """Put an object, and return its URI."""
        as_path(f"{self.root}/{key}").write_bytes(content)
        return f"{self.root}/{key}"

    def asked(self) -> list[tuple[str, str]]:
        """Method and path of each request since the last time that somebody asked."""
        return [(method, path) for method, path in self._control("asked", None)]

    def counts(self) -> Counter[str]:
        """How many requests of each method there were since the last time that somebody asked."""
        return Counter(method for method, _ in self.asked())

    def fail(self, code: str, *, times: int, method: str = "", part: str = "") -> None:
        """Let the next requests of a method, with `part` in their key, fail: with an error of that code, or as CUT is."""
        self._control("fault", {"code": code, "times": times, "method": method, "part": part})

    def fail_each(self, code: str, *, every: int = 1, first: int = 0) -> None:
        """Let each request fail the first time that it is made, or every so many of them from the number `first` on.

        What is asked for again is answered.
        """
        self._control("each", {"code": code, "every": every, "first": first})

    def mend(self) -> int:
        """Let all later requests succeed; return how many requests have failed since the last time, or lists lacked something."""
        return int(self._control("mend", None))

    def _control(self, what: str, said: object) -> Any:
        with urlopen(self.url + _CONTROL + what, json.dumps(said).encode()) as answer:
            return json.loads(answer.read())


@contextmanager
def started(module: str, *arguments: str) -> Iterator[str]:
    """Run a module that calls `serve` as a process of its own inside of a `with` block; yield its address."""
    command = [sys.executable, "-W", "ignore", "-m", module, *arguments]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.communicate()


def serve(storage: WSGIApplication) -> None:
    """Serve storage, with the faults that it is asked for, at an address that is printed, until the process is killed."""
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def make_environ(self) -> WSGIEnvironment:
            return {**super().make_environ(), _SENT: self.headers.items()}

        def log(self, type: str, message: str, *args: Any) -> None:
            """Log nothing: requests are counted instead."""

        def handle_expect_100(self) -> bool:
            """Say nothing: werkzeug says once more that a client may go on, and Azure's takes that for the answer."""
            return True

    server = make_server("127.0.0.1", 0, _Faults(storage), threaded=True, request_handler=Quiet)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


def forwarding(url: str) -> WSGIApplication:
    """Return an application that has another server answer its requests, as they are."""
    host = urlsplit(url).netloc

    def answer(request: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        there = HTTPConnection(host)
        try:
            there.putrequest(
                request["REQUEST_METHOD"], request["RAW_URI"], skip_host=True, skip_accept_encoding=True
            )
            content = _content(request)
            for name, value in _headers(request):
                there.putheader(name, value)
            there.putheader("Content-Length", str(len(content)))
            there.endheaders(content)
            said = there.getresponse()
            body = said.read()
        finally:
            there.close()
        headers = [each for each in said.getheaders() if each[0].lower() not in _OF_CONNECTION]
        if request["REQUEST_METHOD"] == "HEAD" or said.status not in (204, 304):
            headers.append(("Content-Length", said.getheader("Content-Length") or str(len(body))))
        start(f"{said.status} {said.reason or '-'}", headers)
        return [body]

    return answer


def _content(request: WSGIEnvironment) -> bytes:
    if "chunked" in request.get("HTTP_TRANSFER_ENCODING", ""):
        return bytes(request["wsgi.input"].read())
    return bytes(request["wsgi.input"].read(int(request.get("CONTENT_LENGTH") or 0)))


def _headers(request: WSGIEnvironment) -> Iterator[tuple[str, str]]:
    yield from (each for each in request[_SENT] if each[0].lower() not in _OF_REQUEST)


class _Faults:
    """Answers requests as storage does, records them, and lets those fail for which `fail` was called."""

    def __init__(self, storage: WSGIApplication) -> None:
        self._answer = storage
        self._asked: list[tuple[str, str]] = []
        self._faults: list[dict[str, Any]] = []
        self._each: dict[str, Any] | None = None
        self._met: set[tuple[str, ...]] = set()
        self._failed = self._number = 0
        self._lock = threading.Lock()

    def __call__(self, request: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        method, path = request["REQUEST_METHOD"], request["PATH_INFO"]
        if path.startswith(_CONTROL):
            said = json.loads(request["wsgi.input"].read(int(request["CONTENT_LENGTH"])))
            start("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(self._controlled(path.removeprefix(_CONTROL), said)).encode()]
        with self._lock:
            self._asked.append((method, path))
            late = [fault["part"] for fault in self._faults if fault["code"] == LATE]
            code = self._fault(method, _key(request)) or self._first_time(request)
        if late and method == "GET" and _is_listing(request):
            return self._without(late, request, start)
        if code is None:
            return self._answer(request, start)
        if code == SLOW:
            time.sleep(SECONDS)
            return self._answer(request, start)
        if code == CUT_INSIDE:
            return self._half(request, start)
        if code in (CUT, CUT_AFTER):
            self._cut(request, is_done=code == CUT_AFTER)
        request["wsgi.input"].read(int(request.get("CONTENT_LENGTH") or 0))
        start(_STATUS[code], [("Content-Type", "application/xml"), ("x-ms-error-code", code)])
        return [_ERROR.format(code, path).encode()]

    def _cut(self, request: WSGIEnvironment, *, is_done: bool) -> None:
        if is_done:
            list(self._answer(request, lambda *_: print))
        request["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        raise ConnectionAbortedError

    def _half(self, request: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Answer with half of the body, and end the connection."""
        said: list[Any] = []
        body = b"".join(self._answer(request, lambda *head: said.append(head)))  # type: ignore[func-returns-value, arg-type, return-value]
        status, headers = said[0][:2]
        others = [(name, value) for name, value in headers if name.lower() != "content-length"]
        start(status, [*others, ("Content-Length", str(len(body)))])
        yield body[: len(body) // 2]
        if body:
            request["werkzeug.socket"].shutdown(socket.SHUT_RDWR)

    def _without(self, parts: list[str], request: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Answer a listing without the keys that have one of these parts."""
        said: list[Any] = []
        whole = b"".join(self._answer(request, lambda *head: said.append(head)))  # type: ignore[func-returns-value, arg-type, return-value]
        body = _less(whole, lambda entry: any(part in entry for part in parts))
        with self._lock:
            self._failed += body != whole
        status, headers = said[0][:2]
        others = [(name, value) for name, value in headers if name.lower() != "content-length"]
        start(status, [*others, ("Content-Length", str(len(body)))])
        return [body]

    def _controlled(self, what: str, said: Any) -> Any:
        with self._lock:
            if what == "fault":
                self._faults.append(said)
                return None
            if what == "each":
                self._each, self._number = said, 0
                self._met.clear()
                return None
            if what == "mend":
                self._faults.clear()
                self._each = None
                failed, self._failed = self._failed, 0
                return failed
            asked, self._asked = self._asked, []
            return asked

    def _first_time(self, request: WSGIEnvironment) -> str | None:
        """Return the fault of a request that is to fail, as it was not made before."""
        if self._each is None:
            return None
        asked = tuple(
            str(request.get(name)) for name in ("REQUEST_METHOD", "PATH_INFO", "QUERY_STRING", "HTTP_RANGE")
        )
        has_body = request["REQUEST_METHOD"] == "GET"
        if asked in self._met or (self._each["code"] == CUT_INSIDE and not has_body):
            return None
        self._met.add(asked)
        self._number += 1
        if (self._number - 1) % self._each["every"] != self._each["first"]:
            return None
        self._failed += 1
        code: str = self._each["code"]
        return code

    def _fault(self, method: str, key: str) -> str | None:
        for fault in self._faults:
            if (
                fault["code"] != LATE
                and fault["times"]
                and fault["method"] in ("", method)
                and fault["part"] in key
            ):
                fault["times"] -= 1
                self._failed += 1
                code: str = fault["code"]
                return code
        return None


def _key(request: WSGIEnvironment) -> str:
    """Return what a request is about: its path, or the name that Google's uploads have behind it."""
    return "/".join((request["PATH_INFO"], *parse_qs(request["QUERY_STRING"]).get("name", ())))


def _is_listing(request: WSGIEnvironment) -> bool:
    return any(sign in f"{request['PATH_INFO']}?{request['QUERY_STRING']}" for sign in _LISTS)


def _less(listing: bytes, is_left_out: Callable[[str], bool]) -> bytes:
    """Return a listing without the entries that are left out, in S3's, Azure's or Google's form."""
    if listing.startswith(b"{"):
        said = json.loads(listing)
        said["items"] = [each for each in said.get("items", ()) if not is_left_out(each["name"])]
        return json.dumps(said).encode()
    return _ENTRY.sub(lambda found: b"" if is_left_out(unquote(found[0].decode())) else found[0], listing)
