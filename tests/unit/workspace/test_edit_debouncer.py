import threading
import time

import pytest

from coderag.workspace.edit_debouncer import EditDebouncer
from tests.support.workspaces import DEADLINE_S, eventually


class Acts:
    def __init__(self):
        self.times = []
        self.acted = threading.Event()

    def __call__(self):
        self.times.append(time.monotonic())
        self.acted.set()


@pytest.fixture
def acts():
    return Acts()


@pytest.fixture
def gather(acts):
    made = []

    def make(quiet_s=0.05, longest_s=DEADLINE_S):
        made.append(EditDebouncer(acts, quiet_s=quiet_s, max_delay_s=longest_s))
        return made[-1]

    yield make
    for gatherer in made:
        gatherer.close()


def test_many_edits_in_a_row_are_one_act(gather, acts):
    gatherer = gather(quiet_s=0.2, longest_s=DEADLINE_S)
    for number in range(300):
        gatherer.note([f"{number}.py"])
    assert acts.acted.wait(DEADLINE_S)
    assert len(gatherer.take()) == 300
    assert len(acts.times) == 1


def test_it_is_quiet_before_the_act(gather, acts):
    gatherer = gather(quiet_s=0.2, longest_s=DEADLINE_S)
    gatherer.note(["a.py"])
    assert not acts.acted.wait(0.1)
    gatherer.note(["b.py"])
    last = time.monotonic()
    assert acts.acted.wait(DEADLINE_S)
    assert acts.times[0] - last >= 0.19


def test_edits_without_end_are_not_put_off_for_ever(gather, acts):
    gatherer = gather(quiet_s=0.5, longest_s=0.6)

    def edited_on():
        gatherer.note(["a.py"])
        return acts.acted.is_set()

    eventually(edited_on)


def test_nothing_happens_while_it_is_held_back(gather, acts):
    gatherer = gather(quiet_s=0.01)
    gatherer.hold(0.3)
    began = time.monotonic()
    gatherer.note(["a.py"])
    assert acts.acted.wait(DEADLINE_S)
    assert acts.times[0] - began >= 0.29


def test_edits_are_taken_once(gather):
    gatherer = gather()
    gatherer.note(["a.py"])
    assert gatherer.take() == {"a.py"}
    assert gatherer.take() == set()


def test_nothing_happens_after_closing_and_no_thread_is_left(gather, acts):
    gatherer = gather(quiet_s=0.05)
    gatherer.note(["a.py"])
    gatherer.close()
    gatherer.note(["b.py"])
    assert not acts.acted.wait(0.2)
    assert not [thread for thread in threading.enumerate() if thread.name == "edits"]


def test_edits_after_an_act_are_another_one(gather, acts):
    gatherer = gather(quiet_s=0.01)
    gatherer.note(["a.py"])
    assert acts.acted.wait(DEADLINE_S)
    gatherer.note(["b.py"])
    eventually(lambda: len(acts.times) == 2)
