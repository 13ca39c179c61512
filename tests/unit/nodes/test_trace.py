import logging

import pytest

from coderag.nodes.trace import NodeTimer


def test_trace_entry_has_node_duration_and_details():
    with NodeTimer("retrieve") as step:
        step.add_detail(found=3)
        step.add_detail(kept=2)
    (entry,) = step.trace_entries
    assert (entry["node"], entry["detail"]) == ("retrieve", {"found": 3, "kept": 2})
    assert entry["ms"] > 0


def test_duration_covers_the_node(monkeypatch):
    clock = iter([1.0, 1.25])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    with NodeTimer("rank") as step:
        pass
    assert step.trace_entries[0]["ms"] == 250.0


def test_error_in_a_node_propagates():
    with pytest.raises(ValueError, match="inside"), NodeTimer("rank"):
        raise ValueError("inside")


def test_node_is_logged_at_debug_level(caplog):
    with caplog.at_level(logging.DEBUG, "coderag.nodes.trace"), NodeTimer("budget") as step:
        step.add_detail(tokens=17)
    assert "budget" in caplog.text
    assert "17" in caplog.text


def test_nothing_is_logged_at_the_default_level(caplog):
    with caplog.at_level(logging.INFO, "coderag.nodes.trace"), NodeTimer("budget"):
        pass
    assert caplog.text == ""
