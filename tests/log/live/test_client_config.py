"""Client properties as operators have them become kafka-python's options; what cannot be honoured is refused."""

from pathlib import Path
from typing import Any

import pytest

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.log.live.client_config import connection_options, parse_properties, read_client_config

PEM = "-----BEGIN CERTIFICATE-----\n"


@pytest.fixture
def pem(tmp_path: Path) -> str:
    path = tmp_path / "ca.pem"
    path.write_text(PEM)
    return str(path)


def test_properties_as_java_reads_them() -> None:
    """java.util.Properties: comments, separators, continued lines, escapes; the last of two wins."""
    text = (
        "# a comment\n! another\n\n  plain=1\ncolon : 2\nspaces   three words \nnothing\nempty=\r\n"
        "long=first, \\\n   second\nescaped\\=key=\\u00e9\\t\\\\n\nplain=last\nends=with\\\\\nopen=\\"
    )
    assert parse_properties(text) == {
        "plain": "last",
        "colon": "2",
        "spaces": "three words ",
        "nothing": "",
        "empty": "",
        "long": "first, second",
        "escaped=key": "é\t\\n",
        "ends": "with\\",
        "open": "",
    }


def test_a_file(tmp_path: Path) -> None:
    """Read as it is, or refused with a remedy."""
    path = tmp_path / "client.properties"
    path.write_text("security.protocol=SSL\n")
    assert read_client_config(path) == {"security.protocol": "SSL"}
    path.write_bytes(b"\xff")
    for bad in (path, tmp_path / "missing"):
        with pytest.raises(SourceError, match=r"cannot be read as text .*check the path"):
            read_client_config(bad)


JAAS = "org.apache.kafka.common.security.scram.ScramLoginModule required "
OPTIONS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "nothing": ({}, {}),
    "what is about consuming": (
        {"group.id": "g", "enable.auto.commit": "true", "key.deserializer": "x", "bootstrap.servers": "x:1"},
        {},
    ),
    "a name": ({"client.id": "audit"}, {"client_id": "audit"}),
    "JAAS": (
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": JAAS + 'username="a" password="b;\\"c=d";',
        },
        {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_plain_username": "a",
            "sasl_plain_password": 'b;"c=d',
        },
    ),
    "JAAS without quotes": (
        {"sasl.jaas.config": JAAS + "username=a password='b c';"},
        {"sasl_plain_username": "a", "sasl_plain_password": "b c"},
    ),
    "librdkafka": (
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanisms": "PLAIN",
            "sasl.username": "a",
            "sasl.password": "b",
        },
        {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": "a",
            "sasl_plain_password": "b",
        },
    ),
    "Kerberos": (
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "GSSAPI",
            "sasl.kerberos.service.name": "kafka",
            "sasl.kerberos.kinit.cmd": "/usr/bin/kinit",
        },
        {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "GSSAPI",
            "sasl_kerberos_service_name": "kafka",
        },
    ),
    "TLS": (
        {
            "security.protocol": "SSL",
            "ssl.truststore.location": "PEM",
            "ssl.truststore.type": "PEM",
            "ssl.keystore.location": "PEM",
            "ssl.key.password": "secret",
            "ssl.protocol": "TLSv1.3",
            "ssl.endpoint.identification.algorithm": "",
        },
        {
            "security_protocol": "SSL",
            "ssl_cafile": "PEM",
            "ssl_certfile": "PEM",
            "ssl_password": "secret",
            "ssl_check_hostname": False,
        },
    ),
    "TLS with host names": (
        {"ssl.ca.location": "PEM", "ssl.endpoint.identification.algorithm": "https"},
        {"ssl_cafile": "PEM", "ssl_check_hostname": True},
    ),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_options(case: str, pem: str) -> None:
    """Kafka's and librdkafka's names; nothing about groups gets through."""
    given, expected = (
        {k: pem if v == "PEM" and "type" not in k else v for k, v in d.items()} for d in OPTIONS[case]
    )
    assert connection_options(given) == {"client_id": "offsets-tool"} | expected


REFUSED = {
    "ssl.engine.factory.class": (
        {"ssl.engine.factory.class": "x"},
        "property ssl.engine.factory.class is not supported",
    ),
    "callback": ({"sasl.client.callback.handler.class": "x"}, "is not supported; supported are client.id"),
    "protocol": ({"security.protocol": "TLS"}, "security.protocol is 'TLS'; it is one of PLAINTEXT, SSL"),
    "mechanism": (
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"},
        "sasl.mechanism is 'OAUTHBEARER'; supported are PLAIN",
    ),
    "no mechanism": ({"security.protocol": "SASL_SSL"}, "sasl.mechanism is None"),
    "no user": (
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.password": "x"},
        "PLAIN needs a user and a password",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    """Security that would silently be less than asked for."""
    given, reason = REFUSED[case]
    with pytest.raises(UsageError, match=reason):
        connection_options(given)


def test_stores_that_are_not_pem(tmp_path: Path) -> None:
    """A Java key store is told apart by its content, with the way to convert it."""
    path = tmp_path / "trust.jks"
    path.write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    with pytest.raises(UsageError, match=r"trust\.jks is not PEM.*keytool -importkeystore"):
        connection_options({"ssl.truststore.location": str(path)})
    with pytest.raises(SourceError, match=r"missing: cannot be opened .*client properties"):
        connection_options({"ssl.truststore.location": str(tmp_path / "missing")})
