"""Cited lines with the citations that the check made of them."""

from collections.abc import Iterable, Sequence

from coderag.answering.evidence.citation_checker import CitationChecker
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.schema.answers import Citation
from coderag.text.code_fences import format_code_span

_CHANGED_NOTE = " *(not verified: changed since it was indexed)*"


class CheckedLines:
    """Citations of an answer, each line range once, in the order of the text.

    Args:
        lines: Lines that the answer cites.
        checker: Checker of citations.
    """

    def __init__(self, lines: Iterable[CitedLines], checker: CitationChecker) -> None:
        self._positions = {cited: position for position, cited in enumerate(dict.fromkeys(lines))}
        self.citations: Sequence[Citation] = [checker.check(cited) for cited in self._positions]

    def get_position(self, lines: CitedLines) -> int:
        """Return the position of the citation of some lines."""
        return self._positions[lines]

    def get_citation(self, lines: CitedLines) -> Citation:
        """Return the citation of some lines."""
        return self.citations[self._positions[lines]]

    def format_place(self, lines: CitedLines) -> str:
        """Format where some lines are now; lines that have changed are marked."""
        citation = self.get_citation(lines)
        place = format_code_span(citation.location)
        return place if citation.verified else f"{place}{_CHANGED_NOTE}"
