from itertools import product
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from coderag.retrieval.context.knapsack import find_upgrades


class Way(NamedTuple):
    value: float
    tokens: int


THINGS = st.lists(
    st.lists(st.builds(Way, st.integers(1, 50), st.integers(1, 40)), min_size=1, max_size=4), min_size=1, max_size=5
)


def taken(things, room):
    """Take steps as long as they fit, and return the value."""
    chosen = {}
    for step in find_upgrades(things):
        way = things[step.item][step.option]
        spent = sum(upgrade.tokens for thing, upgrade in chosen.items() if thing != step.item)
        if spent + way.tokens <= room:
            chosen[step.item] = way
    return sum(way.value for way in chosen.values())


def best(things, room):
    ways = [[Way(0, 0), *thing] for thing in things]
    return max(
        sum(way.value for way in upgrade) for upgrade in product(*ways) if sum(way.tokens for way in upgrade) <= room
    )


def test_only_options_on_the_hull_are_upgrades():
    line, body, padded = Way(1, 10), Way(30, 100), Way(30, 200)
    assert [step.option for step in find_upgrades([[line, body, padded]])] == [1]
    assert [step.option for step in find_upgrades([[Way(9, 10), body, padded]])] == [0, 1]


def test_densest_upgrade_comes_first():
    assert [step.item for step in find_upgrades([[Way(5, 10)], [Way(8, 10)], [Way(30, 100)]])] == [1, 0, 2]


@given(things=THINGS)
def test_upgrades_have_falling_density(things):
    upgrades_found = find_upgrades(things)
    assert [step.density for step in upgrades_found] == sorted((step.density for step in upgrades_found), reverse=True)
    for number, ways in enumerate(things):
        values = [ways[step.option].value for step in upgrades_found if step.item == number]
        assert values == sorted(set(values))
        assert values[-1:] == [max(way.value for way in ways)]


@given(things=THINGS, room=st.integers(1, 120))
def test_greedy_choice_is_within_one_item_of_the_optimum(things, room):
    assert taken(things, room) > best(things, room) - max(way.value for ways in things for way in ways) - 1e-9
