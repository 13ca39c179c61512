import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.question.analysis import analyze
from coderag.schema.vocabulary import HistoryAspect, HistoryEvent
from coderag.text.references import find_commit_ids, find_tickets


def read(question):
    return analyze(question)["reading"]["history"]


@pytest.mark.parametrize(
    ("question", "aspect", "event"),
    [
        ("when was `Session.login` introduced?", "when", "introduced"),
        ("when was the retry loop last changed?", "when", "last"),
        ("which commit removed `redirect_cache`?", "changes", "removed"),
        ("when did `redirect_cache` go away?", "when", "removed"),
        ("what happened to `confirm` between 8.2.0 and 8.4.0", "changes", ""),
        ("which PR added proxy support?", "changes", "introduced"),
        ("who wrote `parse_header`?", "author", "introduced"),
        ("who last changed `parse_header`?", "author", "last"),
        ("who knows the parser best?", "people", None),
        ("which ticket is behind `retry_limit`?", "tickets", ""),
        ("which code implements PROJ-45?", "ticket", ""),
        ("which files change together with `cart.py`?", "together", ""),
        ("warum wurde `total` geändert?", "why", ""),
        ("wer kennt sich mit `parser.py` aus?", "people", None),
        ("quand a-t-on ajouté `parse`?", "when", "introduced"),
        ("¿quién escribió `parse`?", "author", "introduced"),
        ("когда добавили `parse`?", "when", "introduced"),
        ("为什么修改了 `parse`?", "why", ""),
        ("`parse` はいつ追加されましたか", "when", "introduced"),
    ],
)
def test_aspect_and_event_are_read_in_several_languages(
    question: str, aspect: HistoryAspect, event: HistoryEvent | None
) -> None:
    analysis = analyze(question)
    history = analysis["reading"]["history"]
    assert (analysis["intent"], history["aspect"]) == ("history", aspect)
    if event is not None:  # people have no event
        assert history["event"] == event


@pytest.mark.parametrize(
    "question",
    ["who calls parse?", "where is parse defined", "how are headers parsed", "how many calls between 3 and 5 seconds?"],
)
def test_questions_about_code_ask_nothing_of_the_history(question):
    analysis = analyze(question)
    assert analysis["intent"] != "history"
    assert "history" not in analysis["reading"]


@pytest.mark.parametrize(
    ("question", "since", "until"),
    [
        ("what changed in `Session` since v2.3.0?", "v2.3.0", ""),
        ("what changed in `Session` since 2024-05-01?", "2024-05-01", ""),
        ("what changed since last week?", "last week", ""),
        ("what changed between v1.0 and v2.0 in the parser?", "v1.0", "v2.0"),
        ("was hat sich in `Session` seit v2.0 geändert?", "v2.0", ""),
        ("what changed in the parser before 1.9.0?", "", "1.9.0"),
        ("what changed after 3 retries?", "", ""),
        ("what changed in `Session` before the redirect?", "", ""),
    ],
)
def test_period_is_a_revision_or_a_date_and_no_number_of_something(question, since, until):
    history = read(question)
    assert (history["since"], history["until"]) == (since, until)


def test_topic_leaves_out_the_words_that_only_ask_and_the_period():
    assert read("which PR added proxy support?")["topic"] == "proxy support"
    assert read("pourquoi a-t-on changé le délai ?")["topic"] == "timeout"  # in English, as the search needs it
    assert not read("what changed since v2.3.0?")["topic"]


def test_named_commit_is_no_event():
    history = read("what did commit 1f6589ec change?")
    assert (history["commits"], history["event"]) == (["1f6589ec"], "")


def test_tickets_are_keys_and_numbers_but_no_standards():
    assert find_tickets("see PROJ-45, #12, GH-7 and PROJ-45 again") == ["PROJ-45", "#12", "#7"]
    assert find_tickets("UTF-8, SHA-256, ISO-8859-1, CVE-2024-1234, &#123; and page#12 in a/PROJ-45") == []


def test_commit_ids_have_digits_and_letters():
    assert find_commit_ids("1f6589ec, deadbeef, 12345678, v1f6589ec, src/1f6589ec") == ["1f6589ec"]


_WORDS = (
    "why", "was", "since", "v1.2", "between", "and", "PR", "#12", "`a.b`", "最初", "seit", "who", "?", "until", "1f6589ec",
)  # fmt: skip


@given(st.text(max_size=40) | st.lists(st.sampled_from(_WORDS), max_size=9).map(" ".join))
def test_any_text_is_read_and_its_period_stands_in_it(text):
    history = analyze(f"commit {text}")["reading"].get("history")
    if history is not None:
        assert all(limit in text for limit in (history["since"], history["until"]))
