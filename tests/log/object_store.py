"""S3 on 127.0.0.1: moto's server, which counts what it is asked and fails on request."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.request import Request, urlopen

from pyarrow import fs

from tests.log.environment import environment
from tests.log.faults import FaultyStore, serve, started

SECRET: Final = "s3cr3t-0f-th1s-t3st"
BUCKET: Final = "evidence"
ROOT: Final = f"s3://{BUCKET}"


class ObjectStore(FaultyStore):
    """A running server of S3."""

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

    def put(self, key: str, content: bytes) -> str:
        """Put an object by one request, and return its URI. The key may be one that Arrow does not accept."""
        # Without an authorization, which nobody checks, nothing that is there may be written anew.
        headers = {"Content-Type": "application/octet-stream", "Authorization": "AWS offsets:unchecked"}
        with urlopen(Request(f"{self.url}/{BUCKET}/{key}", content, headers, method="PUT")):
            return f"{ROOT}/{key}"


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Start a server with an empty bucket, whose environment is set in this process meanwhile."""
    with started("tests.log.object_store") as url:
        store = ObjectStore(url, ROOT)
        with environment(store.environment()):
            store.system().create_dir(BUCKET)
            yield store


def _serve() -> None:
    from moto.server import create_backend_app

    serve(create_backend_app("s3"))


if __name__ == "__main__":
    _serve()
