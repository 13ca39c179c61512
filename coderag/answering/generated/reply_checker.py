"""Incremental checker of a reply: verified units pass, others are dropped or marked."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from coderag.answering.generated.checked_text import CheckedText
from coderag.answering.generated.claim_checker import ClaimChecker, ClaimVerdict
from coderag.answering.generated.claim_splitter import ClaimSplitter, ReplyUnit
from coderag.answering.generated.markdown_lines import FENCE, strip_fences
from coderag.answering.generated.missing_statements import is_courtesy, is_missing_statement, strip_missing_mark
from coderag.answering.generated.numbering import CitationNumbering
from coderag.answering.generated.prompt_echoes import PromptEchoes
from coderag.answering.generated.statements import Statement
from coderag.answering.injection import clean_reply
from coderag.schema.answers import AnswerClaim

_NOT_VERIFIED_NOTE: Final = " *(not verified)*"
_SUGGESTION_NOTE: Final = "*(code that the model suggests; it is not in the evidence)*"
_MAX_HEADING_CHARS = 90  # characters; a longer one is a claim


@dataclass(frozen=True, slots=True)
class _JudgedClaim:
    text: str
    verdict: ClaimVerdict
    is_shown: bool
    is_code: bool = False


class ReplyChecker:
    """Checker of a streamed reply.

    Args:
        checker: Checker of single claims.
        evidence: Evidence that the model was shown; its addresses may appear in the answer.
        build_diagram: Builds the answer's diagram from edges of the code graph; empty if it has none. It replaces one
            that the model drew.
        echoes: Finds what only repeats the prompt.

    Attributes:
        missing: Statements of the model on what it did not find.
    """

    def __init__(
        self, checker: ClaimChecker, evidence: str, build_diagram: Callable[[], str], echoes: PromptEchoes
    ) -> None:
        self.missing: list[str] = []
        self.numbering = CitationNumbering(checker)
        self._checker = checker
        self._evidence = evidence
        self._build_diagram = build_diagram
        self._echoes = echoes
        self._is_diagram_drawn = False
        self._splitter = ClaimSplitter()
        self._text = CheckedText()
        self._judged_claims: list[_JudgedClaim] = []

    @property
    def text(self) -> str:
        """Answer so far."""
        return self._text.text

    @property
    def pending(self) -> str:
        """Unchecked words of the model."""
        return self._splitter.pending

    @property
    def is_mostly_verified(self) -> bool:
        """True if at least half of the claims hold, and one does; code counts only where nothing else is claimed."""
        stated = [claim for claim in self._judged_claims if not claim.is_code] or self._judged_claims
        verified = sum(claim.verdict.status == "verified" for claim in stated)
        return verified > 0 and 2 * verified >= len(stated)

    @property
    def claims(self) -> list[AnswerClaim]:
        """All claims of the model, in order."""
        return [
            AnswerClaim(
                claim.text,
                self.numbering.find_positions(claim.verdict.cited),
                claim.verdict.status,
                claim.verdict.reason,
                claim.is_shown,
            )
            for claim in self._judged_claims
        ]

    def feed(self, delta: str) -> str | None:
        """Feed the next part; return the text it adds, or None if it completes no unit."""
        units = self._splitter.feed(delta)
        return "".join(map(self._take_unit, units)) if units else None

    def close(self) -> str:
        """End the reply; return the last of the text."""
        remaining = "".join(map(self._take_unit, self._splitter.close()))
        return remaining + self._text.close()

    def append_diagram(self) -> str:
        """Append the diagram unless it replaced one of the model; return the added text."""
        return "" if self._is_diagram_drawn else self.append(self._build_diagram())

    def append(self, paragraph: str) -> str:
        """Append a paragraph that is not the model's; return the added text."""
        return self._text.append(f"\n\n{paragraph.strip()}") if paragraph.strip() else ""

    def _take_unit(self, unit: ReplyUnit) -> str:
        if unit.kind == "code":
            return self._take_code(unit)
        if unit.kind in ("rule", "table"):
            return self._hold(unit)
        statement = Statement(unit.text)
        if statement.is_citation_only or not re.search(r"\w", unit.text):
            return self._drop(unit)  # an entry of a source list, which is written separately, or an empty one
        if self._echoes.is_echo(unit.text):
            return self._reject(unit, "it repeats the prompt")
        if _is_heading(unit, statement):
            return self._take_lead_in(unit, statement)
        return self._take_claim(unit, statement) if statement.has_citation else self._take_uncited(unit, statement)

    def _take_uncited(self, unit: ReplyUnit, statement: Statement) -> str:
        if is_courtesy(unit.text):
            return self._drop(unit)
        if is_missing_statement(unit.text):
            self.missing.append(" ".join(strip_missing_mark(unit.text).split()))
            return self._show(unit)
        if statement.is_lead_in and unit.kind == "prose":
            return self._take_lead_in(unit, statement)
        if not statement.is_claim or (statement.is_question and not self._checker.find_unknown(statement)):
            return self._show(unit)
        return self._take_claim(unit, statement)

    def _take_claim(self, unit: ReplyUnit, statement: Statement) -> str:
        verdict = self._checker.check_claim(statement)
        is_shown = verdict.status == "verified" or (verdict.status == "uncited" and not verdict.names_unknown)
        self._judged_claims.append(_JudgedClaim(unit.text.strip(), verdict, is_shown))
        if not is_shown:
            self.numbering.add_unshown(verdict.cited)
            return self._drop(unit)
        text = self.numbering.rewrite_citations(unit.text, verdict.cited)
        return self._show(replace(unit, text=text if verdict.cited else _append_note(unit, text)))

    def _take_lead_in(self, unit: ReplyUnit, statement: Statement) -> str:
        """Hold a lead-in, unless it names something unknown."""
        reason = self._checker.find_unknown(statement)
        if reason:
            return self._reject(unit, reason)
        return self._hold(unit)

    def _reject(self, unit: ReplyUnit, reason: str) -> str:
        verdict = ClaimVerdict("uncited", reason=reason)
        self._judged_claims.append(_JudgedClaim(unit.text.strip(), verdict, is_shown=False))
        return self._drop(unit)

    def _take_code(self, unit: ReplyUnit) -> str:
        opening = FENCE.search(unit.text)
        fence, info = (opening[1], opening[2].strip().lower()) if opening else ("", "")
        if info.startswith("mermaid"):
            diagram = "" if self._is_diagram_drawn else self._build_diagram()
            self._is_diagram_drawn = True
            return self._show(replace(unit, text=diagram)) if diagram else self._drop(unit)
        if not re.search(r"\w", strip_fences(unit.text)):
            return self._drop(unit)
        cited = self._checker.find_code(unit.text)
        verdict = (
            ClaimVerdict("verified", cited)
            if cited
            else ClaimVerdict("uncited", reason="the evidence does not have this code")
        )
        self._judged_claims.append(_JudgedClaim(unit.text.strip(), verdict, is_shown=True, is_code=True))
        indent = unit.text[: len(unit.text) - len(unit.text.lstrip(" \t>"))] if fence else ""
        end = "" if not fence or _is_closed(unit.text, fence) else f"\n{indent}{fence}"
        citation_line = self.numbering.format_mark(cited) if cited else _SUGGESTION_NOTE
        return self._show(replace(unit, text=f"{unit.text}{end}\n\n{indent}{citation_line}"))

    def _hold(self, unit: ReplyUnit) -> str:
        self._text.hold(self._clean_unit(unit))
        return ""

    def _drop(self, unit: ReplyUnit) -> str:
        self._text.drop(unit)
        return ""

    def _show(self, unit: ReplyUnit) -> str:
        return self._text.show(self._clean_unit(unit))

    def _clean_unit(self, unit: ReplyUnit) -> ReplyUnit:
        return replace(unit, text=clean_reply(unit.text, self._evidence))


def _is_heading(unit: ReplyUnit, statement: Statement) -> bool:
    return unit.kind == "heading" and not (
        statement.has_citation or statement.has_full_stop or len(unit.text) > _MAX_HEADING_CHARS
    )


def _is_closed(block: str, fence: str) -> bool:
    last = block.rpartition("\n")[2].strip(" \t>")
    return "\n" in block and len(last) >= len(fence) and not last.strip(fence[0])


def _append_note(unit: ReplyUnit, text: str) -> str:
    if unit.kind == "row" and text.rstrip().endswith("|"):
        return f"{text.rstrip()[:-1].rstrip()}{_NOT_VERIFIED_NOTE} |"
    return text + _NOT_VERIFIED_NOTE
