"""Find the code that writes a message which a question quotes, though the code has it in parts and with values left open."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from textwrap import dedent
from typing import Final

import numpy as np

from coderag.answering.draft import Lines
from coderag.answering.extractive.index import Index
from coderag.answering.extractive.writer import Writer, code
from coderag.schema import Role
from coderag.state import QueryState
from coderag.tokens import raw_tokens, text_terms

_ROLES: Final[Sequence[Role]] = ("source", "generated", "config", "vendored", "example", "test", "docs")
"""Where a message is looked for, the likeliest first."""

_MOST_MESSAGES, _MOST_TRIED, _MOST_CHUNKS = 2, 4, 80
_LONGEST_WRITTEN = 4  # lines of code that have one message
_FEWEST_WORDS, _FEWEST_PAIRS = 3, 2  # fewer are a name, or said by many
_LEAST: Final = 0.6  # of the message's pairs of words
_BEFORE, _AFTER = 2, 3  # lines around it that are shown
_LONGEST_LINE = 1_000  # characters; a longer one is data
_VALUE: Final = re.compile(r"\d")
_PREFIX: Final = re.compile(r"\b[bfruBFRUL]{1,2}(?=[\"'])")  # of a literal
_EXCEPTION: Final = re.compile(
    r"^\W*(?:E\s+)?(?:[\w.:]*(?:Error|Exception|Warning|panic|fatal)\w*)\s*:\s*", re.IGNORECASE
)

_QUOTING: Final = frozenset({"quoted", "identifier"})  # in quotation marks, in backticks
_MET: Final = re.compile(
    r"\b(?:do|did|am|are|does)\s+(?:i|we|it)\s+(?:get(?:ting)?|see(?:ing)?|say(?:ing)?|print(?:ing)?)\s+"
    r"(?:(?:the|an?|this)\s+)?(?:(?:errors?|messages?|exception)\b:?\s+)*(.+?)\W*(?:\b(?:error|exception|message)s?)?\W*$",
    re.IGNORECASE,
)
"""A message that is met, without quotation marks."""

_LOGGED: Final = re.compile(
    r"^(?!.*\?\s*$)\W*(?:[\w.-]+\W{1,3})?(?:errors?|warn(?:ing)?|fatal|panic|exception|failed)\b\W*[:\]]", re.IGNORECASE
)
"""A line that a program wrote."""


def write_messages(writer: Writer, index: Index, state: QueryState) -> None:
    """Write where the messages that a question quotes are written."""
    found = [lines for text in _messages(state)[:_MOST_TRIED] for lines in _of_chain(index, text)]
    for lines in list(dict.fromkeys(found))[:_MOST_MESSAGES]:
        around = index.at(lines.path, lines.start_line)
        inside = f", in {code(around.name)}" if around and around.kind != "file" else ""
        writer.say(f"The message is written in {writer.cite(lines)}{inside}:\n")
        shown = index.lines(lines.path, max(lines.start_line - _BEFORE, 1), lines.end_line + _AFTER) or lines
        writer.code(dedent(shown.text).split("\n"), index.language(lines.path))
        writer.say()


def _messages(state: QueryState) -> list[str]:
    analysis = state["analysis"]
    if analysis["report"]:
        return analysis["report"]["messages"]
    quoted = [one["text"] for one in analysis["entities"] if one["kind"] in _QUOTING]
    met = [met[1] for met in [_MET.search(state["query"])] if met]
    return [*quoted, *met, *(line for line in state["query"].splitlines() if _LOGGED.match(line))]


def _of_chain(index: Index, text: str) -> list[Lines]:
    """Return where a message is written, else its parts: an error is often told within what it made fail."""
    message = _EXCEPTION.sub("", text)
    for parts in ([message], message.split(": ")):
        if found := [lines for part in parts if (lines := _written(index, part))]:
            return found
    return []


def _written(index: Index, message: str) -> Lines | None:
    """Return the few lines that have most of a message, one word after the other; None if nothing has enough of it."""
    words = _words(message)
    wanted = {pair for pair in pairwise(words) if not _VALUE.search("".join(pair))}
    if len(set(words)) < _FEWEST_WORDS or len(wanted) < _FEWEST_PAIRS:
        return None
    best: tuple[float, int, int, Lines] | None = None
    for row, text in _likely(index, words):
        lines = [line[:_LONGEST_LINE] for line in text.removesuffix("\n").split("\n")]
        path = index.corpus.paths[index.corpus.file_of[row]]
        role = _ROLES.index(index.role(path))
        for start, end, share in _windows([_words(line) for line in lines], wanted):
            first = int(index.corpus.start_lines[row]) + start
            rank = (share, -role, start - end)
            if share >= _LEAST and (best is None or rank > best[:3]):
                best = (*rank, Lines(path, first, first + end - start, "\n".join(text.split("\n")[start : end + 1])))
    return best[3] if best else None


def _likely(index: Index, words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the chunks that have most of some words, with their text."""
    corpus = index.corpus
    scores = np.zeros(corpus.n_chunks, np.float32)
    for term in dict.fromkeys(term for word in words for term in text_terms(word)):
        scores[corpus.chunks_with(term)] += corpus.rarity(term)
    rows = [int(row) for row in np.argsort(-scores, kind="stable")[:_MOST_CHUNKS] if scores[row] > 0]
    yield from zip(rows, corpus.texts(rows), strict=True)


def _windows(lines: Sequence[Sequence[str]], wanted: set[tuple[str, str]]) -> Iterator[tuple[int, int, float]]:
    """Yield runs of lines by their first and last, each with the share of the pairs of words that it has."""
    telling = {word for pair in wanted for word in pair}
    for start, words in enumerate(lines):
        if not telling.intersection(words):
            continue
        run: list[str] = []
        for end in range(start, min(start + _LONGEST_WRITTEN, len(lines))):
            run += lines[end]
            yield start, end, len(wanted.intersection(pairwise(run))) / len(wanted)


def _words(text: str) -> list[str]:
    return [word.lower() for word in raw_tokens(_PREFIX.sub("", text))]
