"""Messages of programs in a question: quoted, as a line that was logged, or as the words that the question is about."""

import re
from collections.abc import Sequence
from typing import Final

from coderag.question.cues import QUESTION_CONCEPTS, Cue
from coderag.question.wording import Token
from coderag.schema.query import Entity

_QUOTING: Final = frozenset({"quoted", "identifier"})  # in quotation marks, in backticks
_LOGGED: Final = re.compile(
    r"^(?!.*\?\s*$)\W*(?:[\w.-]+\W{1,3})?(?:errors?|warn(?:ing)?|fatal|panic|exception|failed)\b\W*[:\]]", re.IGNORECASE
)
"""A line that a program wrote."""

_ASKING: Final = QUESTION_CONCEPTS | {"list", "explain", "compare", "difference", "please", "my", "pronoun"}
_MIN_WORDS: Final = 2
_MAX_LINES, _MAX_LINE_CHARS = 50, 500  # of a message


def find_messages(query: str, entities: Sequence[Entity], tokens: Sequence[Token], cues: Sequence[Cue]) -> list[str]:
    """Return what may be messages of a program in a question: what it quotes, logged lines, and the text of which it asks."""
    quoted = [entity["text"] for entity in entities if entity["kind"] in _QUOTING]
    lines = query.splitlines()[:_MAX_LINES]
    logged = [line for line in lines if len(line) <= _MAX_LINE_CHARS and _LOGGED.match(line)]
    inner = _strip_question(query, tokens, cues)
    return list(dict.fromkeys([*quoted, *logged, *([inner] if inner else [])]))


def is_statement(query: str, cues: Sequence[Cue]) -> bool:
    """Whether a text asks nothing, such as a message alone."""
    return "?" not in query and "\n" not in query and not (cues and cues[0].concepts & _ASKING)


def _strip_question(query: str, tokens: Sequence[Token], cues: Sequence[Cue]) -> str:
    """Return the text between the words at both edges that only ask; empty if that is all or nothing of it."""
    asking = {at for cue in cues if cue.concepts & _ASKING for at in range(cue.first, cue.last + 1)}
    first, last = 0, len(tokens) - 1
    while first <= last and _is_frame(tokens, first, asking):
        first += 1
    while last >= first and _is_frame(tokens, last, asking):
        last -= 1
    is_met = any(tokens[at].text in _FRAME_WORDS for at in range(first))
    if not is_met or last - first + 1 < _MIN_WORDS:
        return ""
    return query[tokens[first].start : tokens[last].end]


_FRAME_WORDS: Final = frozenset(
    {"get", "gets", "getting", "see", "seeing", "say", "says", "mean", "error", "errors", "message", "messages"}
)


def _is_frame(tokens: Sequence[Token], position: int, asking: set[int]) -> bool:
    token = tokens[position]
    if token.is_mask:
        return False
    return position in asking or token.is_stop_word or token.text in _FRAME_WORDS or not token.text[0].isalnum()
