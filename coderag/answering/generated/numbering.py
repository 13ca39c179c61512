"""Number the citations of an answer in the order in which its reader meets them."""

import re
from collections.abc import Collection, Sequence

from coderag.answering.generated.citation_marks import MARK, numbers_in
from coderag.answering.generated.statements import CODE, with_places
from coderag.answering.generated.verification import ClaimChecker
from coderag.schema.answers import Citation

_CODE_OR_MARK = re.compile(
    rf"(?P<kept>{CODE.pattern})|(?P<before>[ \t]*)(?P<mark>{MARK.pattern})", re.DOTALL | re.IGNORECASE
)


class Numbering:
    """The citations of one answer: those that its text shows come first, and number 1 is the first of them.

    Args:
        checker: Has the citation of each piece of evidence.
    """

    def __init__(self, checker: ClaimChecker) -> None:
        self._checker = checker
        self._shown: dict[int, int] = {}  # number of the evidence -> number in the answer
        self._others: dict[int, None] = {}

    def rewrite(self, text: str, kept: Collection[int]) -> str:
        """Return a part of the answer with its citations numbered anew, and places of lines that moved as they are now.

        Args:
            text: As the model wrote it.
            kept: Evidence that may be cited; other citations are taken out.
        """

        def numbered(match: re.Match[str]) -> str:
            if match["kept"]:
                return match[0]
            mark = MARK.fullmatch(match["mark"])
            assert mark is not None
            numbers = [self._number(number) for number in numbers_in(mark) if number in kept]
            return match["before"] + "".join(f"[{number}]" for number in dict.fromkeys(numbers)) if numbers else ""

        rewritten = _CODE_OR_MARK.sub(numbered, text)
        return with_places(rewritten, self._moved(kept))

    def note(self, cited: Sequence[int]) -> None:
        """Remember what a claim cites that is not shown."""
        self._others.update(dict.fromkeys(cited))

    def mark(self, cited: Sequence[int]) -> str:
        """Return the mark that cites some evidence."""
        return "".join(f"[{self._number(number)}]" for number in cited)

    @property
    def sources(self) -> str:
        """The list of what the text cites; empty if it cites nothing."""
        listed = [f"- [{number}] `{self._checker.citation(one).location}`" for one, number in self._shown.items()]
        return "**Sources**\n\n" + "\n".join(listed) if listed else ""

    def citations(self) -> list[Citation]:
        """Return all citations: those of the text by number, then the others."""
        return [self._checker.citation(number) for number in self._order()]

    def positions(self, cited: Sequence[int]) -> list[int]:
        """Return where the citations of a claim are among all."""
        order = self._order()
        return [order.index(number) for number in cited]

    def _order(self) -> list[int]:
        return list(dict.fromkeys([*self._shown, *self._others]))

    def _number(self, number: int) -> int:
        return self._shown.setdefault(number, len(self._shown) + 1)

    def _moved(self, kept: Collection[int]) -> dict[str, str]:
        moved = {}
        for citation in map(self._checker.citation, kept):
            if citation.moved_from is not None:
                was = citation.end_line - citation.start_line + citation.moved_from
                moved[f"{citation.path}:{citation.moved_from}-{was}"] = citation.location
                moved[f"{citation.path}:{citation.moved_from}"] = f"{citation.path}:{citation.start_line}"
        return moved
