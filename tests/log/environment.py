"""What a server of storage needs of this process: its variables, for a while, and a port that nobody uses."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from offsets_tool.log import buckets


@contextmanager
def environment(given: Mapping[str, str]) -> Iterator[None]:
    """Set variables inside of a `with` block, for which all buckets are opened anew."""
    before = dict(os.environ)
    buckets._bucket.cache_clear()
    os.environ.update(given)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        buckets._bucket.cache_clear()


def unused_port() -> int:
    """Return a port of 127.0.0.1 that was free just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
