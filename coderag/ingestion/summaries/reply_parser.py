"""Parser of a language model's reply: one line per numbered target. Unusable lines are rejected."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from coderag.ingestion.parsing.summaries import extract_first_sentence

MISSING: Final = "the reply has no line for it"

_NUMBERED = re.compile(r"\s*(?:[-*]\s+)?(?:\*\*|\[|\()?(\d{1,4})(?:\*\*|\]|\))?\s*[.:)\-–—]\s*(\S.*)")
_MIN_LETTERS = 6  # holds for a Chinese sentence, too
_MIN_COPIED_WORDS = 8  # in a row: more than two English sentences share by chance
_HIDDEN_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
_BOLD = re.compile(r"\*\*(\w[^*]*)\*\*")  # not ``**kwargs``
_QUOTED = re.compile(r"([\"'“‘])((?:(?!\1).)*)[\"'”’]")  # the whole sentence
_REFUSALS = re.compile(r"(?:I['’]m sorry|I am sorry|Sorry,|I cannot|I can['’]t|I['’]m unable|As an AI)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """Sentences and faults of a reply, by target number from 1.

    Attributes:
        sentences: The usable sentences.
        faults: Reasons for the missing ones.
    """

    sentences: Mapping[int, str] = field(default_factory=dict)
    faults: Mapping[int, str] = field(default_factory=dict)


def parse_reply(text: str, number: int, rules: str, find_injections: Callable[[str], Sequence[str]]) -> ParsedReply:
    """Parse a reply to a number of targets.

    Args:
        text: The reply.
        number: Number of targets in the prompt.
        rules: The prompt without its data; a sentence must not copy it.
        find_injections: Returns the phrases of a text that address a language model.
    """
    lines: dict[int, str] = {}
    for line in text.splitlines():
        if (match := _NUMBERED.match(line)) and 1 <= int(match[1]) <= number:
            lines.setdefault(int(match[1]), match[2])
    if number == 1 and not lines and len(plain := text.strip().splitlines()) == 1:
        lines[1] = plain[0]  # asked for one line, some models omit its number
    sentences, faults = {}, {}
    prompt_ngrams = _build_ngrams(rules)
    for position in range(1, number + 1):
        if position not in lines:
            faults[position] = MISSING
            continue
        sentence = clean_sentence(lines[position])
        if fault := _find_fault(sentence, prompt_ngrams, find_injections):
            faults[position] = fault
        else:
            sentences[position] = sentence
    return ParsedReply(sentences, faults)


def clean_sentence(text: str) -> str:
    """Return the first sentence of a text in one line of at most 240 characters, without markup."""
    plain = _BOLD.sub(r"\1", _HIDDEN_CHARACTERS.sub("", text)).strip().removeprefix("** ")  # of ``**1.**``
    return extract_first_sentence(quoted[2] if (quoted := _QUOTED.fullmatch(plain)) else plain)


def _find_fault(sentence: str, prompt_ngrams: frozenset[str], find_injections: Callable[[str], Sequence[str]]) -> str:
    """Return the reason to reject a sentence; empty if it is usable."""
    if sum(character.isalpha() for character in sentence) < _MIN_LETTERS:
        return "the line says nothing"
    if sentence.endswith((":", "：")):  # small models copy the heading of a piece
        return "the line is a heading"
    if _REFUSALS.match(sentence):
        return f"the model refused: {sentence}"
    if prompt_ngrams & _build_ngrams(sentence):
        return "the line is a copy of the prompt"
    if injections := find_injections(sentence):
        return f"the line addresses a language model: {injections[0]}"
    return ""


def _build_ngrams(text: str) -> frozenset[str]:
    """Return the word n-grams of a text, with `_MIN_COPIED_WORDS` words each."""
    words = re.findall(r"\w+", text.lower())
    return frozenset(
        " ".join(words[start : start + _MIN_COPIED_WORDS]) for start in range(len(words) - _MIN_COPIED_WORDS + 1)
    )
