"""Spark's `from_json`, and the cast that renames what it read, as one expression of DuckDB.

Numbers that do not fit and fields that are not there become null, as Spark has it; bytes are base64 in JSON. Knows no view.
"""

import json
from itertools import count
from typing import Any, Final

from sqlglot import exp

from offsets_tool.sql.calls import refused

_LEAVES: Final = {
    exp.DType.TEXT: "VARCHAR",
    exp.DType.BINARY: "VARCHAR",
    exp.DType.TINYINT: "TINYINT",
    exp.DType.SMALLINT: "SMALLINT",
    exp.DType.INT: "INTEGER",
    exp.DType.BIGINT: "BIGINT",
    exp.DType.BOOLEAN: "BOOLEAN",
    exp.DType.DOUBLE: "DOUBLE",
}
"""How DuckDB reads a leaf of JSON, by the type that Spark is asked for; bytes are first a text."""


def from_json(text: exp.Expr, given: exp.Expr, named: exp.DataType | None = None) -> exp.Expr:
    """Return what reads a text as the type that `given` describes, with the names of the same type `named`.

    Refuses a description that is no text, and types that JSON is not read as.
    """
    if not isinstance(given, exp.Literal) or not given.is_string:
        raise refused(given)
    type_ = _parsed(given.this)
    structure = exp.Literal.string(json.dumps(_structure(type_)))
    read = exp.Anonymous(
        this="json_transform",
        expressions=[exp.Cast(this=text, to=exp.DataType(this=exp.DType.JSON)), structure],
    )
    return _with_names(read, type_, named or type_, count())


def _parsed(described: str) -> exp.DataType:
    is_columns = not described.lstrip().lower().startswith(("struct<", "array<"))
    return exp.DataType.build(f"struct<{described}>" if is_columns else described, dialect="spark")


def _structure(type_: exp.DataType) -> Any:
    """Return the type as DuckDB's `json_transform` takes it."""
    if type_.this == exp.DType.STRUCT:
        return {field.name: _structure(field.args["kind"]) for field in type_.expressions}
    if type_.this == exp.DType.ARRAY:
        return [_structure(type_.expressions[0])]
    if type_.this not in _LEAVES:
        raise refused(type_)
    return _LEAVES[type_.this]


def _with_names(value: exp.Expr, type_: exp.DataType, named: exp.DataType, numbers: "count[int]") -> exp.Expr:
    """Return the value with the names of another type, and its texts of bytes as bytes."""
    if type_.this == exp.DType.BINARY:
        return exp.Anonymous(this="from_base64", expressions=[value])
    if not _has_work(type_, named):
        return value
    if type_.this == exp.DType.ARRAY:
        each = exp.to_identifier(f"each_{next(numbers)}", quoted=True)
        made = _with_names(exp.Column(this=each.copy()), type_.expressions[0], named.expressions[0], numbers)
        return exp.Anonymous(
            this="list_transform", expressions=[value, exp.Lambda(this=made, expressions=[each])]
        )
    fields = [
        exp.PropertyEQ(
            this=exp.to_identifier(ours.name, quoted=True),
            expression=_with_names(
                exp.Anonymous(
                    this="struct_extract", expressions=[value.copy(), exp.Literal.string(theirs.name)]
                ),
                theirs.args["kind"],
                ours.args["kind"],
                numbers,
            ),
        )
        for theirs, ours in zip(type_.expressions, named.expressions, strict=True)
    ]
    made = exp.Struct(expressions=fields)
    return exp.Case(ifs=[exp.If(this=exp.Is(this=value.copy(), expression=exp.Null()).not_(), true=made)])


def _has_work(type_: exp.DataType, named: exp.DataType) -> bool:
    """Return whether a type has other names than another, or bytes anywhere inside."""
    return type_ != named or any(part.this == exp.DType.BINARY for part in type_.find_all(exp.DataType))
