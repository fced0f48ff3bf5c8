"""Buckets and containers of object storage as Arrow's file systems, each made once, with the environment's credentials.

Knows of a URI only its scheme, its bucket and its key.
"""

import os
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, NamedTuple

from offsets_tool.log.refusals import refusals_of

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

_ATTEMPTS: Final = 8
"""How often S3 is asked before a request counts as failed: half a minute of throttling is nothing unusual."""


class Bucket(NamedTuple):
    """A bucket or container: Arrow's file system for it, and what it calls the bucket."""

    system: "FileSystem"
    base: str

    def name(self, path: PurePath) -> str:
        """Return the name of a path in the bucket's file system."""
        return "/".join(filter(None, (self.base, *path.parts[2:])))

    def below(self, path: PurePath, *, is_deep: bool) -> "list[FileInfo]":
        """Return the entries of a folder, with `is_deep` those of all folders below it too; none if there is no such folder."""
        from pyarrow import fs  # noqa: PLC0415

        asked = fs.FileSelector(self.name(path), recursive=is_deep, allow_not_found=True)
        with refusals_of(path):
            found: list[FileInfo] = self.system.get_file_info(asked)
        return found


def bucket_of(path: PurePath) -> Bucket:
    """Return the bucket of a path in storage; a SourceError or SetupError, as `refusals_of` raises, if it cannot be opened."""
    with refusals_of(path):
        return _bucket(path.parts[0].removesuffix(":"), path.parts[1])


def s3_endpoint() -> str | None:
    """Return the address of S3-compatible storage that the environment names; None if it names none."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")


@lru_cache(maxsize=16)
def _bucket(scheme: str, authority: str) -> Bucket:
    from pyarrow import fs  # noqa: PLC0415 - for object storage alone

    if scheme != "s3":
        return Bucket(*fs.FileSystem.from_uri(f"{scheme}://{authority}"))
    endpoint = s3_endpoint()
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not endpoint and not region:
        region = fs.resolve_s3_region(authority)
    retries = fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS)
    return Bucket(
        fs.S3FileSystem(endpoint_override=endpoint, region=region, retry_strategy=retries), authority
    )
