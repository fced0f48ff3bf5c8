"""Buckets of object storage and file systems of Hadoop as Arrow's: each made once, with the environment's credentials.

Knows of a URI only its scheme, its bucket and its key.
"""

import os
from datetime import timedelta
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from offsets_tool.errors import SetupError
from offsets_tool.log.refusals import ENDPOINTS, refusals_of

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

_ATTEMPTS: Final = 8
"""How often S3 is asked before a request counts as failed: half a minute of throttling is nothing unusual."""
_PATIENCE: Final = timedelta(minutes=1)
"""How long Google's storage is asked before a request counts as failed; unasked, its client would try for 15 minutes."""


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


def endpoint_of(scheme: str) -> str | None:
    """Return the address that the environment names for storage of a scheme (s3, gs, abfs); None for the provider's own."""
    named = (os.environ.get(name) for name in ENDPOINTS.get(scheme, ()))
    return next(filter(None, named), None)


@lru_cache(maxsize=16)
def _bucket(scheme: str, authority: str) -> Bucket:
    known = {"s3": _of_s3, "gs": _of_google, "abfs": _of_azure, "hdfs": _of_hdfs}.get(scheme)
    return known(authority) if known else _of_hadoop(scheme, authority)


def _of_s3(authority: str) -> Bucket:
    from pyarrow import fs  # noqa: PLC0415 - for object storage alone

    endpoint = endpoint_of("s3")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not endpoint and not region:
        region = fs.resolve_s3_region(authority)
    retries = fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS)
    system = fs.S3FileSystem(
        endpoint_override=endpoint,
        region=region,
        retry_strategy=retries,
        # A small file is then put by one request, and not by three.
        allow_delayed_open=True,
    )
    return Bucket(system, authority)


def _of_google(authority: str) -> Bucket:
    from pyarrow import fs  # noqa: PLC0415

    endpoint = endpoint_of("gs")
    if endpoint is None:
        return Bucket(fs.GcsFileSystem(retry_time_limit=_PATIENCE), authority)
    # Whoever stands in for Google knows none of its accounts.
    scheme, _, host = endpoint.rpartition("://")
    system = fs.GcsFileSystem(
        anonymous=True, scheme=scheme or "http", endpoint_override=host, retry_time_limit=_PATIENCE
    )
    return Bucket(system, authority)


def _of_azure(authority: str) -> Bucket:
    """Open a container, which a URI has before the @; its account is the first word of the host."""
    from pyarrow import fs  # noqa: PLC0415

    container, _, host = authority.rpartition("@")
    account, _, domain = host.partition(".")
    hosts = {"blob_storage_authority": ".blob." + domain.removeprefix("dfs.").removeprefix("blob.")}
    hosts["dfs_storage_authority"] = hosts["blob_storage_authority"].replace(".blob.", ".dfs.", 1)
    if endpoint := endpoint_of("abfs"):
        there = urlsplit(endpoint)
        hosts = {f"{kind}_storage_authority": there.netloc for kind in ("blob", "dfs")}
        hosts |= {f"{kind}_storage_scheme": there.scheme for kind in ("blob", "dfs")}
    key, token = (os.environ.get(name) for name in ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN"))
    token = None if key else token  # Arrow takes one of them
    return Bucket(fs.AzureFileSystem(account, account_key=key, sas_token=token, **hosts), container)


def _of_hdfs(authority: str) -> Bucket:
    try:
        from offsets_tool.log.hadoop.native import hdfs  # noqa: PLC0415 - of an extra
    except ImportError as error:
        raise SetupError(
            f"hdfs://{authority} is read by hdfs-native, which is not installed: pip install 'offsets-tool[hdfs]'"
        ) from error
    return Bucket(hdfs(authority), "")


def _of_hadoop(scheme: str, authority: str) -> Bucket:
    try:
        from offsets_tool.log.hadoop.jvm import hadoop  # noqa: PLC0415 - of an extra
    except ImportError as error:
        raise SetupError(
            f"{scheme}://{authority} is read by Hadoop's classes in a JVM, which needs JPype: pip install 'offsets-tool[hadoop]'; "
            "s3://, gs://, abfs://, hdfs:// and file:// are read without, as are plain paths"
        ) from error
    return Bucket(hadoop(scheme, authority), "")
