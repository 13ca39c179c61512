"""Check a reply while it comes: only what is verified goes on, the rest is dropped or marked."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from coderag.answering.generated.checked_text import CheckedText
from coderag.answering.generated.claims import ClaimSplitter, Unit
from coderag.answering.generated.gaps import is_courtesy, says_missing, without_mark
from coderag.answering.generated.markdown_lines import FENCE, without_fences
from coderag.answering.generated.numbering import Numbering
from coderag.answering.generated.statements import Statement
from coderag.answering.generated.verification import ClaimChecker, Verdict
from coderag.answering.injection import clean_reply
from coderag.schema.answers import AnswerClaim

_NOT_VERIFIED: Final = " *(not verified)*"
_SUGGESTION: Final = "*(code that the model suggests; it is not in the evidence)*"
_LONGEST_HEADING = 90  # characters; a longer one is a claim


@dataclass(frozen=True, slots=True)
class _Judged:
    text: str
    verdict: Verdict
    shown: bool


class ReplyChecker:
    """Takes a reply piece by piece.

    Args:
        checker: Checks single claims.
        evidence: What the model was shown; addresses in it may stand in the answer.
        diagram: Returns the diagram of the answer, whose arrows are edges of the code graph; empty if it has none. It takes
            the place of one that the model drew.

    Attributes:
        missing: What the model says it did not find.
    """

    def __init__(self, checker: ClaimChecker, evidence: str, diagram: Callable[[], str]) -> None:
        self.missing: list[str] = []
        self.numbering = Numbering(checker)
        self._checker = checker
        self._evidence = evidence
        self._diagram = diagram
        self._drawn = False
        self._splitter = ClaimSplitter()
        self._text = CheckedText()
        self._claims: list[_Judged] = []

    @property
    def text(self) -> str:
        """The answer so far."""
        return self._text.text

    @property
    def pending(self) -> str:
        """The model's words that are not checked yet."""
        return self._splitter.pending

    @property
    def shows_claims(self) -> bool:
        """Whether any claim was let through."""
        return any(claim.shown for claim in self._claims)

    @property
    def claims(self) -> list[AnswerClaim]:
        """All claims that the model made, in its order."""
        return [
            AnswerClaim(
                one.text,
                self.numbering.positions(one.verdict.cited),
                one.verdict.status,
                one.verdict.reason,
                one.shown,
            )
            for one in self._claims
        ]

    def feed(self, piece: str) -> str | None:
        """Take the next piece; return what it adds to the answer's text, or None if it completes nothing."""
        units = self._splitter.feed(piece)
        return "".join(map(self._take, units)) if units else None

    def close(self) -> str:
        """Take the end of the reply; return the last of the text."""
        rest = "".join(map(self._take, self._splitter.close()))
        return rest + self._text.close()

    def draw(self) -> str:
        """Add the diagram, unless it stands in the place of one that the model drew; return it with its distance."""
        return "" if self._drawn else self.append(self._diagram())

    def append(self, paragraph: str) -> str:
        """Add a paragraph that is not the model's; return it with its distance."""
        return self._text.append(f"\n\n{paragraph.strip()}") if paragraph.strip() else ""

    def _take(self, unit: Unit) -> str:
        if unit.kind == "code":
            return self._take_code(unit)
        if unit.kind in ("rule", "table"):
            return self._hold(unit)
        statement = Statement(unit.text)
        if statement.only_cites or not re.search(r"\w", unit.text):
            return self._drop(unit)  # an entry of a list of sources, which are listed below, or an empty one
        if _is_heading(unit, statement):
            return self._lead(unit, statement)
        return self._take_claim(unit, statement) if statement.cites else self._take_uncited(unit, statement)

    def _take_uncited(self, unit: Unit, statement: Statement) -> str:
        if is_courtesy(unit.text):
            return self._drop(unit)
        if says_missing(unit.text):
            self.missing.append(" ".join(without_mark(unit.text).split()))
            return self._show(unit)
        if statement.leads and unit.kind == "prose":
            return self._lead(unit, statement)
        if not statement.claims or (statement.asks and not self._checker.unknown(statement)):
            return self._show(unit)
        return self._take_claim(unit, statement)

    def _take_claim(self, unit: Unit, statement: Statement) -> str:
        verdict = self._checker.check(statement)
        shown = verdict.status == "verified" or (verdict.status == "uncited" and not verdict.unknown)
        self._claims.append(_Judged(unit.text.strip(), verdict, shown))
        if not shown:
            self.numbering.note(verdict.cited)
            return self._drop(unit)
        text = self.numbering.rewrite(unit.text, verdict.cited)
        return self._show(replace(unit, text=text if verdict.cited else _marked(unit, text)))

    def _lead(self, unit: Unit, statement: Statement) -> str:
        """Keep back what leads to something, unless it names what nobody knows."""
        reason = self._checker.unknown(statement)
        if reason:
            self._claims.append(_Judged(unit.text.strip(), Verdict("uncited", reason=reason), shown=False))
            return self._drop(unit)
        return self._hold(unit)

    def _take_code(self, unit: Unit) -> str:
        opening = FENCE.search(unit.text)
        fence, info = (opening[1], opening[2].strip().lower()) if opening else ("", "")
        if info.startswith("mermaid"):
            drawn = "" if self._drawn else self._diagram()
            self._drawn = True
            return self._show(replace(unit, text=drawn)) if drawn else self._drop(unit)
        if not re.search(r"\w", without_fences(unit.text)):
            return self._drop(unit)
        cited = self._checker.find_code(unit.text)
        verdict = (
            Verdict("verified", cited) if cited else Verdict("uncited", reason="the evidence does not have this code")
        )
        self._claims.append(_Judged(unit.text.strip(), verdict, shown=True))
        indent = unit.text[: len(unit.text) - len(unit.text.lstrip(" \t>"))] if fence else ""
        end = "" if not fence or _is_closed(unit.text, fence) else f"\n{indent}{fence}"
        below = self.numbering.mark(cited) if cited else _SUGGESTION
        return self._show(replace(unit, text=f"{unit.text}{end}\n\n{indent}{below}"))

    def _hold(self, unit: Unit) -> str:
        self._text.hold(self._cleaned(unit))
        return ""

    def _drop(self, unit: Unit) -> str:
        self._text.drop(unit)
        return ""

    def _show(self, unit: Unit) -> str:
        return self._text.show(self._cleaned(unit))

    def _cleaned(self, unit: Unit) -> Unit:
        return replace(unit, text=clean_reply(unit.text, self._evidence))


def _is_heading(unit: Unit, statement: Statement) -> bool:
    return unit.kind == "heading" and not (statement.cites or statement.ends or len(unit.text) > _LONGEST_HEADING)


def _is_closed(block: str, fence: str) -> bool:
    last = block.rpartition("\n")[2].strip(" \t>")
    return "\n" in block and len(last) >= len(fence) and not last.strip(fence[0])


def _marked(unit: Unit, text: str) -> str:
    if unit.kind == "row" and text.rstrip().endswith("|"):
        return f"{text.rstrip()[:-1].rstrip()}{_NOT_VERIFIED} |"
    return text + _NOT_VERIFIED
