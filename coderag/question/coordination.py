"""Coordinated subjects of a question: names with nothing but "and" or a comma between them."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final

from coderag.question.cues import Cue
from coderag.question.wording import Token

_SIGNS: Final = frozenset(",&`'\"")
_CONCEPTS: Final = frozenset({"and", "article"})


def find_coordinated(tokens: Sequence[Token], cues: Sequence[Cue], subjects: Collection[str]) -> list[str]:
    """Find the subjects that are asked about alike, as in "who calls A and B"; empty unless all of several are."""
    positions: list[int] = []
    names: list[str] = []
    for name in subjects:
        position = next((at for at, token in enumerate(tokens) if token.source.strip("`'\"()") == name), None)
        if position is None:
            return []
        positions.append(position)
        names.append(name)
    pairs = sorted(zip(positions, names, strict=True))
    linking = {position for cue in cues if cue.concepts & _CONCEPTS for position in range(cue.first, cue.last + 1)} | {
        position for position, token in enumerate(tokens) if set(token.source) <= _SIGNS
    }
    spans = [range(first + 1, second) for (first, _), (second, _) in pairwise(pairs)]
    is_linked = all(len(span) and linking.issuperset(span) for span in spans)
    return [name for _, name in pairs] if len(pairs) > 1 and is_linked else []
