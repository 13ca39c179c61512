"""Feedback beside an index: bounded, safe for several writers, and never half written."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from coderag.errors import InvalidQueryError, StoreError
from coderag.stores import feedback
from coderag.stores.feedback import FeedbackPlace, FeedbackStore

PLACE = FeedbackPlace("a.py", 1, 3, "f")


def test_concurrent_writers_lose_nothing(tmp_path):
    def vote(number):
        FeedbackStore(tmp_path).set_thumb(f"query {number % 4}", "", FeedbackPlace("a.py", number, number), "up")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(vote, range(1, 25)))
    cases = FeedbackStore(tmp_path).list_cases()
    assert (len(cases), sum(len(case.thumbs) for case in cases)) == (4, 24)


def test_limits_refuse_instead_of_forgetting(tmp_path, monkeypatch):
    monkeypatch.setattr(feedback, "MAX_CASES", 2)
    monkeypatch.setattr(feedback, "MAX_THUMBS", 2)
    store = FeedbackStore(tmp_path)
    store.set_thumb("a", "", PLACE, "up")
    store.set_thumb("b", "", PLACE, "up")
    with pytest.raises(InvalidQueryError, match="2 cases"):
        store.set_thumb("c", "", PLACE, "up")
    store.set_thumb("a", "", FeedbackPlace("b.py", 1, 1), "up")
    with pytest.raises(InvalidQueryError, match="2 thumbs"):
        store.set_thumb("a", "", FeedbackPlace("c.py", 1, 1), "up")
    monkeypatch.setattr(feedback, "MAX_BYTES", 100)
    with pytest.raises(InvalidQueryError, match="100 bytes"):
        store.set_thumb("a", "", PLACE, "down")
    assert sorted(case.query for case in store.list_cases()) == ["a", "b"]


def test_an_answer_and_the_mark_of_no_answer_exclude_each_other(tmp_path):
    store = FeedbackStore(tmp_path)
    store.set_thumb("q", "", PLACE, "up")
    case = store.set_unanswerable("q", is_unanswerable=True)
    assert (case.thumbs, case.is_unanswerable) == ([], True)
    case = store.set_thumb("q", "", PLACE, "up")
    assert (len(case.thumbs), case.is_unanswerable) == (1, False)


def test_a_damaged_file_is_an_error_that_names_it(tmp_path):
    (tmp_path / "feedback.json").write_text('[{"id": 1}]')
    with pytest.raises(StoreError) as error:
        FeedbackStore(tmp_path).list_cases()
    assert "feedback.json" in error.value.hint
