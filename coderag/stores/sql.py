"""Filter strings for Lance (DataFusion SQL), quoted so that no value can end its literal."""

import math
from collections.abc import Iterable, Sequence

from coderag.stores.disk import to_utf8

LIKE_ESCAPE = "\\"


def quote_literal(value: str | float) -> str:
    r"""Return a value as an SQL literal.

    DataFusion knows no escape in a plain literal but the doubled quote: ``\``, ``%`` and line breaks mean themselves.
    """
    if isinstance(value, str):
        return "'" + to_utf8(value).replace("'", "''") + "'"
    if isinstance(value, float) and not math.isfinite(value):
        message = f"{value} cannot be compared with"
        raise ValueError(message)
    return repr(value)


def build_in_filter(column: str, values: Iterable[str | float]) -> str:
    """Return the filter for rows whose column has one of the values; no values match nothing."""
    literals = ", ".join(map(quote_literal, values))
    return f"{column} IN ({literals})" if literals else "false"


def build_contains_filter(column: str, part: str, *, ignore_case: bool = False) -> str:
    """Return the filter for rows whose column contains a text, with nothing in it read as a pattern."""
    escaped = part.replace(LIKE_ESCAPE, LIKE_ESCAPE * 2).replace("%", LIKE_ESCAPE + "%").replace("_", LIKE_ESCAPE + "_")
    operator = "ILIKE" if ignore_case else "LIKE"
    return f"{column} {operator} {quote_literal(f'%{escaped}%')} ESCAPE '{LIKE_ESCAPE}'"


def join_filters(filters: Sequence[str], operator: str) -> str:
    """Return several filters joined by ``AND`` or ``OR``, each in parentheses."""
    return f" {operator} ".join(f"({condition})" for condition in filters)
