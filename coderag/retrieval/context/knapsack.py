"""Greedy multiple-choice knapsack: how much of each item to show within a token budget.

Of each item, only the options on the upper convex hull of value over tokens become upgrades, taken by value per
token. The result is worse than the optimum by less than one upgrade.

Source: Sinha and Zoltners, The multiple-choice knapsack problem (1979).
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Option(Protocol):
    """Way to show an item, with its value and approximate tokens."""

    @property
    def value(self) -> float:
        """Value to the reader."""
        ...

    @property
    def tokens(self) -> int:
        """Approximate number of tokens."""
        ...


class Upgrade(NamedTuple):
    """Step from one option of an item to a larger one.

    Attributes:
        density: Added value per token.
        item: Index of the item.
        option: Index of the option.
    """

    density: float
    item: int
    option: int


def find_upgrades(items: Sequence[Sequence[Option]]) -> list[Upgrade]:
    """Find the worthwhile upgrades, the densest first; those of one item grow it.

    Args:
        items: Options of each item, in any order.
    """
    upgrades = [upgrade for number, options in enumerate(items) for upgrade in _compute_hull(number, options)]
    return sorted(
        upgrades, key=lambda upgrade: (-upgrade.density, upgrade.item)
    )  # stable: smaller options of an item first


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
