"""Azure's blob storage on 127.0.0.1: Azurite, Microsoft's stand-in, which npm fetches into the cache, in a pinned version.

Only `make deep` fetches it, once, and uses it: it takes 366 MB, and minutes where the network is slow.

Knows nothing of logs and lakes.
"""

import base64
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from pyarrow import fs

from spark.runtime.jars import cache
from tests.depth import DEEP
from tests.log.environment import environment, unused_port
from tests.log.faults import FaultyStore, forwarding, serve, started

AZURITE: Final = "azurite@3.37.0"
"""The first that lists from a name on, as deltalake asks; it asks for Node 22, and runs on 20."""
ACCOUNT: Final = "offsets"
CONTAINER: Final = "evidence"
ROOT: Final = f"abfs://{CONTAINER}@{ACCOUNT}.dfs.core.windows.net"
_PROGRAM: Final = "node_modules/azurite/dist/src/blob/main.js"


def azurite() -> Path:
    """Return Azurite's program for blobs; skip the test where Node is not there to run it, or npm to fetch it."""
    folder = cache() / AZURITE.replace("@", "-")
    if not shutil.which("node"):
        pytest.skip("Node is not installed, which runs Azurite: apt-get install nodejs npm")
    if not (folder / _PROGRAM).is_file():
        if not DEEP:
            pytest.skip("Azurite is not there: make deep fetches it")
        if not shutil.which("npm"):
            pytest.skip("npm is not installed, which fetches Azurite: apt-get install npm")
        _fetch(folder)
    return folder / _PROGRAM


def _fetch(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as staging:
        command = (
            "npm",
            "install",
            "--prefix",
            staging,
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            AZURITE,
        )
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"npm could not fetch {AZURITE}: {done.stderr.strip().splitlines()[-1:]}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (Path(staging) / "node_modules").rename(folder / "node_modules")


@dataclass
class AzureStore(FaultyStore):
    """A running server of Azure's storage, and the key of its account."""

    key: str


@contextmanager
def azure_store() -> Iterator[AzureStore]:
    """Start Azurite with an empty container, whose environment is set in this process meanwhile."""
    key, port = base64.b64encode(secrets.token_bytes(32)).decode(), unused_port()
    quiet = ("--silent", "--disableTelemetry", "--inMemoryPersistence", "--skipApiVersionCheck")
    with environment({"AZURITE_ACCOUNTS": f"{ACCOUNT}:{key}"}), TemporaryDirectory() as folder:
        command = ("node", str(azurite()), "--blobPort", str(port), *quiet)
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        try:
            _system(key, port).create_dir(CONTAINER)
            with started("tests.log.azure_store", f"http://127.0.0.1:{port}") as url:
                given = {
                    "AZURE_STORAGE_ACCOUNT_KEY": key,
                    "AZURE_STORAGE_ENDPOINT": f"{url}/{ACCOUNT}",
                }
                with environment(given):
                    yield AzureStore(url, ROOT, key)
        finally:
            server.kill()
            server.wait()


def _system(key: str, port: int) -> fs.AzureFileSystem:
    """Return the account as a file system, once its server answers."""
    where = {f"{kind}_storage_authority": f"127.0.0.1:{port}" for kind in ("blob", "dfs")}
    where |= {f"{kind}_storage_scheme": "http" for kind in ("blob", "dfs")}
    until = time.monotonic() + 60
    while True:
        system = fs.AzureFileSystem(ACCOUNT, account_key=key, **where)
        try:
            system.get_file_info("")
            list(system.get_file_info(fs.FileSelector("")))
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return system


if __name__ == "__main__":
    serve(forwarding(sys.argv[1]))
