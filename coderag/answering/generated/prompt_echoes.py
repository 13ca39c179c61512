"""Parts of a reply that only repeat the prompt, as small models do."""

import re
from collections.abc import Sequence
from typing import Final

from coderag.answering.generated.citation_marks import CITATION_MARK

_WORD: Final = re.compile(r"\w+")
_MIN_ECHOED_WORDS: Final = 4  # fewer words of the rules may well be an answer


class PromptEchoes:
    """Finder of sentences that are in the prompt's rules, and of headings of the evidence.

    Args:
        rules: Prompt without question, history and evidence.
        headings: Headings of the evidence, as the reader sees their paths.
    """

    def __init__(self, rules: str, headings: Sequence[str] = ()) -> None:
        self._rules = _join_words(CITATION_MARK.sub("", rules))
        self._headings = tuple(map(_join_words, headings))

    def is_echo(self, text: str) -> bool:
        """Return whether a text repeats the rules, or begins with a heading of the evidence."""
        words = _join_words(CITATION_MARK.sub("", text))
        is_rule = words.count(" ") > _MIN_ECHOED_WORDS and words in self._rules
        return is_rule or (bool(self._headings) and _join_words(text).startswith(self._headings))


def _join_words(text: str) -> str:
    """Join the words of a text, each with a blank before and after it."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "
