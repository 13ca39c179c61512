"""Recall by tokens spent: lines with their costs, and the share of wanted lines among them."""

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from coderag.text.token_counts import count_tokens

from ..golden import Target  # noqa: TID252  # installed, it has another name
from .grepping import Files

BUDGETS: Final = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
"""Token budgets per question."""

Place = tuple[str, int]
"""Path and line number."""


class Line(NamedTuple):
    """Line of output with its cost.

    Attributes:
        tokens: Number of tokens.
        place: Repository line that it shows; None for headings and the like.
    """

    tokens: int
    place: Place | None = None


def make_line(text: str, place: Place | None = None) -> Line:
    """Return a line with its cost, including its line end."""
    return Line(_count_cost(text), place)


def find_wanted_lines(targets: Iterable[Target], files: Files) -> frozenset[Place]:
    """Return the non-blank lines of all targets; whole files have none."""
    return frozenset(
        (target.path, number)
        for target in targets
        for number in target.lines or ()
        if "".join(files.read_lines(target.path)[number - 1 : number]).strip()
    )


def compute_recall_by_budget(
    lines: Iterable[Line], wanted: Set[Place], budgets: Sequence[int] = BUDGETS
) -> list[float]:
    """Return the share of the wanted lines that were seen within each budget.

    Args:
        lines: Lines in order of reading; consumed up to the largest budget.
        wanted: Wanted lines, at least one.
        budgets: Token budgets in rising order.
    """
    counts = [0] * len(budgets)
    seen: set[Place] = set()
    for spent, place in _track_spending(lines, budgets[-1]):
        if place is not None and place in wanted and place not in seen:
            seen.add(place)
            counts[next(number for number, budget in enumerate(budgets) if spent <= budget)] += 1
    return [count / len(wanted) for count in accumulate(counts)]


def _track_spending(lines: Iterable[Line], limit: int) -> Iterator[tuple[int, Place | None]]:
    """Yield the cumulative tokens and the place of each line, up to a limit."""
    spent = 0
    for tokens, place in lines:
        spent += tokens
        if spent > limit:
            return
        yield spent, place


@lru_cache(maxsize=1 << 18)
def _count_cost(text: str) -> int:
    return count_tokens(text + "\n")
