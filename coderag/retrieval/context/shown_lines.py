"""Keys of lines that earlier contexts showed, so that later ones bring only new lines.

The caller keeps the keys. A key is ``path:start-end#hash`` with a hash of the lines' text: edited code is new again,
moved code is not.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final

from coderag.errors import InvalidQueryError
from coderag.retrieval.context.elision import WeightedLine

MAX_SHOWN_KEYS: Final = 2_000
"""Maximum number of keys; the oldest are dropped."""

_MIN_RUN_LINES: Final = 5  # lines; shorter runs are shown again rather than cut out
_KEY_PATTERN: Final = re.compile(
    r"(?P<path>.+):(?P<start>[1-9]\d{0,8})-(?P<end>[1-9]\d{0,8})#(?P<hash>[0-9a-f]{16})", re.DOTALL
)


class ShownLines:
    """Lines of earlier contexts.

    Args:
        keys: Keys of those contexts, in any order.

    Raises:
        InvalidQueryError: A key is invalid.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._runs: dict[str, set[tuple[int, int, str]]] = defaultdict(set)
        for key in keys:
            match = _KEY_PATTERN.fullmatch(key)
            if match is None:
                hint = "Pass the `shown` keys of an earlier context."
                raise InvalidQueryError(f"{key[:80]!r} is not a valid key of shown lines", hint=hint)
            self._runs[match["path"]].add((int(match["start"]), int(match["end"]), match["hash"]))

    def find_shown(self, path: str, lines: Sequence[WeightedLine]) -> Set[int]:
        """Find the numbers of lines that were shown with their current text."""
        runs = self._runs.get(path)
        if not runs or not lines:
            return frozenset()
        full_hash = _hash_lines(lines)
        if any(hashed == full_hash and end - start + 1 == len(lines) for start, end, hashed in runs):
            return frozenset(line.number for line in lines)  # it may have moved
        positions = {line.number: position for position, line in enumerate(lines)}
        shown_numbers: set[int] = set()
        for start, end, hashed in runs:
            if (
                start in positions
                and end in positions
                and hashed == _hash_lines(lines[positions[start] : positions[end] + 1])
            ):
                shown_numbers.update(range(start, end + 1))
        return shown_numbers


def build_shown_keys(path: str, lines: Sequence[WeightedLine]) -> list[str]:
    """Build the keys of shown lines, one per long run."""
    runs = list(_split_runs(lines))
    long_runs = runs if len(runs) == 1 else [run for run in runs if len(run) >= _MIN_RUN_LINES]
    return [f"{path}:{run[0].number}-{run[-1].number}#{_hash_lines(run)}" for run in long_runs]


def merge_keys(earlier: Sequence[str], new: Iterable[str]) -> list[str]:
    """Merge keys without duplicates, the newest last; the oldest are dropped beyond the maximum."""
    fresh = dict.fromkeys(new)
    return [*(key for key in dict.fromkeys(earlier) if key not in fresh), *fresh][-MAX_SHOWN_KEYS:]


def _split_runs(lines: Sequence[WeightedLine]) -> Iterator[Sequence[WeightedLine]]:
    start = 0
    for position in range(1, len(lines) + 1):
        if position == len(lines) or lines[position].number != lines[position - 1].number + 1:
            yield lines[start:position]
            start = position


def _hash_lines(lines: Sequence[WeightedLine]) -> str:
    text = "\n".join(line.text for line in lines)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
