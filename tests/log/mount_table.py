"""Settings of Hadoop's that make a file system which only Hadoop's classes know, of folders that lie elsewhere."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.log.storage import as_path

MOUNTED: Final = "viewfs://all"
_LINK: Final = "<property><name>fs.viewfs.mounttable.all.link.{}</name><value>{}</value></property>"


class Mounted(NamedTuple):
    """What a mount table has: the URI of HDFS, and a folder of this machine."""

    hdfs: str
    disk: Path

    def on_disk(self, path: Path) -> Path:
        """Return where on this machine a path below `MOUNTED/disk` is."""
        return self.disk / path.relative_to(as_path(f"{MOUNTED}/disk"))


def mount(settings: Path, folders: Mapping[str, str]) -> None:
    """Write a folder of settings (HADOOP_CONF_DIR), with which MOUNTED has these folders, given as URIs."""
    links = "".join(_LINK.format(f"/{name}", uri) for name, uri in folders.items())
    (settings / "core-site.xml").write_text(f"<configuration>{links}</configuration>")
