"""Cut a paragraph into sentences while it comes, each with the citations behind its full stop.

A sentence ends where what follows can no longer change that: dots in names, numbers and abbreviations end none, nor does
anything within code, quotation marks, links or bold type. Languages without spaces or capitals have theirs as well.
"""

import re
from collections.abc import Iterator
from typing import Final

from coderag.answering.generated.citation_marks import MARK, OPENERS

_PLAIN = re.compile(r"[^`\[【［<*\"“„«「『\\.!?…。！？．｡؟۔।]+")
_STOP = re.compile(r"[.!?…؟۔।]+|[。！？．｡]+")
_WIDE_STOPS: Final = frozenset("。！？．｡")
_BEHIND_STOP = re.compile(r"(?:\*\*|[*_\"'”’»)）」』])*")
_BLANK = re.compile(r"(?:[ \t]|\n[ \t]*(?:>[ \t]?)*)*")
_QUOTES: Final = {'"': '"', "“": "”", "„": "“”", "«": "»", "「": "」", "『": "』"}
_TAG = re.compile(r"<[A-Za-z/!?]")
_BACKTICKS = re.compile(r"`+")
_ABBREVIATION = re.compile(
    r"(?<![^\W\d_])(?:[^\W\d_]|e\.g|i\.e|cf|vs|viz|al|approx|incl|excl|resp|fig|eq|sec|dr|mr|mrs|ms|prof|st|ca|z\.\s?b|d\.\s?h|u\.\s?a"
    r"|bzw|vgl|p\.\s?ex|p\.\s?ej|ej|т\.\s?е|т\.\s?д)\.$|(?:^|[\s:(])\d{1,2}\.$",
    re.IGNORECASE,
)
_GOES_ON: Final = frozenset(",;:，；：")  # behind a citation
_LONGEST_ABBREVIATION = 12


class SentenceScanner:
    """Holds what is left of one paragraph."""

    def __init__(self) -> None:
        self._text = ""
        self._lead = ""  # white space before what is left
        self._at = 0  # all before this position is scanned
        self._bold = False
        self._cited_to = -1  # where the last citation ended

    @property
    def left(self) -> str:
        """What no sentence was made of yet, with the white space before it."""
        return self._lead + self._text

    def add(self, text: str) -> None:
        """Take more of the paragraph."""
        self._text += text

    def sentences(self, *, last: bool) -> Iterator[tuple[str, str]]:
        """Yield the sentences that are complete, each behind the white space before it.

        Args:
            last: Whether the paragraph has ended; then white space at its end is all that is left.
        """
        while (end := self._boundary(last=last)) is not None:
            yield self._lead, self._text[:end]
            self._cut(end)
        if last:
            end = len(self._text.rstrip())
            if end:
                yield self._lead, self._text[:end]
                self._cut(end)

    def _cut(self, end: int) -> None:
        blank = _BLANK.match(self._text, end)
        assert blank is not None
        self._lead, self._text = blank[0], self._text[blank.end() :]
        self._at, self._bold, self._cited_to = 0, False, -1

    def _boundary(self, *, last: bool) -> int | None:
        """Return where the first sentence ends, if that is known."""
        while self._at < len(self._text):
            if plain := _PLAIN.match(self._text, self._at):
                self._at = plain.end()
                continue
            if stop := _STOP.match(self._text, self._at):
                if stop.end() == len(self._text) and not last:
                    return None
                end, behind = self._end_of_sentence(stop, last=last)
                if behind is None:
                    return None
                self._at = behind
                if end:
                    return behind
                continue
            behind = self._behind_span(last=last)
            if behind is None:
                return None
            self._at = behind
        return None

    def _behind_span(self, *, last: bool) -> int | None:
        """Return where code, a quotation, a link or the like ends that begins here; None if that is not known yet."""
        text, at = self._text, self._at
        sign = text[at]
        if sign == "`":
            return self._behind_code(last=last)
        if sign in OPENERS:
            return self._behind_bracket(at, last=last)
        if at + 1 == len(text):  # the next sign says what this one is
            return at + 1 if last else None
        if sign in _QUOTES or (sign == "<" and _TAG.match(text, at)):
            return self._behind(_QUOTES.get(sign, ">"), at + 1, last=last)
        bold = text.startswith("**", at)
        self._bold ^= bold
        return at + 1 + (bold or sign == "\\")

    def _behind(self, closers: str, start: int, *, last: bool) -> int | None:
        """Return the position behind the first closing sign; `start` if the paragraph has none."""
        ends = [end for closer in closers if (end := self._text.find(closer, start)) >= 0]
        if ends:
            return min(ends) + 1
        return start if last else None

    def _behind_code(self, *, last: bool) -> int | None:
        opening = _BACKTICKS.match(self._text, self._at)
        assert opening is not None
        if opening.end() == len(self._text) and not last:
            return None
        closing = re.compile(rf"(?<!`){opening[0]}(?!`)").search(self._text, opening.end())
        if closing and (closing.end() < len(self._text) or last):
            return closing.end()
        return opening.end() if last else None

    def _behind_bracket(self, start: int, *, last: bool) -> int | None:
        end = self._behind(OPENERS[self._text[start]], start + 1, last=last)
        if end is None or (end == len(self._text) and not last):
            return None
        if self._text[end : end + 1] == "(" and end > start + 1:
            end = self._behind(")", end + 1, last=last)
        if end is not None and MARK.fullmatch(self._text, start, end):
            self._cited_to = end
        return end

    def _end_of_sentence(self, stop: re.Match[str], *, last: bool) -> tuple[bool, int | None]:
        """Return whether a sentence ends behind a full stop, and where to go on; None if more must be known."""
        text, wide = self._text, stop[0][-1] in _WIDE_STOPS
        closers = _BEHIND_STOP.match(text, stop.end())
        assert closers is not None
        cited = self._cited_to == stop.start()
        end = self._behind_citations(closers.end(), last=last)
        if end is None:
            return False, None
        cited = cited or end > closers.end()
        blank = _BLANK.match(text, end)
        assert blank is not None
        if blank.end() == len(text):
            return False, (end if last else None)
        if self._bold ^ (closers[0].count("**") % 2 == 1):
            return False, stop.end()
        if cited or wide:
            return text[end] not in _GOES_ON, end
        before = text[max(0, stop.end() - _LONGEST_ABBREVIATION) : stop.end()]
        abbreviated = stop[0] == "." and _ABBREVIATION.search(before)
        ends = blank.end() > end and not text[blank.end()].islower() and not abbreviated
        return ends, end if ends else stop.end()

    def _behind_citations(self, end: int, *, last: bool) -> int | None:
        """Return where the citations end that begin at a position, with a full stop behind them; None if that is not known."""
        text = self._text
        while True:
            blank = _BLANK.match(text, end)
            assert blank is not None
            if blank.end() == len(text):
                return end if last else None
            if text[blank.end()] not in OPENERS:
                return end
            behind = self._behind_bracket(blank.end(), last=last)
            if behind is None or not MARK.fullmatch(text, blank.end(), behind):
                return end if behind else None
            end = behind
            if end == len(text) and not last:
                return None
            end += text[end : end + 1] in (".", "。")
