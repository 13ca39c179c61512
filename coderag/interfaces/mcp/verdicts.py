"""Verdicts of searches: as data, and in one line if there is reason for doubt."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.schema.vocabulary import Evidence

_ADVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "weak": "Weak match: check it, or ask in other words.",
        "not_found": "Not found: nothing here answers it. Next: other words; mode exact tells whether a text occurs.",
        "unknown": "It may be answered by files that are not in the index.",
    }
)
_MAX_NOT_INDEXED: Final = 5


def to_verdict_fields(evidence: Evidence, confidence: float) -> dict[str, Any]:
    """Return a verdict as data."""
    return {"evidence": evidence, "confidence": round(float(confidence), 2)}


def format_verdict(evidence: Evidence) -> str:
    """Format a verdict."""
    return evidence.replace("_", " ")


def suggest_next_steps(evidence: Evidence, not_indexed: Sequence[str], cleaner: Cleaner) -> list[str]:
    """Return next steps for a verdict; empty for a good one."""
    notes = [_ADVICE[evidence]] if evidence in _ADVICE else []
    if not_indexed:
        notes.append(f"Not indexed: {'; '.join(map(cleaner.clean_line, not_indexed[:_MAX_NOT_INDEXED]))}.")
    return notes
