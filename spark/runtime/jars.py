"""Fetch jars from a Maven repository once, verify their SHA-256, and keep them for all later sessions.

The resolver is Ivy, which Spark brings, run with settings of our own: Spark's look into the user's local Maven repository
first, and a POM there without its jar would break the download for good. A set of jars counts as fetched when its list
is there, and the list is written last: whatever interrupts a download, the next run begins it again.
Knows no session: who wants jars names a JarSet.
"""

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from offsets_tool.errors import SetupError
from spark.runtime.java import java


class JarSet(NamedTuple):
    """Jars to fetch together, each as `group:artifact:version`.

    `transitive` adds their dependencies, without `excludes` (`group:artifact`, `*` allowed).
    """

    name: str
    coordinates: tuple[str, ...]
    is_transitive: bool = False
    excludes: tuple[str, ...] = ()

    @property
    def list_name(self) -> str:
        """The name of the file that lists the set's jars once they are there; another request has another name."""
        return f"{self.name}-{hashlib.sha256(repr(self).encode()).hexdigest()[:8]}.txt"


DELTA = JarSet("delta-4.4.0", ("io.delta:delta-spark_4.2_2.13:4.4.0", "io.delta:delta-storage:4.4.0"))
"""The jars that Delta needs beyond Spark's own. The others in its POM are there already, or older than Spark's."""

DIGESTS: Mapping[str, str] = {
    "io.delta.delta-spark_4.2_2.13-4.4.0.jar": "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    "io.delta.delta-storage-4.4.0.jar": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
}
"""SHA-256 of DELTA's jars, by the names that they have here. (Those of their checksums that the repository publishes are SHA-1.)"""

REFUSED = ".refused"
"""The ending of the name of a jar that was refused and set aside."""

QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of a JVM that lives for seconds: it takes half the CPU time with them."""

ATTEMPTS = 2
"""One dropped connection among a hundred is common, and the second attempt goes on where the first stopped."""

COMPLAINTS = (
    r"(Host \S+ not found)",
    r"\((?:[\w.]+\.)?(\w+Exception: [^)\n]+)\)",
    r"(\S+#\S+;\S+: not found)",
)


def cache() -> Path:
    """Return the folder of downloads.

    It is $OFFSETS_TOOL_CACHE, else `.cache` in the project, else (installed as a wheel) in the user's cache.
    """
    if chosen := os.environ.get("OFFSETS_TOOL_CACHE"):
        return Path(chosen).absolute()
    project = Path(__file__).resolve().parents[2]
    if (project / "pyproject.toml").is_file():
        return project / ".cache"
    return Path.home() / ".cache" / "offsets-tool"


def jars(wanted: JarSet, digests: Mapping[str, str] = DIGESTS) -> list[Path]:
    """Return the paths of a set's jars, which are fetched if they are not there.

    `digests` has the SHA-256 of each by name; a jar without one is refused. SetupError says what is wrong and what to do.
    """
    pool = cache() / "jars"
    found = _listed(pool, wanted)
    for jar in found:
        if refusal := _why_refused(jar, digests):
            _set_aside(jar)
            raise SetupError(
                f"{jar} {refusal}: it was not loaded, and set aside as {jar.name}{REFUSED}. "
                "Run the same command again to fetch it anew."
            )
    return found or _fetch(pool, wanted, digests)


def sha256_of(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file. Raises OSError."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _set_aside(jar: Path) -> None:
    try:
        jar.replace(jar.with_name(jar.name + REFUSED))
    except OSError as error:
        raise SetupError(
            f"{jar} is not the jar that was meant, and cannot be set aside ({error.strerror}): nothing of it was loaded. "
            "Remove it, or let OFFSETS_TOOL_CACHE name another folder."
        ) from error


def _why_refused(jar: Path, digests: Mapping[str, str]) -> str | None:
    """Return why a jar may not be loaded; None if it has the SHA-256 that is recorded for its name."""
    pinned = digests.get(jar.name)
    if pinned is None:
        return "is not among the jars whose digests are known"
    try:
        found = sha256_of(jar)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None if found == pinned else f"is not the jar that was meant (SHA-256 {found}, not {pinned})"


def _listed(pool: Path, wanted: JarSet) -> list[Path]:
    """Return the paths of a set's jars; empty if any is missing or has another size than when it was verified."""
    try:
        lines = (pool / wanted.list_name).read_text().splitlines()
        sized = [(int(size), pool / name) for size, name in (line.split(" ", 1) for line in lines)]
        complete = all(path.stat().st_size == size for size, path in sized)
    except (OSError, ValueError):
        return []
    return [path for _, path in sized] if complete else []


def _fetch(pool: Path, wanted: JarSet, digests: Mapping[str, str]) -> list[Path]:
    print(f"fetching the jars of {wanted.name} into {pool} (once)", file=sys.stderr, flush=True)
    try:
        pool.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=pool, prefix=".fetching-") as staging:
            _resolve(Path(staging), wanted)
            return _publish(Path(staging), pool, wanted, digests)
    except OSError as error:
        raise SetupError(
            f"The jars of {wanted.name} cannot be kept in {pool} ({error.strerror or error}). "
            "Let OFFSETS_TOOL_CACHE name a folder that can be written."
        ) from error


