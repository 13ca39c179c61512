"""Choose how much to show of each of several things within a number of tokens, by value per token.

The multiple-choice knapsack, solved greedily: of every thing only the ways on the upper convex hull of value over tokens
are steps, and the steps are taken by value per token. What it falls short of the best is worth less than one step.
Source: Sinha and Zoltners, The multiple-choice knapsack problem (1979).
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Way(Protocol):
    """One way to show a thing: what it is worth, and about how many tokens it takes."""

    @property
    def value(self) -> float:
        """What it is worth."""
        ...

    @property
    def tokens(self) -> int:
        """About how many tokens it takes."""
        ...


class Step(NamedTuple):
    """From less of a thing to more of it.

    Attributes:
        density: Value that it adds, per token.
        thing: Number of the thing.
        way: Number of the way to show it.
    """

    density: float
    thing: int
    way: int


def steps(things: Sequence[Sequence[Way]]) -> list[Step]:
    """Return the steps worth taking, the densest first; those of one thing lead to more and more of it.

    Args:
        things: For each, the ways to show it, in any order.
    """
    found = [step for number, ways in enumerate(things) for step in _hull(number, ways)]
    return sorted(found, key=lambda step: (-step.density, step.thing))  # stable: less of a thing before more of it


def _hull(thing: int, ways: Sequence[Way]) -> list[Step]:
    hull: list[Step] = []
    for way in sorted(range(len(ways)), key=lambda number: (ways[number].tokens, -ways[number].value)):
        while hull:
            before = ways[hull[-1].way]
            if ways[way].value <= before.value:
                break
            density = (ways[way].value - before.value) / max(ways[way].tokens - before.tokens, 1)
            if density <= hull[-1].density:
                hull.append(Step(density, thing, way))
                break
            hull.pop()
        else:
            if ways[way].value > 0:
                hull.append(Step(ways[way].value / max(ways[way].tokens, 1), thing, way))
    return hull
