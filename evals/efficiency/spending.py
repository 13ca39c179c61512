"""What is seen as tokens are spent: text that comes line by line, and the share of the wanted lines among it."""

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from coderag.text.token_counts import count_tokens

from ..golden import Target  # noqa: TID252  # installed, it has another name
from .grepping import Files

BUDGETS: Final = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
"""Tokens that may be spent on a question."""

Place = tuple[str, int]
"""A path and the number of a line."""


class Line(NamedTuple):
    """A line that is paid for.

    Attributes:
        tokens: That it costs.
        place: The line of the repository that it shows; None for headings and the like.
    """

    tokens: int
    place: Place | None = None


def written(text: str, place: Place | None = None) -> Line:
    """Return a line of a reply with its cost, its end included."""
    return Line(_cost(text), place)


def wanted_lines(targets: Iterable[Target], files: Files) -> frozenset[Place]:
    """Return the lines of all targets but blank ones, which show nothing; targets that are whole files have none."""
    return frozenset(
        (target.path, number)
        for target in targets
        for number in target.lines or ()
        if "".join(files.lines(target.path)[number - 1 : number]).strip()
    )


def recall_by_budget(lines: Iterable[Line], wanted: Set[Place], budgets: Sequence[int] = BUDGETS) -> list[float]:
    """Return the share of the wanted lines that were seen when each budget was spent.

    Args:
        lines: In the order in which they are paid for; no more are drawn than the largest budget pays.
        wanted: At least one line.
        budgets: In tokens, in rising order.
    """
    found = [0] * len(budgets)
    seen: set[Place] = set()
    for spent, place in _spent(lines, budgets[-1]):
        if place is not None and place in wanted and place not in seen:
            seen.add(place)
            found[next(number for number, budget in enumerate(budgets) if spent <= budget)] += 1
    return [count / len(wanted) for count in accumulate(found)]


def _spent(lines: Iterable[Line], most: int) -> Iterator[tuple[int, Place | None]]:
    """Yield what was spent with each line, up to the most that may be."""
    spent = 0
    for tokens, place in lines:
        spent += tokens
        if spent > most:
            return
        yield spent, place


@lru_cache(maxsize=1 << 18)
def _cost(text: str) -> int:
    return count_tokens(text + "\n")
