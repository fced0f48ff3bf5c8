"""Buckets of object storage and file systems of Hadoop as Arrow's: each made once, with the environment's credentials.

Arrow has no request that puts an object only where there is none, by which logs are committed to: those are obstore's.
Knows of a URI only its scheme, its bucket and its key.
"""

import json
import os
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from offsets_tool.errors import SetupError
from offsets_tool.log.refusals import ENDPOINTS, refusals_of

if TYPE_CHECKING:
    from obstore.store import ObjectStore
    from pyarrow.fs import FileInfo, FileSystem

_ATTEMPTS: Final = 8
"""How often S3 is asked before a request counts as failed: half a minute of throttling is nothing unusual."""
_PATIENCE: Final = timedelta(minutes=1)
"""How long Google's storage is asked before a request counts as failed; unasked, its client would try for 15 minutes."""


@dataclass(frozen=True)
class Bucket:
    """A bucket or container: Arrow's file system for it, what it calls the bucket, and the bucket's URI."""

    system: "FileSystem"
    base: str
    uri: str

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

    def put_new(self, path: PurePath, data: bytes) -> bool:
        """Put an object under a key that nobody has, by one request; return False, and do nothing, where somebody has it."""
        import obstore  # noqa: PLC0415 - of an extra
        from obstore.exceptions import AlreadyExistsError  # noqa: PLC0415

        try:
            obstore.put(self._putting, "/".join(path.parts[2:]), data, mode="create")
        except AlreadyExistsError:
            return False
        return True

    @cached_property
    def _putting(self) -> "ObjectStore":
        from obstore.store import from_url  # noqa: PLC0415

        options: Any = client_options(self)
        is_http_allowed = bool(options.pop("allow_http", ""))
        return from_url(
            self.uri,
            config=options,
            client_options={"allow_http": is_http_allowed},
            credential_provider=_session_of(self.uri),
        )


def client_options(bucket: Bucket) -> dict[str, str]:
    """Return the options of storage, such as endpoints, that deltalake and obstore do not find by themselves."""
    scheme = bucket.uri.partition(":")[0]
    options = {"aws_region": bucket.system.region} if scheme == "s3" else {}
    endpoint = endpoint_of(scheme)
    return options | ({**_to_endpoint(scheme, endpoint), "allow_http": "true"} if endpoint else {})


def _to_endpoint(scheme: str, endpoint: str) -> dict[str, str]:
    if scheme != "gs":
        return {{"s3": "aws_endpoint", "abfs": "azure_storage_endpoint"}[scheme]: endpoint}
    # These clients take Google's address, and that nobody is to be asked for a token, from an account alone.
    url = endpoint if "://" in endpoint else f"http://{endpoint}"
    account = {"gcs_base_url": url, "disable_oauth": True} | dict.fromkeys(
        ("client_email", "private_key", "private_key_id"), ""
    )
    return {"google_service_account_key": json.dumps(account)}


def _session_of(uri: str) -> Any:
    """Return what gives obstore the credentials of a profile, which it does not look for; None where keys are given."""
    if not uri.startswith("s3:") or os.environ.get("AWS_ACCESS_KEY_ID"):
        return None
    from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415

    return Boto3CredentialProvider()


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
    return Bucket(system, authority, f"s3://{authority}")


def _of_google(authority: str) -> Bucket:
    from pyarrow import fs  # noqa: PLC0415

    endpoint = endpoint_of("gs")
    if endpoint is None:
        return Bucket(fs.GcsFileSystem(retry_time_limit=_PATIENCE), authority, f"gs://{authority}")
    # Whoever stands in for Google knows none of its accounts.
    scheme, _, host = endpoint.rpartition("://")
    system = fs.GcsFileSystem(
        anonymous=True, scheme=scheme or "http", endpoint_override=host, retry_time_limit=_PATIENCE
    )
    return Bucket(system, authority, f"gs://{authority}")


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
    system = fs.AzureFileSystem(account, account_key=key, sas_token=token, **hosts)
    return Bucket(system, container, f"abfs://{authority}")


def _of_hdfs(authority: str) -> Bucket:
    try:
        from offsets_tool.log.hadoop.native import hdfs  # noqa: PLC0415 - of an extra
    except ImportError as error:
        raise SetupError(
            f"hdfs://{authority} is read by hdfs-native, which is not installed: pip install 'offsets-tool[hdfs]'"
        ) from error
    return Bucket(hdfs(authority), "", f"hdfs://{authority}")


def _of_hadoop(scheme: str, authority: str) -> Bucket:
    try:
        from offsets_tool.log.hadoop.jvm import hadoop  # noqa: PLC0415 - of an extra
    except ImportError as error:
        raise SetupError(
            f"{scheme}://{authority} is read by Hadoop's classes in a JVM, which needs JPype: pip install 'offsets-tool[hadoop]'; "
            "s3://, gs://, abfs://, hdfs:// and file:// are read without, as are plain paths"
        ) from error
    return Bucket(hadoop(scheme, authority), "", f"{scheme}://{authority}")
