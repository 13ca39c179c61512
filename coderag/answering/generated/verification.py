"""Check a claim against the lines that it cites: the names of code, quotations, places and numbers in it must be there.

What a claim says with them is not checked: that takes a reader, or a judge (``coderag eval``).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from coderag.answering.citations import CitationChecker
from coderag.answering.generated.citation_marks import cited_numbers
from coderag.answering.generated.evidence_text import Evidence
from coderag.answering.generated.grounds import Grounds
from coderag.answering.generated.markdown_lines import without_fences
from coderag.answering.generated.statements import Statement
from coderag.schema.answers import Citation
from coderag.schema.vocabulary import ClaimStatus

_ELIDED = re.compile(r"^[ \t]*(?:#+|//+|--|;+|/\*|<!--)?[ \t]*(?:\.{3}|…)[^\n]*$", re.MULTILINE)
"""A line that stands for others."""

_NAMES_FILE = re.compile(r"^[ \t]*(?:#|//)[ \t]*[\w./-]+\.\w+(?::\d+(?:-\d+)?)?[ \t]*$", re.MULTILINE)

_BLANKS = re.compile(r"\s+")
_MOST_CITED = 12  # pieces of evidence; a claim that cites more rests on none that could be checked


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was made of a claim.

    Attributes:
        cited: Numbers of the evidence that it cites and that is as it was indexed.
        reason: Why it is not verified.
        unknown: Whether it names what is in none of the evidence.
    """

    status: ClaimStatus
    cited: Sequence[int] = ()
    reason: str = ""
    unknown: bool = False


class ClaimChecker:
    """Checks the claims of one reply.

    Args:
        evidence: What the model was shown, number 1 first.
        checker: Reads the cited lines from disk.
        paths: All files of the index.
    """

    def __init__(self, evidence: Sequence[Evidence], checker: CitationChecker, paths: Sequence[str]) -> None:
        self._evidence = evidence
        self._paths = paths
        self._all = Grounds([one.piece for one in evidence], paths)
        self.citation = cache(lambda number: checker.check(evidence[number - 1].lines))
        self._bare = cache(lambda number: _BLANKS.sub("", evidence[number - 1].piece.text))

    def check(self, statement: Statement) -> Verdict:
        """Return whether a claim is borne out by what it cites."""
        numbers = cited_numbers(statement.without_code)
        if not numbers:
            reason = self.unknown(statement)
            return Verdict("uncited", reason=reason or "it cites nothing", unknown=bool(reason))
        known = [number for number in numbers if 1 <= number <= len(self._evidence)]
        if len(known) > _MOST_CITED:
            return Verdict("unsupported", known, f"it cites {len(known)} pieces of evidence at once")
        if not known:
            invented = ", ".join(f"[{number}]" for number in numbers)
            return Verdict("unsupported", reason=f"there is no evidence {invented}")
        holding = [number for number in known if self.citation(number).verified]
        if not holding:
            broken: Citation = self.citation(known[0])
            return Verdict("unsupported", known, f"{broken.path}: {broken.reason}")
        pieces = [self._evidence[number - 1].piece for number in holding]
        moved = [self.citation(number) for number in holding]
        reason = Grounds(pieces, self._paths, moved).unfounded(statement)
        return Verdict("unsupported" if reason else "verified", holding, reason and f"{reason} is not in what it cites")

    def unknown(self, statement: Statement) -> str:
        """Return what a statement names that is in none of the evidence, in words; empty if there is nothing."""
        reason = self._all.unfounded_name(statement)
        return reason and f"{reason} is in none of the evidence"

    def find_code(self, block: str) -> Sequence[int]:
        """Return the numbers of the evidence that has a block of code, white space aside; none if not all of it is there."""
        found: dict[int, None] = {}
        for excerpt in _NAMES_FILE.split(without_fences(block)):
            parts = [bare for part in _ELIDED.split(excerpt) if (bare := _BLANKS.sub("", part))]
            number = next((one for one in self._holding() if _are_in_order(parts, self._bare(one))), None)
            if parts and number is None:
                return ()
            if parts and number is not None:
                found[number] = None
        return list(found)

    def _holding(self) -> Iterator[int]:
        return (number for number in range(1, len(self._evidence) + 1) if self.citation(number).verified)


def _are_in_order(parts: Sequence[str], text: str) -> bool:
    at = 0
    for part in parts:
        at = text.find(part, at) + len(part)
        if at < len(part):
            return False
    return True
