"""Incremental sentence segmentation, with the citations after each full stop.

A sentence ends where later text can no longer change that. Dots in names, numbers and abbreviations do not end one,
nor does anything in code, quotations, links or bold type. Languages without spaces or capitals are supported.
"""

import re
from collections.abc import Iterator
from typing import Final

from coderag.answering.generated.citation_marks import CITATION_MARK, MARK_CLOSERS

_PLAIN_TEXT = re.compile(r"[^`\[【［<*\"“„«「『\\.!?…。！？．｡؟۔।]+")
_FULL_STOP = re.compile(r"[.!?…؟۔।]+|[。！？．｡]+")
_WIDE_STOPS: Final = frozenset("。！？．｡")
_CLOSERS_AFTER_STOP = re.compile(r"(?:\*\*|[*_\"'”’»)）」』])*")
_BLANK = re.compile(r"(?:[ \t]|\n[ \t]*(?:>[ \t]?)*)*")
_QUOTES: Final = {'"': '"', "“": "”", "„": "“”", "«": "»", "「": "」", "『": "』"}
_TAG = re.compile(r"<[A-Za-z/!?]")
_BACKTICKS = re.compile(r"`+")
_ABBREVIATION = re.compile(
    r"(?<![^\W\d_])(?:[^\W\d_]|e\.g|i\.e|cf|vs|viz|al|approx|incl|excl|resp|fig|eq|sec|dr|mr|mrs|ms|prof|st|ca|z\.\s?b|d\.\s?h|u\.\s?a"
    r"|bzw|vgl|p\.\s?ex|p\.\s?ej|ej|т\.\s?е|т\.\s?д)\.$|(?:^|[\s:(])\d{1,2}\.$",
    re.IGNORECASE,
)
_CONTINUATION_SIGNS: Final = frozenset(",;:，；：")  # after a citation
_MAX_ABBREVIATION_CHARS = 12


class SentenceScanner:
    """Scanner of one paragraph."""

    def __init__(self) -> None:
        self._text = ""
        self._lead = ""  # white space before the remainder
        self._position = 0  # text before this position is scanned
        self._is_bold = False
        self._citation_end = -1  # end of the last citation

    @property
    def remainder(self) -> str:
        """Text of no complete sentence yet, with its leading white space."""
        return self._lead + self._text

    def feed(self, text: str) -> None:
        """Feed more of the paragraph."""
        self._text += text

    def split_sentences(self, *, last: bool) -> Iterator[tuple[str, str]]:
        """Yield the complete sentences, each with its leading white space.

        Args:
            last: Whether the paragraph has ended; then only trailing white space remains.
        """
        while (end := self._find_boundary(last=last)) is not None:
            yield self._lead, self._text[:end]
            self._consume(end)
        if last:
            end = len(self._text.rstrip())
            if end:
                yield self._lead, self._text[:end]
                self._consume(end)

    def _consume(self, end: int) -> None:
        blank = _BLANK.match(self._text, end)
        assert blank is not None
        self._lead, self._text = blank[0], self._text[blank.end() :]
        self._position, self._is_bold, self._citation_end = 0, False, -1

    def _find_boundary(self, *, last: bool) -> int | None:
        """Find the end of the first sentence, if decided."""
        while self._position < len(self._text):
            if plain := _PLAIN_TEXT.match(self._text, self._position):
                self._position = plain.end()
                continue
            if stop := _FULL_STOP.match(self._text, self._position):
                if stop.end() == len(self._text) and not last:
                    return None
                end, next_position = self._classify_stop(stop, last=last)
                if next_position is None:
                    return None
                self._position = next_position
                if end:
                    return next_position
                continue
            next_position = self._find_span_end(last=last)
            if next_position is None:
                return None
            self._position = next_position
        return None

    def _find_span_end(self, *, last: bool) -> int | None:
        """Find the end of the code, quotation or link that starts here; None if undecided."""
        text, position = self._text, self._position
        sign = text[position]
        if sign == "`":
            return self._find_code_end(last=last)
        if sign in MARK_CLOSERS:
            return self._find_bracket_end(position, last=last)
        if position + 1 == len(text):  # the next character decides
            return position + 1 if last else None
        if sign in _QUOTES or (sign == "<" and _TAG.match(text, position)):
            return self._find_closer_end(_QUOTES.get(sign, ">"), position + 1, last=last)
        bold = text.startswith("**", position)
        self._is_bold ^= bold
        return position + 1 + (bold or sign == "\\")

    def _find_closer_end(self, closers: str, start: int, *, last: bool) -> int | None:
        """Find the position after the first closing character; `start` if the paragraph has none."""
        ends = [end for closer in closers if (end := self._text.find(closer, start)) >= 0]
        if ends:
            return min(ends) + 1
        return start if last else None

    def _find_code_end(self, *, last: bool) -> int | None:
        opening = _BACKTICKS.match(self._text, self._position)
        assert opening is not None
        if opening.end() == len(self._text) and not last:
            return None
        closing = re.compile(rf"(?<!`){opening[0]}(?!`)").search(self._text, opening.end())
        if closing and (closing.end() < len(self._text) or last):
            return closing.end()
        return opening.end() if last else None

    def _find_bracket_end(self, start: int, *, last: bool) -> int | None:
        end = self._find_closer_end(MARK_CLOSERS[self._text[start]], start + 1, last=last)
        if end is None or (end == len(self._text) and not last):
            return None
        if self._text[end : end + 1] == "(" and end > start + 1:
            end = self._find_closer_end(")", end + 1, last=last)
        if end is not None and CITATION_MARK.fullmatch(self._text, start, end):
            self._citation_end = end
        return end

    def _classify_stop(self, stop: re.Match[str], *, last: bool) -> tuple[bool, int | None]:
        """Return whether a full stop ends the sentence, and the next position; None if undecided."""
        text, is_wide = self._text, stop[0][-1] in _WIDE_STOPS
        closers = _CLOSERS_AFTER_STOP.match(text, stop.end())
        assert closers is not None
        is_cited = self._citation_end == stop.start()
        end = self._find_citations_end(closers.end(), last=last)
        if end is None:
            return False, None
        is_cited = is_cited or end > closers.end()
        blank = _BLANK.match(text, end)
        assert blank is not None
        if blank.end() == len(text):
            return False, (end if last else None)
        if self._is_bold ^ (closers[0].count("**") % 2 == 1):
            return False, stop.end()
        if is_cited or is_wide:
            return text[end] not in _CONTINUATION_SIGNS, end
        preceding = text[max(0, stop.end() - _MAX_ABBREVIATION_CHARS) : stop.end()]
        is_abbreviated = stop[0] == "." and _ABBREVIATION.search(preceding)
        ends = blank.end() > end and not text[blank.end()].islower() and not is_abbreviated
        return ends, end if ends else stop.end()

    def _find_citations_end(self, end: int, *, last: bool) -> int | None:
        """Find the end of citations at a position, with a full stop after them; None if undecided."""
        text = self._text
        while True:
            blank = _BLANK.match(text, end)
            assert blank is not None
            if blank.end() == len(text):
                return end if last else None
            if text[blank.end()] not in MARK_CLOSERS:
                return end
            bracket_end = self._find_bracket_end(blank.end(), last=last)
            if bracket_end is None or not CITATION_MARK.fullmatch(text, blank.end(), bracket_end):
                return end if bracket_end else None
            end = bracket_end
            if end == len(text) and not last:
                return None
            end += text[end : end + 1] in (".", "。")
