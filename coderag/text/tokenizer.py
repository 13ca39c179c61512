"""Code-aware tokenizer of the lexical index and the embedded dense model.

Text is split into *raw tokens* (runs of word characters). Each distinct raw token is expanded once into *terms*: the stems
of its parts (camelCase, snake_case, digits) and, for a compound, the complete identifier after ``=``::

    >>> expand_token("parseHTTPRequest_v2")
    ('=parsehttprequestv2', 'pars', 'http', 'request', 'v')
    >>> tokenize_query("where are users' passwords hashed")
    ['user', 'password', 'hash']

Chinese, Japanese and Korean runs have no spaces between words; they become overlapping pairs of characters.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import Stemmer

TOKENIZER_VERSION = 1
"""Part of the index format: terms of different versions are not comparable."""

COMPOUND_PREFIX = "="
"""First character of the term of a complete compound identifier."""

_find_words = re.compile(r"\w+").findall
_ASCII_WORD_TABLE = "".join(chr(code) if chr(code).isalnum() or chr(code) == "_" else " " for code in range(128))
"""Translation of ASCII characters before splitting at spaces."""

_ASCII_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+").findall
_CJK = re.compile(
    r"[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_WORD_BREAK = re.compile(r"[\W\d_]+")
_snowball = Stemmer.Stemmer("english", 0).stemWord  # without a cache: `stem` has one

_MAX_COMPOUND_CHARS = 64  # a longer raw token is data (base64, a hash), not an identifier
_MAX_PARTS = 24
_MAX_NUMBER_DIGITS = 4  # years and ports are terms; longer digit runs are data
_MIN_STEMMED_CHARS = 4

STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "do",
        "does",
        "for",
        "from",
        "has",
        "have",
        "how",
        "if",
        "in",
        "is",
        "it",
        "its",
        "me",
        "my",
        "not",
        "of",
        "on",
        "or",
        "s",
        "show",
        "t",
        "the",
        "to",
        "was",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whose",
        "why",
        "with",
        "this",
        "that",
        "via",
        "using",
        "use",
        "used",
        "uses",
        "into",
        "between",
        "each",
        "than",
        "then",
        "them",
        "they",
        "can",
        "could",
        "should",
        "would",
        "will",
        "you",
        "your",
        "i",
        "we",
        "our",
        "there",
        "their",
        "these",
        "those",
        "while",
        "during",
        "after",
        "before",
        "about",
        "any",
        "all",
        "both",
        "but",
        "being",
        "been",
        "were",
        "so",
        "such",
        "please",
    ]
)
"""Words without information about code. Dropped from queries only, never from the index."""


@lru_cache(1 << 16)
def stem(word: str) -> str:
    """Return the Snowball English stem of a lower-case word; short words and other scripts stay unchanged."""
    return _snowball(word) if len(word) >= _MIN_STEMMED_CHARS else word


@lru_cache(1 << 14)
def split_identifier(raw: str) -> tuple[str, ...]:
    """Split a raw token into its lower-case parts, digits included: ``getURLPath2`` → ``get url path 2``."""
    if raw.isascii():
        return tuple(part.lower() for part in _ASCII_PARTS(raw))
    return tuple(_split_unicode(unicodedata.normalize("NFKC", raw)))


def split_raw_tokens(text: str) -> list[str]:
    """Split text into raw tokens, in order."""
    # Twice as fast as the regular expression, and almost all code is ASCII.
    return (
        text.translate(_ASCII_WORD_TABLE).split() if text.isascii() else _find_words(unicodedata.normalize("NFC", text))
    )


def _split_unicode(raw: str) -> Iterator[str]:
    """Yield the parts of a non-ASCII token: pairs of CJK characters, and words split at case changes and digits."""
    position = 0
    for run in _CJK.finditer(raw):
        yield from _split_cased_words(raw[position : run.start()])
        characters = run.group()
        if len(characters) == 1:
            yield characters
        else:
            yield from (first + second for first, second in pairwise(characters))
        position = run.end()
    yield from _split_cased_words(raw[position:])


def _split_cased_words(text: str) -> Iterator[str]:
    for word in _WORD_BREAK.split(text):
        start = 0
        for index in range(1, len(word)):
            if word[index].isupper() and word[index - 1].islower():
                yield word[start:index].casefold()
                start = index
        if word[start:]:
            yield word[start:].casefold()


@lru_cache(1 << 15)
def expand_token(raw: str) -> tuple[str, ...]:
    """Return the terms of a raw token: the identifier (``=`` and lower case) if it is a compound, and its stems."""
    if raw.isascii() and raw.isalpha() and raw.islower():  # most are one word
        return (stem(raw),)
    parts = split_identifier(raw)
    if not parts:
        return ()
    if len(parts) == 1:
        only = parts[0]
        return () if only.isdigit() and len(only) > _MAX_NUMBER_DIGITS else (stem(only),)
    stems = tuple(stem(part) for part in parts if not part.isdigit())
    return stems[:_MAX_PARTS] if len(raw) > _MAX_COMPOUND_CHARS else (make_compound_term(raw), *stems)


def make_compound_term(identifier: str) -> str:
    """Return the term of a compound identifier, independent of its spelling: ``max_size`` = ``maxSize``."""
    return COMPOUND_PREFIX + unicodedata.normalize("NFKC", identifier).replace("_", "").casefold()


def tokenize_text(text: str) -> list[str]:
    """Return all terms of a text, in order, with repetitions."""
    return [term for raw in split_raw_tokens(text) for term in expand_token(raw)]


def extract_content_words(query: str) -> list[str]:
    """Return a query's raw tokens without stop words; a query of stop words only retains them."""
    raws = split_raw_tokens(query)
    return [raw for raw in raws if raw.lower() not in STOP_WORDS] or raws


def tokenize_query(query: str) -> list[str]:
    """Return the terms of a query without stop words, in order, with repetitions."""
    return [term for raw in extract_content_words(query) for term in expand_token(raw)]


def tokenize_path(path: str) -> list[str]:
    """Return the terms of a path: its file name without extension twice, its last two folders once."""
    *folders, name = path.split("/")
    stem_terms = tokenize_text(name.rsplit(".", 1)[0])
    return stem_terms * 2 + [term for folder in folders[-2:] for term in tokenize_text(folder)]
