"""Wordings of questions in other languages, and the English wordings that the patterns of intents understand."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

from coderag.question.lexicon import LEXICON_LANGUAGES, fold_text
from coderag.question.protected_spans import MARK
from coderag.schema.vocabulary import HumanLanguage

_SPACELESS: Final = frozenset({"zh", "ja"})
_PUNCTUATION: Final = re.compile(rf"(?:(?!{MARK})[\W_])+")
_SLOT: Final = re.compile(r"\b[ABXY]\b")


class Phrase(NamedTuple):
    """A way to ask: the English wording with slots, and the pattern of the folded question."""

    wording: str
    pattern: re.Pattern[str]


def fold_question(text: str, language: HumanLanguage) -> str:
    """Return a question as the patterns see it: folded, without punctuation, words one space apart."""
    return _PUNCTUATION.sub(" ", fold_text(text, language)).strip()


def word_in_english(text: str, language: HumanLanguage, translate: Callable[[str], str], *, allows_names: bool) -> str:
    """Return the English wording of a question; without a phrase that fits, what `translate` makes of it.

    Args:
        text: The question, folded, with marks for names.
        language: Its language.
        translate: Translates the words of a part.
        allows_names: Whether it may be about the relation of a name: it says little else.
    """
    for phrase in load_phrases(language):
        if "X" in phrase.wording and not allows_names:
            continue
        if (match := phrase.pattern.search(text)) is None:
            continue
        slots = match.groupdict() or {"A": text}
        if phrase.wording.startswith("A "):  # only where to look: the rest is a question of its own
            rest = f"{text[: match.start()]} {slots['A']} {text[match.end() :]}"
            slots["A"] = word_in_english(rest.strip(), language, translate, allows_names=allows_names)
        else:
            slots = {name: slot if name in "XY" else translate(slot) for name, slot in slots.items()}
        if all(slot.strip() for slot in slots.values()):
            return _fill_slots(phrase.wording, slots)
    return translate(text)


def _fill_slots(wording: str, slots: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda slot: slots[slot[0]], wording)


@cache
def load_phrases(language: HumanLanguage) -> list[Phrase]:
    """Load the phrases of a language in their order."""
    lines = (resources.files("coderag.question") / "phrases.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    column = 1 + LEXICON_LANGUAGES.index(language)
    return [
        Phrase(row[0], _compile_template(template, language)) for row in rows for template in row[column].split(" ; ")
    ]


def _compile_template(template: str, language: HumanLanguage) -> re.Pattern[str]:
    """Compile a template into a pattern of folded questions."""
    slots = re.compile(r"\b[ABXY]\b") if language not in _SPACELESS else re.compile(r"[ABXY](?![A-Za-z])")
    text = slots.sub(lambda slot: f"<{slot[0].swapcase()}>", template.strip()).strip(" .")
    text = fold_text(text, language)
    if language in _SPACELESS:
        text = re.sub(r"\s*\.\.\s*", ".*?", re.sub(r"-(?=[|)\s]|$)", "", text))
        text = re.sub(r"\s+", r"\\s*", text)
        edges = ("", "")
    else:
        text = re.sub(r"-(?=[|)\s]|$)", r"\\w*", text)
        text = re.sub(r" \(([^()]*)\)\?", r"(?: (?:\1))?", text)
        text = re.sub(r"^\(([^()]*)\)\? ", r"(?:(?:\1) )?", text)
        text = re.sub(r"\s*\.\.\s*", r"\\s(?:.*?\\s)?", text).replace(" ?$", "$")
        edges = (r"(?<!\w)", r"(?!\w)" if text[-1] != ")" or "(?!" not in text else "")
    text = re.sub("<a>$|<b>$", lambda slot: f"(?P<{slot[0][1].upper()}>.+)$", text)
    text = re.sub("<([ab])>", lambda slot: f"(?P<{slot[1].upper()}>.+?)", text)
    text = re.sub("<([xy])>", lambda slot: f"(?P<{slot[1].upper()}>{MARK})", text)
    return re.compile(f"{edges[0]}{text}{edges[1]}")
