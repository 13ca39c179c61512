"""Detect the human language of a question: English, or one that the lexicon has.

Names, paths, quotes and code do not count: they are the same in every language.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final, Literal

from coderag.models.providers import load_word_vectors
from coderag.question.lexicon import Lexicon, fold_letters, fold_text, load_english_stems, load_lexicon
from coderag.question.protected_spans import protect_spans
from coderag.schema.vocabulary import HumanLanguage
from coderag.text.tokenizer import stem

_SIGNS: Final[Mapping[HumanLanguage, frozenset[str]]] = {
    "de": frozenset("äöüß"),
    "fr": frozenset("éèêëàâçîïôûùœ"),
    "es": frozenset("¿¡ñáéíóú"),
    "pt": frozenset("ãõáâàéêíóôúç"),
}
_WORD: Final = re.compile(r"[^\W\d_]+")
_UPPER_WORD: Final = re.compile(r"\b[A-Z]{2,}\b")
_HAN_LANGUAGES: Final[tuple[HumanLanguage, ...]] = ("zh", "ja")
_KANA: Final = re.compile(r"[\u3040-\u30fa\uff66-\uff9f]")
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_CHINESE_SIGNS: Final = frozenset(
    "的是在了吗嗎呢哪怎么麼什这這那没沒们們个個为為把让讓"
)  # in Japanese, kana stand for them
_CYRILLIC: Final = re.compile(r"[\u0400-\u04ff]")
_CYRILLIC_WORD: Final = re.compile(r"[\u0400-\u04ff]+")
_MIN_SCRIPT_LETTERS: Final = 3  # of Cyrillic; a single letter is an example of one
_MAX_CHARS: Final = 4_000  # the beginning of a long report is enough
_OTHER_SCRIPT: Final = re.compile(r"[\u0400-\u04ff\u3040-\u9fff\uff66-\uff9f]")
_OTHER_LETTERS: Final = re.compile(r"[^\W\d_\u0000-\u00ff\u0152\u0153\ue000-\uf8ff]")
"""Letters of none of the languages with Latin letters."""
_SIGN_WEIGHT, _MAX_SIGN_SCORE = 0.5, 1.0
_CERTAIN_SCORE, _LIKELY_SCORE = 2.0, 1.5  # function words more than English ones; without an English one
_SURE_WORD: Final = 2.0  # what a word counts that is certainly of the language
_LONG_WORD_CHARS: Final = 9
_LOANWORDS: Final = frozenset({"résumé", "exposé", "façade", "naïve", "café", "cliché", "déjà", "über"})
_MIN_EVIDENCE_CHARS: Final = 4  # of a word of the lexicon that tells a language from English


@cache
def load_function_words(language: HumanLanguage | Literal["ambiguous"]) -> frozenset[str]:
    """Load the folded words of a language that are no search terms; ``ambiguous`` are English words or names as well."""
    text = (resources.files("coderag.question") / "function_words.txt").read_text(encoding="utf-8")
    prefix = f"{language} | "
    lines = (line.removeprefix(prefix) for line in text.splitlines() if line.startswith(prefix))
    return frozenset(word for line in lines for word in line.split())


def detect_language(query: str) -> HumanLanguage:
    """Detect the language of a question; ``en`` for English and for every language that the lexicon lacks."""
    head = query[:_MAX_CHARS]
    if head.isascii() and " " not in head.strip():
        return "en"  # a name, or one word that may be one
    if head.isascii() and _has_english_majority(head):
        return "en"
    text = protect_spans(head).text
    return (_detect_script(text) if _OTHER_SCRIPT.search(text) else None) or _detect_latin(text)


def _has_english_majority(text: str) -> bool:
    """Return whether plain English words make everything else superfluous, which is the common and cheap case."""
    words = set(text.lower().split())
    english = len(words & load_function_words("en"))
    return english > 0 and english >= max(len(words & cues) for cues in _get_cues().values())


@cache
def _get_cues() -> Mapping[HumanLanguage, frozenset[str]]:
    """Return the function words of the languages with Latin letters."""
    return {language: load_function_words(language) for language in ("de", "fr", "es", "pt")}


def _detect_script(text: str) -> HumanLanguage | None:
    """Return the language of a question in another script; None if the question around it is in Latin letters."""
    han, kana, cyrillic = (len(pattern.findall(text)) for pattern in (_HAN, _KANA, _CYRILLIC))
    if not han + kana and cyrillic < _MIN_SCRIPT_LETTERS:
        return None
    latin_words = [word for word in _WORD.findall(fold_letters(text)) if word.isascii()]
    english = len(load_function_words("en").intersection(latin_words))
    other_words = han + kana + len(_CYRILLIC_WORD.findall(text))
    if english > 1 or len(latin_words) * (2 if english else 1) > other_words:
        return None
    if cyrillic >= max(_MIN_SCRIPT_LETTERS, han + kana):
        return "ru"
    if kana or not _CHINESE_SIGNS.isdisjoint(text):
        return "ja" if kana else "zh"
    chinese, japanese = (
        load_lexicon(language).count_covered_characters(text, load_function_words(language))
        for language in _HAN_LANGUAGES
    )
    return "ja" if japanese > chinese else "zh"


def _detect_latin(text: str) -> HumanLanguage:
    """Return the language of a question in Latin letters, by its function words, its accents and the lexicon."""
    written = list(dict.fromkeys(_WORD.findall(_UPPER_WORD.sub(" ", unicodedata.normalize("NFC", text)).lower())))
    words = list(map(fold_letters, written))
    if _OTHER_LETTERS.search(text) or all(len(word) == 1 for word in words):
        return "en"
    english = len(load_function_words("en").intersection(words))
    signs = set() if text.isascii() else set(text.lower())
    scores: dict[HumanLanguage, float] = {
        language: sum(_weigh_cue(*pair) for pair in zip(words, written, strict=True) if pair[0] in cues)
        + min(_MAX_SIGN_SCORE, _SIGN_WEIGHT * len(signs & _SIGNS[language]))
        for language, cues in _get_cues().items()
    }
    if "¿" in signs or "¡" in signs:
        scores["es"] += _SURE_WORD
    second, best = sorted(scores.values())[-2:]
    if best <= english and (best or english or len(words) == 1):  # one word may be a name
        return "en"
    if best - max(second, english) >= _CERTAIN_SCORE:
        return max(scores, key=scores.__getitem__)
    if not best and text.isascii() and any(stem(word) in load_word_vectors() for word in words):
        return "en"  # without a function word, every word must be of the language
    candidates = [language for language in scores if scores[language] or not best]
    weights = {language: _weigh_lexicon_words(language, written) for language in candidates}
    language = max(candidates, key=lambda candidate: (scores[candidate] + sum(weights[candidate]), scores[candidate]))
    score, count = scores[language], sum(weights[language])
    if english:
        return language if score - english >= _CERTAIN_SCORE else "en"
    is_all = len(words) > 1 and all(
        weight or word in load_function_words(language) for weight, word in zip(weights[language], words, strict=True)
    )
    has_accent = any(weight and not word.isascii() for weight, word in zip(weights[language], written, strict=True))
    is_likely = (
        score >= _LIKELY_SCORE
        or (score >= 1 and (count or is_all))
        or (score and (count > 1 or (count and is_all)))
        or (count >= _SURE_WORD and (has_accent or is_all))  # alone, it may be two English words written as one
    )
    return language if is_likely else "en"


def _weigh_cue(word: str, written: str) -> float:
    """Return how much a function word tells: one that is long or has accents is no English word, name or abbreviation."""
    if word in load_function_words("ambiguous") and written.isascii():
        return 0.5 if len(word) > 1 else 0.25  # a letter is also a name, an option or what is left of "don't"
    return 1.0 if len(word) < _MIN_EVIDENCE_CHARS and written.isascii() else _LIKELY_SCORE


def _weigh_lexicon_words(language: HumanLanguage, words: Sequence[str]) -> list[float]:
    """Weigh each word: 0 unless the lexicon has it and it looks like no English word; with accents or a compound, more."""
    lexicon, functional = load_lexicon(language), load_function_words(language)
    return [0.0 if fold_text(word, language) in functional else _weigh_word(lexicon, language, word) for word in words]


def _weigh_word(lexicon: Lexicon, language: HumanLanguage, word: str) -> float:
    folded, is_accented = fold_text(word, language), not word.isascii()
    if (
        len(word) < _MIN_EVIDENCE_CHARS
        or word in _LOANWORDS
        or (not is_accented and stem(word) in load_english_stems())
    ):
        return 0.0
    parts = lexicon.translate_word(folded)
    if not parts or (not is_accented and stem(word) in load_word_vectors()):  # those are of English text about code
        return 0.0
    is_compound = language == "de" and (len(parts) > 1 or len(word) >= _LONG_WORD_CHARS)
    return _SURE_WORD if is_accented or is_compound else 1.0
