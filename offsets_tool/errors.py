"""The error tree: who is at fault decides the class, and every message says what to do or where to look.

    OffsetsToolError
      DecodeError      these bytes are not what their declaration says   (reason, position, field path)
        UnknownFormat  a record type or version that no release we know has
      SourceError      this file is not a log we know                    (path, reason)
        MissingSource  there is no file at all
      UsageError       you asked for something that cannot be            (what to do instead)
      LakeInUse        another job is writing to this lake               (wait, and ask again)
      SetupError       this machine lacks something                      (what it lacks, how to get it)

Bytes are never the program's fault: a DecodeError becomes the `problem` of its event and the next record is read.
"""


class OffsetsToolError(Exception):
    """Anything this toolkit raises on purpose; its text is a sentence that says what is wrong and what to do.

    >>> from offsets_tool import open_evidence
    >>> try:
    ...     open_evidence("nowhere")
    ... except OffsetsToolError as error:
    ...     print(error)
    nowhere: does not exist; check the path
    """


class DecodeError(OffsetsToolError):
    """Bytes that do not hold what their declaration says.

    `position` counts bytes from the start of the key, value or blob; `path` names the field, as in `members[2].subscription`.
    `kafka` is the message Kafka's own reader would give, where its words differ from ours.
    """

    def __init__(self, reason: str, position: int = 0, path: str = "", kafka: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self.path = path
        self.kafka = reason if kafka is None else kafka

    def within(self, parent: str) -> "DecodeError":
        """Return this error with the enclosing field before its path."""
        joined = parent + self.path if self.path.startswith("[") or not self.path else f"{parent}.{self.path}"
        return DecodeError(self.reason, self.position, joined, self.kafka)

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{where}{self.reason} (byte {self.position})"


class UnknownFormat(DecodeError):
    """A record type or version that no release we know declares; the bytes may be sound."""


class SourceError(OffsetsToolError):
    """A path that cannot be read as evidence."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class MissingSource(SourceError):
    """A path that has no file: nothing is there, or a folder or pipe; a file that is there and cannot be read is none of these."""


class UsageError(OffsetsToolError):
    """A request that cannot be met; the message says what to ask instead."""


class LakeInUse(OffsetsToolError):
    """A lake that another job is writing to: the same request may be met later."""


class SetupError(OffsetsToolError):
    """A missing or wrong Java, an unreachable registry, a folder that cannot be written; the message says how to go on."""
