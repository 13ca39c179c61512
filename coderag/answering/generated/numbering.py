"""Numbering of an answer's citations in reading order."""

import re
from collections.abc import Collection, Sequence

from coderag.answering.generated.citation_marks import CITATION_MARK, parse_mark
from coderag.answering.generated.claim_checker import ClaimChecker
from coderag.answering.generated.statements import INLINE_CODE, replace_places
from coderag.schema.answers import Citation

_CODE_OR_CITATION = re.compile(
    rf"(?P<kept>{INLINE_CODE.pattern})|(?P<before>[ \t]*)(?P<mark>{CITATION_MARK.pattern})", re.DOTALL | re.IGNORECASE
)


class CitationNumbering:
    """Numbering of one answer's citations: shown ones come first, from 1.

    Args:
        checker: Provides the citation of each piece of evidence.
    """

    def __init__(self, checker: ClaimChecker) -> None:
        self._checker = checker
        self._shown_numbers: dict[int, int] = {}  # evidence number -> answer number
        self._unshown_numbers: dict[int, None] = {}

    def rewrite_citations(self, text: str, citable: Collection[int]) -> str:
        """Renumber the citations in a text, and update locations of moved lines.

        Args:
            text: Text of the model.
            citable: Evidence that may be cited; other citations are removed.
        """

        def renumber(match: re.Match[str]) -> str:
            if match["kept"]:
                return match[0]
            mark = CITATION_MARK.fullmatch(match["mark"])
            assert mark is not None
            numbers = [self._assign_number(number) for number in parse_mark(mark) if number in citable]
            return match["before"] + "".join(f"[{number}]" for number in dict.fromkeys(numbers)) if numbers else ""

        rewritten = _CODE_OR_CITATION.sub(renumber, text)
        return replace_places(rewritten, self._map_moved_places(citable))

    def add_unshown(self, cited: Sequence[int]) -> None:
        """Record the citations of a claim that is not shown."""
        self._unshown_numbers.update(dict.fromkeys(cited))

    def format_mark(self, cited: Sequence[int]) -> str:
        """Format the mark of some evidence."""
        return "".join(f"[{self._assign_number(number)}]" for number in cited)

    @property
    def source_list(self) -> str:
        """List of cited sources; empty if there are none."""
        entries = [
            f"- [{number}] `{self._checker.check_citation(evidence_number).location}`"
            for evidence_number, number in self._shown_numbers.items()
        ]
        return "**Sources**\n\n" + "\n".join(entries) if entries else ""

    def list_citations(self) -> list[Citation]:
        """List all citations: shown ones by number, then the others."""
        return [self._checker.check_citation(number) for number in self._list_order()]

    def find_positions(self, cited: Sequence[int]) -> list[int]:
        """Return the positions of a claim's citations in `list_citations`."""
        order = self._list_order()
        return [order.index(number) for number in cited]

    def _list_order(self) -> list[int]:
        return list(dict.fromkeys([*self._shown_numbers, *self._unshown_numbers]))

    def _assign_number(self, evidence_number: int) -> int:
        return self._shown_numbers.setdefault(evidence_number, len(self._shown_numbers) + 1)

    def _map_moved_places(self, citable: Collection[int]) -> dict[str, str]:
        new_places = {}
        for citation in map(self._checker.check_citation, citable):
            if citation.moved_from is not None:
                old_end_line = citation.end_line - citation.start_line + citation.moved_from
                new_places[f"{citation.path}:{citation.moved_from}-{old_end_line}"] = citation.location
                new_places[f"{citation.path}:{citation.moved_from}"] = f"{citation.path}:{citation.start_line}"
        return new_places
