"""Translates errors of object storage and Hadoop into one sentence with a remedy, without any key, token or request id.

It goes by the words of Arrow's file systems for S3, Google's and Azure's storage, whose errors have no types, and of clients of
Hadoop. Opens nothing.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Final, NamedTuple, TypeVar

from offsets_tool.errors import OffsetsToolError, SetupError, SourceError

T = TypeVar("T")

CREDENTIALS: Final = {
    "s3": "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth application-default login",
    "abfs": "AZURE_STORAGE_ACCOUNT_KEY, or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or az login",
    "hdfs": "HADOOP_USER_NAME, or kinit, with HADOOP_CONF_DIR",
}
"""How each kind of storage is given credentials, by its scheme."""
ENDPOINTS: Final = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "gs": ("STORAGE_EMULATOR_HOST",),
    "abfs": ("AZURE_STORAGE_ENDPOINT",),
    "hdfs": (),
}
"""Variables that name other storage than the provider's own, by scheme: the first one set counts, users are told of the last."""


def credentials_of(scheme: str) -> str:
    """Return how storage of a scheme is given credentials; of a scheme that is not known here, as Hadoop is."""
    return CREDENTIALS.get(scheme, CREDENTIALS["hdfs"])


class _Refusal(NamedTuple):
    """The words of an error, their meaning, and whether it is about one path only, so that other paths can be read."""

    words: re.Pattern[str]
    meaning: str
    is_of_path: bool = False


def _refusal(words: str, meaning: str, *, is_of_path: bool = False) -> _Refusal:
    return _Refusal(re.compile(words, re.IGNORECASE), meaning, is_of_path)


_CUT: Final = (
    r"reading a body|request or response body|decoding response body|before message length reached"
    r"|invalid list response|Error (?:getting|parsing) list response"
)
"""Words of deltalake's client of an answer that ended too early, which it does not ask for again."""
_UNANSWERED: Final = re.compile(f"flush response stream|{_CUT}", re.IGNORECASE)
_PAUSES: Final = (0.2, 0.5, 1.0, 2.0)
"""Seconds before a request is made again."""
_REFUSALS: Final = (
    _refusal(
        r"NO_SUCH_BUCKET|bucket does not exist|Bucket '.*' not found|ContainerNotFound|container does not exist",
        "there is no such bucket; check the name",
        is_of_path=True,
    ),
    _refusal(
        r"INVALID_OBJECT_STATE|InvalidObjectState|BlobArchived",
        "is archived and cannot be read as it is; restore it first",
        is_of_path=True,
    ),
    _refusal(
        # What Arrow makes of an error that is longer than the bytes that were asked for, each time that they were.
        r"flush response stream",
        "the storage does not give its bytes; run the same command again, and see whether it is archived, or may be read",
        is_of_path=True,
    ),
    _refusal(_CUT, "the storage did not finish an answer; run the same command again"),
    _refusal(
        r"EXPIRED_?TOKEN|TokenRefreshRequired|REQUEST_EXPIRED|token.{0,20}expired",
        "the credentials have expired; renew them: {credentials}",
    ),
    _refusal(
        r"GSSAPI|SASL|INVALID_ACCESS_KEY|INVALID_CLIENT_TOKEN|SIGNATURE_DOES_NOT_MATCH|UNRECOGNIZED_CLIENT|MISSING_AUTHENTICATION"
        r"|AuthenticationFailed|failed to authenticate|Base64|HTTP status 401|\b401 Unauthorized",
        "the credentials are not accepted; check {credentials}",
    ),
    _refusal(
        r"Could not (?:find|load|create).{0,40}credential|CredentialUnavailable|no credentials|DefaultAzureCredential"
        r"|failed to (?:get|obtain).{0,40}token",
        "no credentials are found; set {credentials}",
    ),
    _refusal(
        r"ACCESS_DENIED|HTTP status 403|\b403\b|Forbidden|PERMISSION[_ ]?DENIED|AuthorizationPermissionMismatch",
        "access is denied, or it is archived; use credentials that may list and read it: {credentials}",
        is_of_path=True,
    ),
    _refusal(
        r"No AbstractFileSystem configured",
        "can be read, but not written: let HADOOP_CONF_DIR name its class for fs.AbstractFileSystem.SCHEME.impl, as its makers say",
    ),
    _refusal(
        r"No FileSystem for scheme",
        "is of a scheme that Hadoop's settings do not know; check it, or name its jars in HADOOP_CLASSPATH and its settings in "
        "HADOOP_CONF_DIR",
        is_of_path=True,
    ),
    _refusal(r"QuotaExceeded", "its quota is used up; make room in the folder, or have the quota raised"),
    _refusal(
        r"safe ?mode",
        "the name node is in safe mode and lets nobody write; run the same command again when it has left it",
    ),
    _refusal(
        r"PERMANENT_REDIRECT|HTTP status 301|AuthorizationHeaderMalformed",
        "the bucket is in another region; set AWS_REGION",
    ),
    _refusal(
        r"SLOW_DOWN|THROTTL|HTTP status (?:429|503)|SERVICE_UNAVAILABLE|TooManyRequests",
        "the storage has no capacity for more requests at the moment; run the same command again",
    ),
    _refusal(
        r"INTERNAL_FAILURE|HTTP status 5\d\d", "the storage failed to answer; run the same command again"
    ),
    _refusal(
        r"NETWORK_CONNECTION|curlCode|resolve host|connect|No NameNode|timed? ?out|REQUEST_TIMEOUT|UNAVAILABLE",
        "cannot be reached; check the network{endpoint}, and run the same command again",
    ),
)
_JAVA_CLASS: Final = re.compile(r"^(?:\[Errno \d+\] )?(?:[a-z]\w*\.)+\w+: ")
_SECRET: Final = re.compile(
    r"(//[^/@\s:]+:|(?:sig|token|password|secret|key)[^=\s&]*=)[^&@\s]+", re.IGNORECASE
)
_CODE: Final = re.compile(r"AWS Error (\w+)|HTTP status (\d{3})|\.(\w+Exception)")


