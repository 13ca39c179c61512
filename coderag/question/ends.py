"""Ends of a question: the sides of a comparison, or where a way begins and where it ends."""

from collections.abc import Collection, Sequence
from typing import Final

from coderag.question.cues import QUESTION_CONCEPTS, Cue, read_asking
from coderag.question.wording import Token

_N_ENDS: Final = 2
_MAX_END_WORDS: Final = 5
_REACH: Final = 2  # words before a name in which its preposition stands
_QUOTES: Final = "`'\"()?.!:;“”„«»「」『』"
_NAMES: Final = frozenset({"<name>", "<path>", "<quote>"})
_SEPARATORS: Final = frozenset(
    {"from", "to", "with", "and", "or", "difference", "between", "via", "compare", "reach"}
    | set(",+&/")
    | {"->", "=>", "=->"}
)
"""Concepts and signs between two ends."""

_FRAME_CONCEPTS: Final = (
    QUESTION_CONCEPTS
    | {
        "list",
        "explain",
        "please",
        "my",
        "pronoun",
        "flow",
        "path",
        "happen",
        "work",
        "use",
        "function",
        "class",
        "module",
    }
    | {
        "interface",
        "project",
        "code",
        "difference",
        "compare",
        "then",
        "end_to_end",
        "step",
        "connect",
        "reach",
        "or",
        "and",
    }
    | {"same", "if", "start", "via", "between", "understand", "mean", "purpose", "still", "else", "not"}
)
"""Concepts of words at the edges of a phrase that are no part of it."""


def find_ends(tokens: Sequence[Token], cues: Sequence[Cue], subjects: Sequence[str], *, is_directed: bool) -> list[str]:
    """Return the two things that a question compares or connects, as it puts them; empty if it does not name two.

    Args:
        tokens: Tokens of the question.
        cues: Their cues.
        subjects: Names that it is about.
        is_directed: Whether one is where a way begins, and the other where it ends.
    """
    names = list(dict.fromkeys(_strip(token.source) for token in tokens if token.text in _NAMES))
    if len(names) != _N_ENDS:
        names = list(subjects) if len(subjects) == _N_ENDS else []
    if names:
        return names[::-1] if is_directed and _is_reversed(tokens, cues, names) else names
    if any(token.text == "<option>" for token in tokens):  # options of a command are no declarations
        return []
    ends = _split_phrases(tokens, cues)[-_N_ENDS:]
    return ends if len({end.lower() for end in ends}) == _N_ENDS else []


def _is_reversed(tokens: Sequence[Token], cues: Sequence[Cue], names: Sequence[str]) -> bool:
    """Whether the second name is where the way begins: "is B reachable from A"."""
    positions = [next((at for at, token in enumerate(tokens) if name in token.source), -1) for name in names]
    first, second = (_begins_way(tokens, cues, position) for position in positions)
    return second and not first


def _begins_way(tokens: Sequence[Token], cues: Sequence[Cue], position: int) -> bool:
    """Whether a preposition before a name says that a way begins there."""
    asking = read_asking(cues)
    for at in range(position - 1, max(position - 1 - _REACH, -1), -1):
        concepts = asking.get(at, frozenset())
        if not concepts.isdisjoint(("from", "to")):
            return "from" in concepts
        if not tokens[at].is_stop_word and not concepts:
            break
    return False


def _split_phrases(tokens: Sequence[Token], cues: Sequence[Cue]) -> list[str]:
    """Return the phrases between separators, without the words at their edges that ask."""
    concepts = read_asking(cues)
    framing = {at for at, group in concepts.items() if not group.isdisjoint(_FRAME_CONCEPTS)}
    segments: list[list[int]] = [[]]
    for at in range(len(tokens)):
        if concepts.get(at, frozenset()).isdisjoint(_SEPARATORS):
            segments[-1].append(at)
        else:
            segments.append([])
    phrases = (_trim(tokens, segment, framing) for segment in segments)
    return [
        " ".join(_strip(tokens[at].source) for at in phrase) for phrase in phrases if 0 < len(phrase) <= _MAX_END_WORDS
    ]


def _trim(tokens: Sequence[Token], segment: Sequence[int], framing: Collection[int]) -> Sequence[int]:
    while segment and _is_frame(tokens[segment[0]], segment[0] in framing):
        segment = segment[1:]
    while segment and _is_frame(tokens[segment[-1]], segment[-1] in framing):
        segment = segment[:-1]
    return segment


def _is_frame(token: Token, is_framing: bool) -> bool:
    return not token.is_mask and (is_framing or token.is_stop_word or not token.text[0].isalnum())


def _strip(text: str) -> str:
    return text.strip(_QUOTES) or text
