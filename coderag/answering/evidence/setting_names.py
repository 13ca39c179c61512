"""Names of settings: their words in any convention, and whether a line's name is that of a key."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from coderag.retrieval.literal_text import strip_signs
from coderag.stores.symbol_table import fold_name, split_qualified
from coderag.text.tokenizer import split_identifier, split_raw_tokens, tokenize_text

DEFAULT_WORD: Final = "default"
_SET: Final = re.compile(r"^\s*(?:\w+\s+)*?([\w$.@\->]+)\s*(?::|=(?![=>])|\+=)")


def split_words(key: str) -> list[str]:
    """Split a key into its words, in lower case."""
    return [word.lower() for raw in split_raw_tokens(key) for word in split_identifier(raw)]


def get_last_part(name: str) -> str:
    """Return the last part of a qualified name, without signs and in one convention."""
    return (split_qualified(name) or [name])[-1].strip("-$@")


def matches_key(name: str, wanted: str) -> bool:
    """Return whether a name of code is that of a key, whatever the convention, perhaps with "default"."""
    folded = fold_name(get_last_part(name))
    folded_name = fold_name(strip_signs(name)).replace(".", "")
    return wanted in (folded, folded_name) or folded in (f"{DEFAULT_WORD}{wanted}", f"{wanted}{DEFAULT_WORD}")


def has_key(name: str, wanted: str) -> bool:
    """Return whether a name in a value is that of the key, which is only handed on or read then."""
    return wanted in (fold_name(get_last_part(name)), fold_name(name).replace(".", ""))


def has_quote(text: str) -> bool:
    """Return whether a text has a quotation mark of a literal."""
    return "'" in text or '"' in text


def is_passed_on(line: str, wanted: Sequence[str]) -> bool:
    """Return whether a line only declares or sets a name, perhaps to what has the same name: ``x: int,``, ``self.x = x``."""
    match = _SET.match(line)
    return match is not None and any(has_key(match[1], key) for key in wanted)


def compute_word_share(text: str, term_idf: Mapping[str, float]) -> float:
    """Compute which share of the question's words a text has, 0 to 1, weighted by IDF."""
    total = sum(term_idf.values())
    shared = sum(term_idf.get(term, 0.0) for term in set(tokenize_text(text)) - {DEFAULT_WORD})
    return shared / total if total else 0.0
