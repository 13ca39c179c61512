"""Closed engines are collected together, and none is forgotten."""

import threading

from hypothesis import given
from hypothesis import strategies as st

from coderag.workspace.engine_collector import EngineCollector


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 10))
def test_many_closed_engines_share_a_collection(numbers: list[int], most: int) -> None:
    collected: list[int] = []
    collector = EngineCollector(lambda: collected.append(1), max_pending=most, delay_s=3_600)
    for number in numbers:
        collector.note_closed(number)
    assert len(collected) <= sum(numbers) // most
    collector.flush()
    assert bool(collected) == bool(sum(numbers))
    before = len(collected)
    collector.flush()
    assert len(collected) == before


def test_a_single_closed_engine_is_collected_soon() -> None:
    is_collected = threading.Event()
    collector = EngineCollector(is_collected.set, delay_s=0.01)
    collector.note_closed(1)
    assert is_collected.wait(30)
