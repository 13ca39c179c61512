"""Verdicts of results as text."""

from collections.abc import Sequence
from typing import Final, Protocol

from coderag.interfaces.cli.output.streams import Output
from coderag.schema.vocabulary import Evidence

_MEANINGS: Final[dict[Evidence, str]] = {
    "found": "",
    "weak": "nearest results, not a certain answer",
    "not_found": "nothing relevant was found",
    "unknown": "files that may hold the answer are not indexed",
}


class JudgedResult(Protocol):
    """A result with a verdict."""

    @property
    def evidence(self) -> Evidence:
        """The verdict."""
        ...

    @property
    def not_indexed(self) -> Sequence[str]:
        """Unindexed files that may hold the answer, as ``path: reason``."""
        ...


def format_evidence(result: JudgedResult) -> str:
    """Format the verdict."""
    meaning = _MEANINGS[result.evidence]
    return f"evidence: {result.evidence.replace('_', ' ')}" + (f" ({meaning})" if meaning else "")


def note_unindexed(result: JudgedResult, output: Output) -> None:
    """Note the unindexed files that may hold the answer."""
    for file in result.not_indexed:
        output.note(f"not indexed: {file}")
