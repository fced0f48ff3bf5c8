"""Jars from a Maven repository: fetched once, verified, and never asked for again.

The resolver is Ivy, which Spark brings, run with settings of our own: Spark's look into the user's local Maven repository
first, and a POM there without its jar would break the download for good. A set of jars counts as fetched when its list
is there, and the list is written last: whatever interrupts a download, the next run begins it anew.
Knows no session: who wants jars names a JarSet.
"""

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from offsets_tool.errors import OffsetsToolError, SetupError
from spark.java import java


class JarSet(NamedTuple):
    """Jars that are wanted together: `group:artifact:version` each; `excludes` (`group:artifact`, `*` allowed) thin a closure."""

    name: str
    coordinates: tuple[str, ...]
    transitive: bool = False
    excludes: tuple[str, ...] = ()

    @property
    def list_name(self) -> str:
        """Changes with the request, so that no list outlives the request it answered."""
        return f"{self.name}-{hashlib.sha256(repr(self).encode()).hexdigest()[:8]}.txt"


DELTA = JarSet("delta-4.4.0", ("io.delta:delta-spark_4.2_2.13:4.4.0", "io.delta:delta-storage:4.4.0"))
"""What Delta needs beyond Spark's own jars. What its POM names besides is there already, or older than Spark's."""

QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For a JVM that lives for seconds: half the CPU time."""

ATTEMPTS = 2
"""One dropped connection among a hundred is common, and the second attempt goes on where the first stopped."""

COMPLAINTS = (
    r"(Host \S+ not found)",
    r"\((?:[\w.]+\.)?(\w+Exception: [^)\n]+)\)",
    r"(\S+#\S+;\S+: not found)",
)


def cache() -> Path:
    """Where downloads live: $OFFSETS_TOOL_CACHE, else `.cache` in the project, else (an installed wheel) the user's cache."""
    if chosen := os.environ.get("OFFSETS_TOOL_CACHE"):
        return Path(chosen).absolute()
    project = Path(__file__).resolve().parent.parent
    if (project / "pyproject.toml").is_file():
        return project / ".cache"
    return Path.home() / ".cache" / "offsets-tool"


def jars(wanted: JarSet) -> list[Path]:
    """The paths of a set's jars, fetched if they are not there. SetupError says what stood in the way and the remedy."""
    pool = cache() / "jars"
    return _listed(pool, wanted) or _fetch(pool, wanted)


def _listed(pool: Path, wanted: JarSet) -> list[Path]:
    """The jars of a complete set; nothing if any is missing or has another size than when it was verified."""
    try:
        lines = (pool / wanted.list_name).read_text().splitlines()
        sized = [(int(size), pool / name) for size, name in (line.split(" ", 1) for line in lines)]
        complete = all(path.stat().st_size == size for size, path in sized)
    except (OSError, ValueError):
        return []
    return [path for _, path in sized] if complete else []


def _fetch(pool: Path, wanted: JarSet) -> list[Path]:
    print(f"fetching the jars of {wanted.name} into {pool} (once)", file=sys.stderr, flush=True)
    try:
        pool.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=pool, prefix=".fetching-") as staging:
            _resolve(Path(staging), wanted)
            return _publish(Path(staging), pool, wanted)
    except OSError as error:
        raise SetupError(
            f"The jars of {wanted.name} cannot be kept in {pool} ({error.strerror or error}). "
            "Let OFFSETS_TOOL_CACHE name a folder that can be written."
        ) from error


def _publish(staging: Path, pool: Path, wanted: JarSet) -> list[Path]:
    """Verifies, then moves jar by jar into the pool, and the list of them last."""
    fetched = sorted((staging / "jars").glob("*.jar"))
    for jar in fetched:
        _verify(jar)
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


def _verify(jar: Path) -> None:
    try:
        with zipfile.ZipFile(jar) as archive:
            damaged = archive.testzip()
    except zipfile.BadZipFile:
        damaged = "its directory"
    if damaged is not None:
        raise SetupError(
            f"{jar.name} came damaged ({damaged}). Run the same command again: nothing of it was kept."
        )


def _resolve(staging: Path, wanted: JarSet) -> None:
    (staging / "settings.xml").write_text(_settings(staging))
    (staging / "ivy.xml").write_text(_module(wanted))
    retrieve = f"{staging}/jars/[organisation].[artifact]-[revision](-[classifier]).[ext]"
    told_to = ["-settings", f"{staging}/settings.xml", "-ivy", f"{staging}/ivy.xml", "-retrieve", retrieve]
    command = [str(java()), *QUICK, "-jar", str(_ivy()), *told_to, "-types", "jar", "bundle"]
    for _ in range(ATTEMPTS):
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        if told.returncode == 0:
            break
    else:
        raise SetupError(
            f"The jars of {wanted.name} could not be fetched: {_reason(told.stdout + told.stderr)}. Check the network and run "
            "the same command again; behind a mirror, let DEFAULT_ARTIFACT_REPOSITORY (Spark's own variable) hold its address."
        )


def _settings(staging: Path) -> str:
    """One resolver and a cache that lives as long as this download: neither ~/.m2 nor ~/.ivy2 is read or written."""
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
        f' transitive="{str(wanted.transitive).lower()}"/>'
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
    """PySpark's Ivy, found without importing PySpark."""
    spec = find_spec("pyspark")
    homes = spec.submodule_search_locations if spec else None
    found = sorted(Path(homes[0], "jars").glob("ivy-*.jar")) if homes else []
    if not found:
        raise SetupError("PySpark is not installed here. Install it: pip install 'offsets-tool[spark]'.")
    return found[-1]


def _reason(output: str) -> str:
    """What went wrong, in Ivy's own words: the network's complaint if there is one, else what the repository lacks."""
    told = (re.search(pattern, output) for pattern in COMPLAINTS)
    return next((match[1] for match in told if match), "the resolver does not say why")


def main() -> int:
    """Fetches what a session needs, ahead of the first one."""
    try:
        jars(DELTA)
    except OffsetsToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
