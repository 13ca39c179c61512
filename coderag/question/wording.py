"""Tokens of a question for the classifier: words, signs, and masks in place of names, paths, quotes and numbers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from coderag.question.human_language import load_function_words
from coderag.question.lexicon import fold_text
from coderag.schema.vocabulary import HumanLanguage
from coderag.text.tokenizer import STOP_WORDS

MaskKind = Literal[
    "<code>", "<name>", "<url>", "<quote>", "<path>", "<option>", "<ticket>", "<acronym>", "<number>"
]  # fmt: skip

_SUFFIXES: Final = (
    "py|pyi|[cm]?[jt]sx?|go|rs|java|cs|c|h|cc|cpp|hpp|rb|php|kt|scala|swift|exs?|hs|lua|zig|sh|md|rst|toml|ya?ml|json|sql|tf"
    "|txt|cfg|ini|conf|html|css|vue|lock|proto|xml|ipynb|csv|log|env"
)
_SEGMENT: Final = r"[A-Za-z_$][\w$]*"
_MASKS: Final[Sequence[tuple[MaskKind, str]]] = (
    ("<code>", r"```.*?(?:```|\Z)"),
    ("<name>", r"`[^`\n]{1,200}`"),
    ("<url>", r"\b(?:https?|ssh|file)://\S{1,300}"),
    (
        "<quote>",
        r"\"[^\"\n]{2,200}\"|“[^”\n]{2,200}”|„[^“”\n]{2,200}[“”]|«[^»\n]{2,200}»|「[^」\n]{2,200}」|『[^』\n]{2,200}』"
        r"|(?<!\w)'[^'\n]{2,200}'(?!\w)",
    ),
    (
        "<path>",
        r"(?<![\w/.])(?:[\w.@+-]{0,80}/){1,20}[\w.@+*-]{0,80}[\w*](?:::[\w.:#$]+)?(?::\d+)?(?:-\d+)?/?"
        r"|(?<![\w/.])[\w@+-]{1,80}/(?![\w/])"
        rf"|(?<![\w/.])[\w.-]{{0,80}}\w\.(?:{_SUFFIXES})(?::\d+)?(?:-\d+)?(?![\w/(])",
    ),
    ("<option>", r"(?<![\w-])--?[A-Za-z][\w.-]{0,80}(?:=[^\s?,;]{1,80})?"),
    ("<ticket>", r"(?<![\w#])#\d+\b|\b[A-Z]{2,8}-\d+\b"),
    ("<name>", rf"[@$#&]?{_SEGMENT}(?:(?:\.\#?|::|->|\#){_SEGMENT})+(?:\(\))?|[A-Za-z_$][\w$]*\(\)?|@[A-Za-z]\w*"),
    (
        "<name>",
        r"(?<!\w)(?:[A-Z][a-z0-9]+\w*[A-Z]\w*|[a-z][a-z0-9]*[A-Z]\w*|[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+_?|_+[A-Za-z]\w*"
        r"|[A-Z]{2,}[a-z]\w+)(?!\w)",
    ),
    ("<name>", r"(?<![\w.])[a-z0-9]+(?:[-.:][a-z0-9]+){2,}(?!\w)|(?<![\w.])\.[a-z]\w+(?!\w)"),
    ("<acronym>", r"(?<!\w)[A-Z][A-Z0-9]+s?(?!\w)"),
    ("<number>", r"(?<!\w)v?\d+(?:[.,:/-]\d+)*(?:st|nd|rd|th|ms|s|kb|mb|gb|%)?(?!\w)"),
)
_MASK: Final = re.compile(
    "|".join(f"(?P<m{number}>{pattern})" for number, (_, pattern) in enumerate(_MASKS)), re.DOTALL | re.ASCII
)
_ABBREVIATIONS: Final = frozenset({"e.g", "i.e", "a.k.a", "z.b", "d.h", "u.a", "p.ex"})
_CJK: Final = "\u3040-\u30ff\u3400-\u9fff\uff66-\uff9f"
_TOKEN: Final = re.compile(
    rf"[{_CJK}]+|[^\W_{_CJK}]+(?=['’][a-z]{{1,2}}(?!\w))|['’][a-z]{{1,2}}(?!\w)|[^\W_{_CJK}]+['’]?"
    r"|[?？]|=?->|=>|→|[:：!！,，、;=+&|/]"
)
_OTHER_SCRIPT: Final = re.compile(rf"[{_CJK}\u0400-\u04ff]")
_LATIN_WORD: Final = re.compile(r"[a-z][a-z0-9]+", re.IGNORECASE | re.ASCII)
_SIGNS: Final = str.maketrans({"？": "?", "：": ":", "！": "!", "，": ",", "、": ",", "’": "'", "→": "->"})
_SENTENCE_ENDS: Final = ".?!:\n。？！"
_MAX_END_CHARS: Final = 400
"""Characters at either end of a long question that are read: it asks at its beginning or at its end."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word or sign, or what is masked.

    Attributes:
        text: As it is classified: in lower case, or the mask.
        source: As it was written.
        start: Position of its first character.
        is_stop_word: Whether it is a word of its language that is no search term.
        begins_sentence: Whether nothing of its sentence is before it.
    """

    text: str
    source: str
    start: int
    is_stop_word: bool = False
    begins_sentence: bool = False

    @property
    def is_mask(self) -> bool:
        """Whether it stands for a name, a path, a quote or a number."""
        return self.text[0] == "<" and len(self.text) > 1

    @property
    def is_cjk(self) -> bool:
        """Whether it is a run of Chinese or Japanese signs."""
        return "\u3040" <= self.text[0] <= "\u9fff" or "\uff66" <= self.text[0] <= "\uff9f"

    @property
    def is_word(self) -> bool:
        """Whether it is a word of a language with letters."""
        return self.text[0].isalpha() and not self.is_cjk

    @property
    def end(self) -> int:
        """Position behind its last character."""
        return self.start + len(self.source)


def read_tokens(question: str, language: HumanLanguage = "en") -> list[Token]:
    """Return the tokens of a question; of a long one those at its beginning and its end.

    Args:
        question: The question.
        language: Its human language, for the words that are no search terms.
    """
    if len(question) > 2 * _MAX_END_CHARS:
        rest = len(question) - _MAX_END_CHARS
        head, tail = question[:_MAX_END_CHARS], question[rest:]
        return [*read_tokens(head, language), *(_shift(token, rest) for token in read_tokens(tail, language))]
    names_latin = _OTHER_SCRIPT.search(question) is not None
    tokens = [
        replace(token, begins_sentence=True) if _begins_sentence(token, question) else token
        for token in _iterate_tokens(question, names_latin=names_latin)
    ]
    if language == "en":
        tokens = _mask_capitalized(tokens)
    stop_words = STOP_WORDS | load_function_words(language)
    return [
        replace(token, is_stop_word=True) if token.is_word and _fold(token.text, language) in stop_words else token
        for token in tokens
    ]


def _begins_sentence(token: Token, question: str) -> bool:
    before = question[: token.start].rstrip(" (\"'")
    return not before or before[-1] in _SENTENCE_ENDS


def _mask_capitalized(tokens: Sequence[Token]) -> list[Token]:
    """Mask words with a capital within English sentences, unless most words have one."""
    words = [token for token in tokens if token.is_word]
    capitalized = {
        token.start
        for token in words
        if token.source[0].isupper() and len(token.source) > 1 and not token.begins_sentence
    }
    if 2 * len(capitalized) > len(words):
        return list(tokens)
    return [replace(token, text="<name>") if token.start in capitalized else token for token in tokens]


def _shift(token: Token, offset: int) -> Token:
    return replace(token, start=token.start + offset)


def _fold(text: str, language: HumanLanguage) -> str:
    return text.rstrip("'") if text.isascii() else fold_text(text.rstrip("'"), language)


def _iterate_tokens(question: str, *, names_latin: bool) -> Iterator[Token]:
    """Yield the tokens; in a text of other letters, words in Latin letters are names."""
    end = 0
    for match in _MASK.finditer(question):
        if match[0].lower().rstrip(".") in _ABBREVIATIONS:
            continue
        yield from _read_words(question, end, match.start(), names_latin=names_latin)
        yield Token(_MASKS[int(str(match.lastgroup)[1:])][0], match[0], match.start())
        end = match.end()
    yield from _read_words(question, end, len(question), names_latin=names_latin)


def _read_words(question: str, start: int, end: int, *, names_latin: bool) -> Iterator[Token]:
    for match in _TOKEN.finditer(question, start, end):
        text = match[0].lower().translate(_SIGNS)
        if names_latin and _LATIN_WORD.fullmatch(match[0]):
            text = "<name>"
        yield Token(text, match[0], match.start())
