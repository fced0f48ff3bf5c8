"""The SQL that makes a table as it is declared, for storage that only Spark can write. Runs nothing."""

from pyspark.sql.pandas.types import from_arrow_schema

from offsets_tool.lake.tables import Table


def create_statement(table: Table, name: str) -> str:
    """Return the SQL that makes a table under a name if it is not there."""
    described = ", ".join(
        f"`{c.name}` {c.dataType.simpleString()}{'' if c.nullable else ' NOT NULL'} COMMENT {_quoted(_comment(table, c.name))}"
        for c in from_arrow_schema(table.schema)
    )
    properties = table.properties | {f"delta.constraints.{check.name}": check.sql for check in table.checks}
    properties_text = ", ".join(f"'{key}' = {_quoted(value)}" for key, value in properties.items())
    more = f" TBLPROPERTIES ({properties_text})" if properties_text else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {name} ({described}) USING delta COMMENT {_quoted(table.comment)}{more}"
    )


def _comment(table: Table, column: str) -> str:
    metadata: dict[bytes, bytes] = table.schema.field(column).metadata
    return metadata[b"comment"].decode()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
