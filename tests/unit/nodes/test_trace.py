import logging

import pytest

from coderag.nodes.trace import NodeTimer


def test_a_step_tells_its_node_duration_and_numbers():
    with NodeTimer("retrieve") as step:
        step.add_detail(found=3)
        step.add_detail(kept=2)
    (entry,) = step.trace_entries
    assert (entry["node"], entry["detail"]) == ("retrieve", {"found": 3, "kept": 2})
    assert entry["ms"] > 0


def test_the_duration_is_that_of_the_step(monkeypatch):
    clock = iter([1.0, 1.25])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    with NodeTimer("rank") as step:
        pass
    assert step.trace_entries[0]["ms"] == 250.0


def test_an_error_in_a_step_is_passed_on():
    with pytest.raises(ValueError, match="inside"), NodeTimer("rank"):
        raise ValueError("inside")


def test_a_step_is_logged_for_those_who_ask_for_it(caplog):
    with caplog.at_level(logging.DEBUG, "coderag.nodes.trace"), NodeTimer("budget") as step:
        step.add_detail(tokens=17)
    assert "budget" in caplog.text
    assert "17" in caplog.text


def test_nothing_is_logged_at_the_usual_level(caplog):
    with caplog.at_level(logging.INFO, "coderag.nodes.trace"), NodeTimer("budget"):
        pass
    assert caplog.text == ""
