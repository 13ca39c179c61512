"""Choose how much to show of each of several things within a number of tokens, by value per token.

The multiple-choice knapsack, solved greedily: of every thing only the ways on the upper convex hull of value over tokens
are steps, and the steps are taken by value per token. What it falls short of the best is worth less than one step.
Source: Sinha and Zoltners, The multiple-choice knapsack problem (1979).
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Option(Protocol):
    """One way to show a thing: what it is worth, and about how many tokens it takes."""

    @property
    def value(self) -> float:
        """What it is worth."""
        ...

    @property
    def tokens(self) -> int:
        """About how many tokens it takes."""
        ...


class Upgrade(NamedTuple):
    """From less of a thing to more of it.

    Attributes:
        density: Value that it adds, per token.
        item: Number of the thing.
        option: Number of the way to show it.
    """

    density: float
    item: int
    option: int


def find_upgrades(items: Sequence[Sequence[Option]]) -> list[Upgrade]:
    """Return the steps worth taking, the densest first; those of one thing lead to more and more of it.

    Args:
        items: For each, the ways to show it, in any order.
    """
    upgrades = [upgrade for number, options in enumerate(items) for upgrade in _compute_hull(number, options)]
    return sorted(
        upgrades, key=lambda upgrade: (-upgrade.density, upgrade.item)
    )  # stable: less of a thing before more of it


def _compute_hull(item: int, options: Sequence[Option]) -> list[Upgrade]:
    hull: list[Upgrade] = []
    for option in sorted(range(len(options)), key=lambda number: (options[number].tokens, -options[number].value)):
        while hull:
            previous = options[hull[-1].option]
            if options[option].value <= previous.value:
                break
            density = (options[option].value - previous.value) / max(options[option].tokens - previous.tokens, 1)
            if density <= hull[-1].density:
                hull.append(Upgrade(density, item, option))
                break
            hull.pop()
        else:
            if options[option].value > 0:
                hull.append(Upgrade(options[option].value / max(options[option].tokens, 1), item, option))
    return hull
