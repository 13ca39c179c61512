"""Search for the code that writes a message, with any values in it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.schema.query import Analysis
from coderag.stores.corpus import Corpus
from coderag.text.message_templates import TemplateMatch, iter_templates, split_message_words
from coderag.text.tokenizer import tokenize_text

_MAX_CHUNKS: Final = 50  # by all words of a message, and again by those that are no values
_MIN_CHUNK_WORDS: Final = 2  # of a message, without stop words
_MIN_SHARE: Final = 0.6  # of a message's words
_MIN_BEGINNING_WORDS: Final = 4  # of a template that is the beginning of a message in several parts
_MIN_MESSAGE_WORDS: Final = 3
_MAX_MESSAGE_CHARS: Final = 500
_LAST_ROLES: Final = frozenset({"test", "docs"})
"""Roles of files that repeat messages of the code."""

_VALUES: Final = re.compile(r"([\"'`]).*?\1|\S*[\d/@]\S*|\([^()]*\)")
_ERROR_NAME: Final = re.compile(
    r"^\W*(?:E\s+)?(?:[\w.:]*(?:Error|Exception|Warning|panic|fatal)\w*)\s*:\s*", re.IGNORECASE
)
_COMMENT: Final = re.compile(r"\s*(?://|#(?!\{|\[)|/?\*(?!\w)|--)")


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """Lines of a chunk that write a message.

    Attributes:
        row: Row of the chunk.
        start_line, end_line: Lines of the literals.
        role: Role of the file.
        match: Match of the template in the message.
    """

    row: int
    start_line: int
    end_line: int
    role: str
    match: TemplateMatch

    @property
    def is_repeated(self) -> bool:
        """Return whether the file only repeats what code writes, as tests and documents do."""
        return self.role in _LAST_ROLES

    @property
    def is_complete(self) -> bool:
        """Return whether the template explains most of the message."""
        return self.match.share >= _MIN_SHARE


def list_messages(analysis: Analysis) -> list[str]:
    """Return the texts of a question that may be messages with values: what it quotes, logs or consists of."""
    if report := analysis["report"]:
        is_alone = "\n" not in analysis["question"].strip()  # else what the report tells decides
        texts = report["messages"] if is_alone else []
    else:
        quoted = [text for text in analysis["literals"] if " " in text]
        alone = [analysis["question"]] if analysis["is_statement"] else []
        texts = [*quoted, *analysis["messages"], *alone]
    messages = dict.fromkeys(strip_error_name(text[:_MAX_MESSAGE_CHARS]) for text in texts)
    return [text for text in messages if len(split_message_words(text)) >= _MIN_MESSAGE_WORDS]


def strip_error_name(message: str) -> str:
    """Return a message without the name of an error that a program writes before it."""
    return _ERROR_NAME.sub("", message)


def find_message_places(corpus: Corpus, message: str, allowed: NDArray[np.bool_] | None = None) -> list[MessagePlace]:
    """Find where code writes a message, the most specific template first, tests and documents last.

    A template that is only the beginning of the message counts if no template explains most of it.

    Args:
        corpus: The open index.
        message: The message as it was logged.
        allowed: bool (n_chunks,), chunks that may be results; None if all may.
    """
    words = frozenset(split_message_words(message))
    best: dict[tuple[int, int], MessagePlace] = {}
    rows = [row for row in _rank_rows(corpus, message) if allowed is None or allowed[row]]
    for row, text in zip(rows, corpus.read_texts(rows), strict=True):
        for place in _iter_places(corpus, row, text, message, words):
            key = row, place.start_line
            if key not in best or _rank(best[key]) > _rank(place):
                best[key] = place
    places = sorted(best.values(), key=_rank)
    complete = [place for place in places if place.is_complete]
    return complete or [place for place in places if place.match.starts]


def _rank(place: MessagePlace) -> tuple[bool, bool, float, int, int]:
    specificity = place.match.word_count * place.match.share
    return place.is_repeated, not place.is_complete, -specificity, place.end_line - place.start_line, place.row


def _iter_places(corpus: Corpus, row: int, text: str, message: str, words: frozenset[str]) -> Iterator[MessagePlace]:
    first = int(corpus.start_lines[row])
    for template in iter_templates(text, words):
        match = None if _is_comment(text, template.start) else template.match(message)
        is_beginning = match is not None and match.starts and match.word_count >= _MIN_BEGINNING_WORDS
        if match is not None and (match.share >= _MIN_SHARE or is_beginning):
            start = first + text.count("\n", 0, template.start)
            end = start + text.count("\n", template.start, template.end)
            yield MessagePlace(row, start, end, corpus.get_value("role", row), match)


def _is_comment(text: str, position: int) -> bool:
    return _COMMENT.match(text, text.rfind("\n", 0, position) + 1) is not None


def _rank_rows(corpus: Corpus, message: str) -> Sequence[int]:
    """Return the chunks that have most of a message's words, and those with most of its words outside of values."""
    rows = dict.fromkeys(_rank_by_words(corpus, split_message_words(message)))
    rows.update(dict.fromkeys(_rank_by_words(corpus, split_message_words(_VALUES.sub(" ", message)))))
    return list(rows)


def _rank_by_words(corpus: Corpus, words: Sequence[str]) -> list[int]:
    scores, counts = np.zeros(corpus.n_chunks, np.float32), np.zeros(corpus.n_chunks, np.uint16)
    for term in dict.fromkeys(term for word in words for term in tokenize_text(word)):
        rows = corpus.find_chunks_with_term(term)
        scores[rows] += corpus.idf(term)
        counts[rows] += 1
    candidates = np.flatnonzero(counts >= _MIN_CHUNK_WORDS)
    order = np.argsort(-scores[candidates], kind="stable")[:_MAX_CHUNKS]
    return [int(row) for row in candidates[order]]
