"""How well a result answers, for people."""

from collections.abc import Sequence
from typing import Protocol

from coderag.interfaces.cli._streams import Output
from coderag.schema import Evidence


class Judged(Protocol):
    """A result that says how well it answers."""

    @property
    def evidence(self) -> Evidence:
        """The verdict."""
        ...

    @property
    def not_indexed(self) -> Sequence[str]:
        """Files that may have the answer, as ``path: reason``."""
        ...


def evidence_text(result: Judged) -> str:
    """Return the verdict in words."""
    return f"evidence: {result.evidence.replace('_', ' ')}"


def note_missing(result: Judged, output: Output) -> None:
    """Tell which files may have the answer and are not in the index."""
    for file in result.not_indexed:
        output.note(f"not indexed: {file}")
