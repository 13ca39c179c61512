"""Filters for Lance (DataFusion SQL), with quoted values."""

import math
from collections.abc import Iterable, Sequence

from coderag.stores.disk import to_utf8

LIKE_ESCAPE = "\\"


def quote_literal(value: str | float) -> str:
    r"""Quote a value as an SQL literal.

    The doubled quote is DataFusion's only escape in a plain literal: ``\``, ``%`` and line breaks are literal.
    """
    if isinstance(value, str):
        return "'" + to_utf8(value).replace("'", "''") + "'"
    if isinstance(value, float) and not math.isfinite(value):
        message = f"{value} is not valid in a filter"
        raise ValueError(message)
    return repr(value)


def build_in_filter(column: str, values: Iterable[str | float]) -> str:
    """Build a filter for rows whose column has one of the values; no values match nothing."""
    literals = ", ".join(map(quote_literal, values))
    return f"{column} IN ({literals})" if literals else "false"


def build_contains_filter(column: str, part: str, *, ignore_case: bool = False) -> str:
    """Build a filter for rows whose column contains a text literally."""
    escaped = part.replace(LIKE_ESCAPE, LIKE_ESCAPE * 2).replace("%", LIKE_ESCAPE + "%").replace("_", LIKE_ESCAPE + "_")
    operator = "ILIKE" if ignore_case else "LIKE"
    return f"{column} {operator} {quote_literal(f'%{escaped}%')} ESCAPE '{LIKE_ESCAPE}'"


def join_filters(filters: Sequence[str], operator: str) -> str:
    """Join filters by ``AND`` or ``OR``, each in parentheses."""
    return f" {operator} ".join(f"({condition})" for condition in filters)