def _publish(staging: Path, pool: Path, wanted: JarSet, digests: Mapping[str, str]) -> list[Path]:
    """Verify the fetched jars, then move them into the pool, and the list of them last; return their paths there."""
    fetched = sorted((staging / "jars").glob("*.jar"))
    for jar in fetched:
        _verify(jar, digests)
    named = {"{}.{}-{}.jar".format(*coordinate.split(":")) for coordinate in wanted.coordinates}
    if missing := named - {jar.name for jar in fetched}:
        raise SetupError(
            f"The resolver brought no {min(missing)}. Run the same command again: nothing of it was kept."
        )
    listing = staging / "list"
    listing.write_text("".join(f"{jar.stat().st_size} {jar.name}\n" for jar in fetched))
    for jar in fetched:
        jar.replace(pool / jar.name)
    listing.replace(pool / wanted.list_name)
    return [pool / jar.name for jar in fetched]


def _verify(jar: Path, digests: Mapping[str, str]) -> None:
    try:
        with zipfile.ZipFile(jar) as archive:
            damaged = archive.testzip()
    except zipfile.BadZipFile:
        damaged = "its directory"
    if damaged is not None:
        raise SetupError(
            f"{jar.name} came damaged ({damaged}). Run the same command again: nothing of it was kept."
        )
    if refusal := _why_refused(jar, digests):
        raise SetupError(
            f"{jar.name} came, and {refusal}. Nothing of it was kept: check the repository it came from "
            "(DEFAULT_ARTIFACT_REPOSITORY names another)."
        )


def _resolve(staging: Path, wanted: JarSet) -> None:
    (staging / "settings.xml").write_text(_settings(staging))
    (staging / "ivy.xml").write_text(_module(wanted))
    retrieve = f"{staging}/jars/[organisation].[artifact]-[revision](-[classifier]).[ext]"
    arguments = ["-settings", f"{staging}/settings.xml", "-ivy", f"{staging}/ivy.xml", "-retrieve", retrieve]
    command = [str(java()), *QUICK, "-jar", str(_ivy()), *arguments, "-types", "jar", "bundle"]
    for _ in range(ATTEMPTS):
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode == 0:
            break
    else:
        raise SetupError(
            f"The jars of {wanted.name} could not be fetched: {_reason(ended.stdout + ended.stderr)}. Check the network and run "
            "the same command again; behind a mirror, let DEFAULT_ARTIFACT_REPOSITORY (Spark's own variable) hold its address."
        )


def _settings(staging: Path) -> str:
    """Return Ivy's settings: one resolver, and a cache for this download alone. Neither ~/.m2 nor ~/.ivy2 is read or written."""
    mirror = os.environ.get("DEFAULT_ARTIFACT_REPOSITORY")
    root = f" root={quoteattr(mirror)}" if mirror else ""
    return (
        '<ivysettings><settings defaultResolver="central"/>'
        '<timeout-constraints><timeout-constraint name="patience" connectionTimeout="20000" readTimeout="60000"/>'
        f"</timeout-constraints><caches defaultCacheDir={quoteattr(str(staging / 'ivy'))}/><resolvers>"
        f'<ibiblio name="central" m2compatible="true" timeoutConstraint="patience"{root}/></resolvers></ivysettings>'
    )


def _module(wanted: JarSet) -> str:
    dependencies = (
        f'<dependency org="{group}" name="{artifact}" rev="{version}" conf="default-&gt;default"'
        f' transitive="{str(wanted.is_transitive).lower()}"/>'
        for group, artifact, version in (coordinate.split(":") for coordinate in wanted.coordinates)
    )
    excludes = (
        f'<exclude org="{group}" module="{artifact}" matcher="regexp"/>'
        for group, artifact in (
            re.escape(pattern).replace(r"\*", ".*").split(":") for pattern in wanted.excludes
        )
    )
    return (
        '<ivy-module version="2.0"><info organisation="offsets-tool" module="jars"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{''.join(dependencies)}{''.join(excludes)}</dependencies></ivy-module>"
    )


def _ivy() -> Path:
    """Return the path of the jar of Ivy that PySpark has, without importing PySpark. SetupError if PySpark is missing."""
    spec = find_spec("pyspark")
    homes = spec.submodule_search_locations if spec else None
    found = sorted(Path(homes[0], "jars").glob("ivy-*.jar")) if homes else []
    if not found:
        raise SetupError("PySpark is not installed here. Install it: pip install 'offsets-tool[spark]'.")
    return found[-1]


def _reason(output: str) -> str:
    """Return why a download failed, in Ivy's own words: the network's complaint if there is one, else what the repository lacks."""
    found = (re.search(pattern, output) for pattern in COMPLAINTS)
    return next((match[1] for match in found if match), "the resolver does not say why")
