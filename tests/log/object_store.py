"""A server of object storage on 127.0.0.1 (moto's S3), which counts what it is asked and fails as it is told."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from wsgiref.types import StartResponse, WSGIEnvironment

from moto.server import create_backend_app
from pyarrow import fs
from werkzeug.serving import WSGIRequestHandler, make_server

SECRET: Final = "s3cr3t-0f-th1s-t3st"
BUCKET: Final = "evidence"
Fault = Callable[[WSGIEnvironment], str | None]
"""Given a request, the code of S3's error that answers it, CUT to end the connection, or None to let it pass."""
CUT: Final = "cut"
_STATUS: Final = {
    "AccessDenied": "403 Forbidden",
    "InvalidAccessKeyId": "403 Forbidden",
    "SlowDown": "503 Slow Down",
    "InternalError": "500 Internal Server Error",
    "InvalidObjectState": "403 Forbidden",
}
_ERROR: Final = "<?xml version='1.0'?><Error><Code>{0}</Code><Message>{0} of {1}</Message></Error>"


@dataclass
class ObjectStore:
    """The server: its address, what it was asked, and the faults that it asks in turn before it answers."""

    url: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Method and path of each request."""
    faults: list[Fault] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to use it."""
        return {
            "AWS_ACCESS_KEY_ID": "offsets",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
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
            allow_bucket_deletion=True,
        )

    def upload(self, folder: Path, key: str, bucket: str = BUCKET) -> str:
        """Copy a folder of this machine, and return its URI."""
        system = self.system()
        system.create_dir(f"{bucket}/{key}")
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{key}/{path.relative_to(folder).as_posix()}", path.read_bytes(), bucket)
        return f"s3://{bucket}/{key}"

    def put(self, key: str, content: bytes, bucket: str = BUCKET) -> str:
        with self.system().open_output_stream(f"{bucket}/{key}", compression=None) as stream:
            stream.write(content)
        return f"s3://{bucket}/{key}"

    def counts(self) -> Counter[str]:
        """How many requests of each method there were since the last time that somebody asked."""
        counted = Counter(method for method, _ in self.asked)
        self.asked.clear()
        return counted


def failing(code: str, *, times: int, method: str = "", part: str = "") -> Fault:
    """The first `times` requests of a method, with `part` in their path, fail."""
    left = [times]
    lock = threading.Lock()

    def fault(request: WSGIEnvironment) -> str | None:
        with lock:
            if (
                method not in ("", request["REQUEST_METHOD"])
                or part not in request["PATH_INFO"]
                or not left[0]
            ):
                return None
            left[0] -= 1
            return code

    return fault


class _Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing: what is asked is counted."""


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Start a server with an empty bucket, whose environment is set in this process meanwhile."""
    store, answer = ObjectStore(), create_backend_app("s3")

    def app(request: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        store.asked.append((request["REQUEST_METHOD"], request["PATH_INFO"]))
        code = next(filter(None, (fault(request) for fault in store.faults)), None)
        if code is None:
            return answer(request, start)  # type: ignore[no-any-return]
        if code == CUT:
            request["werkzeug.socket"].close()
            raise ConnectionAbortedError
        start(_STATUS[code], [("Content-Type", "application/xml")])
        return [_ERROR.format(code, request["PATH_INFO"]).encode()]

    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    store.url = f"http://127.0.0.1:{server.server_port}"
    before = dict(os.environ)
    os.environ.update(store.environment())
    try:
        store.system().create_dir(BUCKET)
        yield store
    finally:
        os.environ.clear()
        os.environ.update(before)
        server.shutdown()
        server.server_close()
        thread.join()
