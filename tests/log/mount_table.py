"""Settings of Hadoop's that make a file system which only Hadoop's classes know, of folders that lie elsewhere."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

MOUNTED: Final = "viewfs://all"
_LINK: Final = "<property><name>fs.viewfs.mounttable.all.link.{}</name><value>{}</value></property>"


def mount(settings: Path, folders: Mapping[str, str]) -> None:
    """Write a folder of settings (HADOOP_CONF_DIR), with which MOUNTED has these folders, given as URIs."""
    links = "".join(_LINK.format(f"/{name}", uri) for name, uri in folders.items())
    (settings / "core-site.xml").write_text(f"<configuration>{links}</configuration>")
