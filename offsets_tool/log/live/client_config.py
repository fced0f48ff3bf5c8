"""Translates properties of Kafka's own clients into options of kafka-python, as far as they say how to connect to a broker.

It takes the security properties and the client's name. Every other property (a group id, deserializers, polling) is about
consuming, which never happens here, and is ignored. A security property that cannot be honoured is refused, never ignored.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.log.files.open_file import read_given_text, read_whole

# Kafka's names, and librdkafka's where they differ.
_PLAIN: Final = {
    "client.id": "client_id",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
    "ssl.truststore.location": "ssl_cafile",
    "ssl.ca.location": "ssl_cafile",
    "ssl.keystore.location": "ssl_certfile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
    "ssl.crl.location": "ssl_crlfile",
}
_NOT_NEEDED: Final = re.compile(
    # Passwords of stores are not asked for with PEM; the others only tune what works without them.
    r"ssl\.(truststore|keystore)\.password|ssl\.(protocol|provider|enabled\.protocols|cipher\.suites|secure\.random\..*)"
    r"|sasl\.(login|kerberos\.(kinit|ticket|min)).*|security\.providers"
)
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "AWS_MSK_IAM")
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_JAAS_OPTION: Final = re.compile(r"""(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)""")
_PEM: Final = b"-----BEGIN"

_LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")
_SEPARATOR: Final = re.compile(r"(?<!\\)((?:\\\\)*)(?:\s*[=:]\s*|\s+)")
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.)", re.DOTALL)
_ESCAPED: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


Options: TypeAlias = dict[str, str | bool]
"""Options of kafka-python's connections, by their names."""


def read_client_config(path: str | Path) -> dict[str, str]:
    """Read a properties file as `--command-config` of Kafka's tools takes it (java.util.Properties); SourceError if it cannot be
    read.
    """
    return parse_properties(read_given_text(path))


def parse_properties(text: str) -> dict[str, str]:
    """Return keys and values of a text with the comments, continued lines, separators and escapes of java.util.Properties."""
    properties: dict[str, str] = {}
    joined = ""
    for line in _LINE_BREAK.split(text):
        stripped = line.lstrip()
        if not joined and (not stripped or stripped[0] in "#!"):
            continue
        joined += stripped
        if (len(joined) - len(joined.rstrip("\\"))) % 2:
            joined = joined[:-1]
            continue
        key, value = _split(joined)
        properties[key] = value
        joined = ""
    if joined:
        key, value = _split(joined)
        properties[key] = value
    return properties


def _split(line: str) -> tuple[str, str]:
    found = _SEPARATOR.search(line)
    if found is None:
        return _unescape(line), ""
    return _unescape(line[: found.end(1)]), _unescape(line[found.end() :])


def _unescape(text: str) -> str:
    return _ESCAPE.sub(
        lambda found: chr(int(found[1], 16)) if found[1] else _ESCAPED.get(found[2], found[2]), text
    )


def connection_options(client_config: Mapping[str, str]) -> Options:
    """Return the options of kafka-python's connections; UsageError for a security property that cannot be honoured."""
    options: Options = {"client_id": "offsets-tool"}
    for name, value in client_config.items():
        options |= _option(name, value)
    _check(options)
    return options


def _option(name: str, value: str) -> Options:
    if name in _PLAIN:
        return {_PLAIN[name]: value}
    if name == "sasl.jaas.config":
        return _jaas(value)
    if name == "ssl.endpoint.identification.algorithm":
        return {"ssl_check_hostname": value.lower() not in ("", "none")}
    if name in ("ssl.truststore.type", "ssl.keystore.type"):
        # What the file really is, is seen in the file.
        return {}
    if name.startswith(("ssl.", "sasl.", "security.")) and not _NOT_NEEDED.fullmatch(name):
        raise UsageError(
            f"the client property {name} is not supported; supported are {', '.join(sorted(_PLAIN))}"
        )
    return {}


def _jaas(value: str) -> Options:
    """Return name and password of the user of Kafka's PlainLoginModule or ScramLoginModule; other modules have none."""
    found: dict[str, str] = dict(_JAAS_OPTION.findall(value))
    given = {"username": "sasl_plain_username", "password": "sasl_plain_password"}
    return {option: _unquote(found[name]) for name, option in given.items() if name in found}


def _unquote(text: str) -> str:
    if text[0] in "\"'":
        text = text[1:-1]
        return re.sub(r"\\(.)", r"\1", text)
    return text


def _check(options: Options) -> None:
    protocol = options.get("security_protocol", "PLAINTEXT")
    if protocol not in _PROTOCOLS:
        raise UsageError(f"security.protocol is {protocol!r}; it is one of {', '.join(_PROTOCOLS)}")
    if protocol.startswith("SASL"):
        _check_sasl(options)
    for name in ("ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_crlfile"):
        if name in options:
            _check_pem(Path(str(options[name])))


def _check_sasl(options: Options) -> None:
    mechanism = options.get("sasl_mechanism")
    if mechanism not in _MECHANISMS:
        raise UsageError(f"sasl.mechanism is {mechanism!r}; supported are {', '.join(_MECHANISMS)}")
    if mechanism not in ("GSSAPI", "AWS_MSK_IAM") and not {
        "sasl_plain_username",
        "sasl_plain_password",
    } <= set(options):
        raise UsageError(
            f"{mechanism} needs a user and a password: sasl.jaas.config, or sasl.username and sasl.password"
        )


def _check_pem(path: Path) -> None:
    try:
        content = read_whole(path)
    except SourceError as error:
        raise SourceError(error.path, f"{error.reason} (the client properties name it)") from error
    if _PEM not in content:
        raise UsageError(
            f"{path.as_posix()} is not PEM, the only kind of key and trust store that can be read;"
            " convert it: keytool -importkeystore -deststoretype PKCS12, then openssl pkcs12 -nodes -out store.pem"
        )