def refusal(path: str, error: Exception) -> OffsetsToolError:
    """Return an error of storage as one of ours: a SourceError if it is about this path only, else a SetupError."""
    words = str(error)
    if (known := meant_refusal(path, words)) is not None:
        return known
    if path.partition(":")[0] not in CREDENTIALS:
        # Of a file system of Hadoop's nobody knows all words.
        said = _SECRET.sub(
            r"\1...", _JAVA_CLASS.sub("", next(iter(words.splitlines()), type(error).__name__))
        )
        return SetupError(f"{path}: {said}; see to it, or to HADOOP_CONF_DIR, and run the same command again")
    code = _CODE.search(words)
    shown = next(filter(None, code.groups())) if code else type(error).__name__
    return SetupError(f"{path}: the storage failed ({shown}); run the same command again")


def meant_refusal(path: str, words: str) -> OffsetsToolError | None:
    """Return the error that the words of another program's error mean: a SourceError or SetupError; None for unknown words."""
    scheme = path.partition(":")[0]
    for each in _REFUSALS:
        if each.words.search(words):
            reason = each.meaning.format(
                credentials=credentials_of(scheme),
                endpoint="".join(f" and {name}" for name in ENDPOINTS.get(scheme, ())[-1:]),
            )
            return SourceError(path, reason) if each.is_of_path else SetupError(f"{path}: {reason}")
    return None


def answer_of(request: Callable[[], T]) -> T:
    """Return what a request to storage answers; make it again where clients do not, though the fault may pass.

    They do so after errors, but for an error in the place of few bytes (Arrow) and an answer that is cut off (deltalake). The
    request must be one that may be made twice.
    """
    for pause in _PAUSES:
        try:
            return request()
        except _raised_by_storage() as error:
            if not is_unanswered(error):
                raise
            time.sleep(pause)
    return request()


def is_unanswered(error: Exception) -> bool:
    """Return whether an error says that storage did not finish its answer: nobody knows whether it did what it was asked for."""
    return _UNANSWERED.search(str(error)) is not None


def _raised_by_storage() -> tuple[type[Exception], ...]:
    """Return the classes of errors of storage; clients have some of their own, which nothing raises before they are loaded."""
    theirs = (
        ("pyarrow", "ArrowException"),
        ("deltalake.exceptions", "DeltaError"),
        ("obstore.exceptions", "BaseError"),
    )
    loaded = ((sys.modules[module], name) for module, name in theirs if module in sys.modules)
    return (OSError, ValueError, NotImplementedError, *(getattr(module, name) for module, name in loaded))


@contextmanager
def refusals_of(path: PurePath) -> Iterator[None]:
    """Turn errors of storage inside of a `with` block into SourceErrors and SetupErrors, but for a FileNotFoundError.

    Errors of a path on disk stay as they are.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except _raised_by_storage() as error:
        if "://" not in str(path):
            raise
        raise refusal(str(path), error) from None
