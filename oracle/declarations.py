"""Kafka's own message declarations, read out of its jars: the authority that every declaration of ours is held against.

The jars carry the files that Kafka's generator read (resources `common/message/NAME.json`), so no JVM is asked.
"""

import json
import re
import zipfile
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from oracle.jars import DECLARED, kafka_jars

STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


@cache
def declarations(version: str) -> dict[str, dict[str, Any]]:
    """Return every message that a release declares, by name (`OffsetCommitValue`, `ConsumerProtocolSubscription`), parsed.

    `version` is one of DECLARED from 2.8.2 on; 4.3.1 has Streams' SubscriptionInfoData too. 1.1.1 declares in code and gives none.
    """
    return {name: _parsed(text) for name, text in _texts(version).items()}


def _parsed(text: str) -> dict[str, Any]:
    """The first object of a file, as Kafka's generator reads it: with comments, and deaf to what stands after it."""
    bare = STRING_OR_COMMENT.sub(lambda found: found[1] or "", text).lstrip()
    parsed: dict[str, Any] = json.JSONDecoder().raw_decode(bare)[0]
    return parsed


def _texts(version: str) -> dict[str, str]:
    texts = {}
    for jar in kafka_jars(DECLARED[version]):
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if re.fullmatch(r"common/message/\w+\.json", entry):
                    texts[PurePosixPath(entry).stem] = archive.read(entry).decode()
    return texts
