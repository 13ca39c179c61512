"""Texts of CQL and JQL: quoted values, and a user's query without its order."""

import re
from typing import Final

_ORDER: Final = re.compile(r"\border\s+by\b", re.IGNORECASE)
_QUOTED: Final = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")


def quote_value(value: str) -> str:
    """Quote a value for CQL or JQL."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def strip_order(query: str) -> str:
    """Return a query without ``ORDER BY``, since the connectors order by time; quoted text stays."""
    masked = _QUOTED.sub(lambda match: "x" * len(match[0]), query)
    match = _ORDER.search(masked)
    return (query[: match.start()] if match else query).strip()
