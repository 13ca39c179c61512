"""Checker of claims: their code names, quotations, places and numbers must be in the lines that they cite.

What a claim states about them is not checked: that takes a reader or a judge (``coderag eval``).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from coderag.answering.evidence.citation_checker import CitationChecker
from coderag.answering.generated.citation_marks import find_cited_numbers
from coderag.answering.generated.grounding import Grounding
from coderag.answering.generated.markdown_lines import strip_fences
from coderag.answering.generated.missing_statements import is_absence_claim
from coderag.answering.generated.numbered_evidence import NumberedEvidence
from coderag.answering.generated.statements import Statement
from coderag.schema.answers import Citation
from coderag.schema.vocabulary import ClaimStatus

_ELISION_LINE = re.compile(r"^[ \t]*(?:#+|//+|--|;+|/\*|<!--)?[ \t]*(?:\.{3}|…)[^\n]*$", re.MULTILINE)
"""Line that stands for elided ones."""

_FILE_NAME_LINE = re.compile(r"^[ \t]*(?:#|//)[ \t]*[\w./-]+\.\w+(?::\d+(?:-\d+)?)?[ \t]*$", re.MULTILINE)

_BLANKS = re.compile(r"\s+")
_MAX_CITED_EVIDENCE = 12  # a claim that cites more cannot be checked meaningfully


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """Verdict on a claim.

    Attributes:
        cited: Numbers of the cited evidence that is unchanged.
        reason: Reason why it is not verified.
        names_unknown: Whether it names something that is in no evidence.
    """

    status: ClaimStatus
    cited: Sequence[int] = ()
    reason: str = ""
    names_unknown: bool = False


class ClaimChecker:
    """Checker of the claims of one reply.

    Args:
        evidence: Evidence that the model was shown, number 1 first.
        checker: Checker of citations.
        paths: Paths of all indexed files.
    """

    def __init__(self, evidence: Sequence[NumberedEvidence], checker: CitationChecker, paths: Sequence[str]) -> None:
        self._evidence = evidence
        self._paths = paths
        self._evidence_grounding = Grounding([entry.snippet for entry in evidence], paths)
        self.check_citation = cache(lambda number: checker.check(evidence[number - 1].cited_lines))
        self._get_bare_text = cache(lambda number: _BLANKS.sub("", evidence[number - 1].snippet.text))

    def check_claim(self, statement: Statement) -> ClaimVerdict:
        """Check a claim against the evidence that it cites."""
        numbers = find_cited_numbers(statement.text_without_code)
        if not numbers:
            reason = self.find_unknown(statement)
            return ClaimVerdict("uncited", reason=reason or "it cites nothing", names_unknown=bool(reason))
        existing = [number for number in numbers if 1 <= number <= len(self._evidence)]
        if len(existing) > _MAX_CITED_EVIDENCE:
            return ClaimVerdict("unsupported", existing, f"it cites {len(existing)} pieces of evidence at once")
        if not existing:
            invented = ", ".join(f"[{number}]" for number in numbers)
            return ClaimVerdict("unsupported", reason=f"there is no evidence {invented}")
        verified = [number for number in existing if self.check_citation(number).verified]
        if not verified:
            broken: Citation = self.check_citation(existing[0])
            return ClaimVerdict("unsupported", existing, f"{broken.path}: {broken.reason}")
        if is_absence_claim(statement.text_without_code):
            return ClaimVerdict("unsupported", verified, "cited lines cannot show that nothing else uses it")
        snippets = [self._evidence[number - 1].snippet for number in verified]
        citations = [self.check_citation(number) for number in verified]
        reason = Grounding(snippets, self._paths, citations).find_unsupported(statement)
        return ClaimVerdict(
            "unsupported" if reason else "verified", verified, reason and f"{reason} is not in what it cites"
        )

    def find_unknown(self, statement: Statement) -> str:
        """Describe the first name of a statement that is in no evidence; empty if there is none."""
        reason = self._evidence_grounding.find_unsupported_name(statement)
        return reason and f"{reason} is in none of the evidence"

    def find_code(self, block: str) -> Sequence[int]:
        """Find the evidence that contains a code block, apart from white space; empty unless all of it is found."""
        numbers: dict[int, None] = {}
        for excerpt in _FILE_NAME_LINE.split(strip_fences(block)):
            parts = [bare for part in _ELISION_LINE.split(excerpt) if (bare := _BLANKS.sub("", part))]
            number = next(
                (
                    candidate
                    for candidate in self._iter_verified()
                    if _contains_in_order(parts, self._get_bare_text(candidate))
                ),
                None,
            )
            if parts and number is None:
                return ()
            if parts and number is not None:
                numbers[number] = None
        return list(numbers)

    def _iter_verified(self) -> Iterator[int]:
        return (number for number in range(1, len(self._evidence) + 1) if self.check_citation(number).verified)


def _contains_in_order(parts: Sequence[str], text: str) -> bool:
    position = 0
    for part in parts:
        position = text.find(part, position) + len(part)
        if position < len(part):
            return False
    return True
