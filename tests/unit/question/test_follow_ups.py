"""Follow-ups and the questions that the rules make of them: a list that was written by hand, and the rules' edges."""

import json
from pathlib import Path

import pytest

from coderag.answering.chat.focus import build_focus
from coderag.answering.chat.state import CitedPlace, Exchange
from coderag.question.analysis import analyze
from coderag.question.conversation import find_topic
from coderag.question.follow_up_wordings import WORDINGS, list_wordings
from coderag.question.follow_ups import read_follow_up


def read(text, exchanges):
    return read_follow_up(text, build_focus(exchanges))


def cited(place, name, kind):
    return CitedPlace(place=place, name=name, kind=kind)


def exchange(question, places=(), focus=()):
    return Exchange(
        text=question,
        question=question,
        answer="…",
        cited=list(places),
        focus=list(focus),
        generator="extractive",
        asked="",
    )


LOGIN = exchange(
    "where is Session.login defined?",
    [
        cited("auth/session.py:10-30", "Session.login", "method"),
        cited("auth/tokens.py:1-9", "make_token", "function"),
        cited("docs/auth.md:1-5", "docs/auth", "section"),
    ],
    ["`Session.login`"],
)
HASHING = exchange(
    "how does password hashing work?",
    [
        cited("auth/passwords.py:3-9", "hash_password", "function"),
        cited("auth/passwords.py:12-20", "verify_password", "function"),
    ],
)
CALLERS = exchange(
    "who calls round_up",
    [cited("shop/cart.py:10-12", "Cart.total", "method"), cited("shop/money.py:7-8", "Money.__init__", "method")],
    ["`round_up`"],
)
NOTHING = exchange("how is the ingress of kubernetes configured?")

GOLDEN = [
    # pronouns
    (LOGIN, "who calls that?", "who calls `Session.login`?"),
    (LOGIN, "and who calls it?", "who calls `Session.login`?"),
    (LOGIN, "where is it tested?", "where is `Session.login` tested?"),
    (LOGIN, "what does this return?", "what does `Session.login` return?"),
    (LOGIN, "does he raise?", "does `Session.login` raise?"),
    (LOGIN, "is that thread safe?", "is `Session.login` thread safe?"),
    (LOGIN, "what are its parameters", "what are the parameters of `Session.login`"),
    (LOGIN, "what happens if this fails", "what happens if `Session.login` fails"),
    (LOGIN, "which file is that in?", "which file is `Session.login` in"),
    (LOGIN, "can I call it from async code?", "can I call `Session.login` from async code?"),
    (LOGIN, "how does that work", "how does `Session.login` work"),
    (LOGIN, "ok, and what uses it", "what uses `Session.login`"),
    (LOGIN, "thanks! who tests it?", "who tests `Session.login`?"),
    (LOGIN, "where else is it used?", "where else is `Session.login` used?"),
    (LOGIN, "what's it for?", "what is `Session.login` for"),
    (LOGIN, "show me that", "show me `Session.login`"),
    (LOGIN, "explain it in detail", "explain `Session.login` in detail"),
    (LOGIN, "what breaks if it changes?", "what breaks if `Session.login` changes?"),
    (LOGIN, "That's slow, why?", "`Session.login`'s slow, why?"),
    (LOGIN, "explain that function", "explain `Session.login`"),
    (LOGIN, "who calls this method?", "who calls `Session.login`?"),
    (LOGIN, "what else is in that file?", "what else is in auth/session.py?"),
    (HASHING, "who calls it", "who calls `hash_password`"),
    (HASHING, "how do they differ?", "how do `hash_password` and `verify_password` differ?"),
    (HASHING, "who tests them?", "who tests `hash_password` and `verify_password`?"),
    (HASHING, "where are these functions called?", "where are `hash_password` and `verify_password` called?"),
    (HASHING, "what do those return", "what do `hash_password` and `verify_password` return"),
    (CALLERS, "where is it defined?", "where is `round_up` defined?"),
    (CALLERS, "who calls them", "who calls `Cart.total` and `Money.__init__`"),
    (
        {**CALLERS, "cited": [cited("shop/money.py:1-1", "round_up", "function"), *CALLERS["cited"]]},
        "who calls them",
        "who calls `Cart.total` and `Money.__init__`",
    ),
    (CALLERS, "and their tests?", "what tests `round_up`"),
    (NOTHING, "where is it tested?", "where is ingress of kubernetes tested?"),
    (LOGIN, "what exceptions can it throw?", "what exceptions can `Session.login` throw?"),
    (LOGIN, "what arguments does it take?", "what arguments does `Session.login` take?"),
    (LOGIN, "how many callers does it have", "how many callers does `Session.login` have"),
    (LOGIN, "how does this relate to make_token?", "how does `Session.login` relate to make_token?"),
    (LOGIN, "how does Session.close differ from that?", "how does Session.close differ from `Session.login`?"),
    (LOGIN, "why isn't it cached?", "why isn't `Session.login` cached?"),
    (LOGIN, "so it's not cached?", "`Session.login`'s not cached?"),
    (LOGIN, "what does the method do", "what does `Session.login` do"),
    (LOGIN, "what's that?", "what's `Session.login`?"),
    (LOGIN, "why do we need this?", "why do we need `Session.login`?"),
    # another subject
    (LOGIN, "what about logout?", "where is logout defined"),
    (LOGIN, "and for logout?", "where is logout defined"),
    (LOGIN, "and make_token?", "where is make_token defined"),
    (LOGIN, "same for Session.close", "where is Session.close defined"),
    (LOGIN, "I meant logout", "where is logout defined"),
    (LOGIN, "logout instead", "where is logout defined"),
    (LOGIN, "what about error handling in it?", "what about error handling in `Session.login`?"),
    (LOGIN, "what about the tests?", "what tests `Session.login`"),
    (HASHING, "what about sessions?", "how does sessions work"),
    (HASHING, "how about token refresh", "how does token refresh work"),
    (HASHING, "and key rotation?", "how does key rotation work"),
    (CALLERS, "what about round_down?", "who calls round_down"),
    (CALLERS, "and for the second argument?", "what are the parameters of `round_up`"),
    (NOTHING, "and for nginx?", "how is the nginx configured"),
    # a question of a word or two
    (LOGIN, "why?", "why is `Session.login` like this"),
    (LOGIN, "how?", "how does `Session.login` work"),
    (LOGIN, "and where?", "where is `Session.login` defined"),
    (LOGIN, "why is that?", "why is `Session.login` like this"),
    (LOGIN, "for what?", "what is `Session.login` for"),
    (LOGIN, "and then?", "what happens after `Session.login`"),
    (LOGIN, "then what?", "what happens after `Session.login`"),
    (LOGIN, "which file?", "which file is `Session.login` in"),
    (LOGIN, "tell me more", "explain `Session.login` in detail"),
    (LOGIN, "examples?", "give examples of `Session.login`"),
    (LOGIN, "tests?", "what tests `Session.login`"),
    (LOGIN, "and the callers?", "who calls `Session.login`"),
    (LOGIN, "show me its callers", "who calls `Session.login`"),
    (LOGIN, "usages?", "where is `Session.login` used"),
    (LOGIN, "docs?", "what do the docs say about `Session.login`"),
    (LOGIN, "subclasses?", "what extends `Session.login`"),
    (LOGIN, "what parameters?", "what are the parameters of `Session.login`"),
    (LOGIN, "parameters?", "what are the parameters of `Session.login`"),
    # what was left out
    (LOGIN, "who calls?", "who calls `Session.login`"),
    (LOGIN, "where used?", "where is `Session.login` used"),
    (LOGIN, "what tests?", "what tests `Session.login`"),
    (LOGIN, "which functions call?", "who calls `Session.login`"),
    # filters
    (LOGIN, "in Go?", "where is Session.login defined in Go"),
    (LOGIN, "and in the tests?", "what tests `Session.login`"),
    (
        exchange("who calls Session.login", focus=["`Session.login`"]),
        "only in unit tests",
        "what tests `Session.login`",
    ),
    (HASHING, "and in the tests?", "how does password hashing work in the tests"),
    (LOGIN, "not in the tests", "where is Session.login defined not in the tests"),
    (HASHING, "only in src/auth", "how does password hashing work in src/auth"),
    (HASHING, "without tests", "how does password hashing work without tests"),
    (exchange("how does password hashing work in Python"), "in Go?", "how does password hashing work in Go"),
]


@pytest.mark.parametrize(
    ("before", "text", "question"), GOLDEN, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_follow_up_becomes_a_question_that_stands_alone(before, text, question):
    made = read(text, [before])
    assert (made.question, made.is_follow_up) == (question, "yes")


@pytest.mark.parametrize(
    "text",
    [
        "where is the parser?",
        "is it possible to configure retries?",
        "does it make sense to cache here?",
        "the function that parses TOML",
        "which class handles the files that are skipped",
        "where does the parser decide when it stops",
        "when a request fails, is it retried?",
        "how is this project tested?",
        "what does this repository do",
        "what is the first argument of login",
        "Session.login",
        "who calls `that`",
        'where is "what about it" printed',
        "it()",
        "what is this.state used for",
        "where is that_thing set",
        "how are the settings that the user gave merged",
        "login",
        "error handling?",
        "thanks",
        "ok, thanks!",
        "tell me more about tokens",
        "which files are read before the index that holds them is written",
        "what does the method that parses dates return",
    ],
)
def test_a_question_that_stands_alone_stays_untouched(text):
    made = read(text, [LOGIN])
    assert (made.question, made.is_follow_up) == (text, "no")


def test_the_first_question_of_a_conversation_stands_alone_whatever_it_says():
    assert read("who calls it?", []).question == "who calls it?"


@pytest.mark.parametrize("text", ["more", "show me more", "any others?", "go on", "more examples please", "what else?"])
def test_more_asks_the_same_question_for_more_results(text):
    made = read(text, [CALLERS])
    assert (made.question, made.is_wider) == ("who calls round_up", True)


def test_it_is_what_the_newest_exchange_was_about():
    assert read("who calls it?", [LOGIN, CALLERS]).question == "who calls `round_up`?"


def test_after_lines_were_shown_the_question_before_them_is_still_the_one_that_more_repeats():
    shown = {**exchange(""), "text": "open 2", "focus": ["`Money.__init__`"]}
    assert read("more", [CALLERS, shown]).question == "who calls round_up"
    assert read("who calls it?", [CALLERS, shown]).question == "who calls `Money.__init__`?"


def test_a_long_text_is_no_follow_up():
    report = "it fails like this:\n" + "Traceback\n" * 60
    assert read(report, [LOGIN]).question == report.strip()


@pytest.mark.parametrize(
    "text", ["which one is faster?", "what did you say about the other one", "what does line 12 do?"]
)
def test_what_points_back_in_ways_that_the_rules_do_not_know_is_left_to_a_model(text):
    made = read(text, [LOGIN])
    assert (made.question, made.is_follow_up) == (text, "unknown")


@pytest.mark.parametrize(
    "text", ["¿quién llama a eso ahora?", "wer ruft das denn auf?", "qui appelle cela maintenant ?"]
)
def test_a_follow_up_in_another_language_becomes_a_question_that_stands_alone(text):
    made = read(text, [LOGIN])
    assert (made.question, made.is_follow_up) == ("who calls `Session.login`", "yes")


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("how does password hashing work?", "password hashing"),
        ("where is the retry policy configured", "retry policy"),
        ("explain how the index is written", "index"),
        ("who calls round_up", "round_up"),
        ("what is a generation?", "generation"),
        ("login", "login"),
    ],
)
def test_the_topic_of_a_question_is_what_it_does_not_only_ask(question, about):
    assert find_topic(question) == about


NOT_UNDERSTOOD = {"anything similar elsewhere?", "explain that like I'm new here"}
DIALOGUES = [
    json.loads(line) for line in (Path(__file__).parent / "data/follow_ups.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda dialogue: f"{dialogue['language']}: {dialogue['text']}")
def test_a_follow_up_is_of_what_was_talked_about(dialogue):
    if dialogue["text"] in NOT_UNDERSTOOD:
        pytest.xfail("not understood yet")
    before = exchange(dialogue["question"], map(CitedPlace, dialogue["cited"]), dialogue["focus"])
    follow_up = read(dialogue["text"], [before])
    assert follow_up.is_follow_up == "yes"
    assert {subject.strip("`") for subject in follow_up.subjects} == set(dialogue["subjects"])


@pytest.mark.parametrize("wording", list_wordings())
def test_a_wording_is_read_as_what_it_stands_for(wording):
    reading = analyze(wording.format(it="`box_lid`"))["reading"]
    assert "box_lid" in reading["subjects"] or reading["kind"] in ("understand", "setting", "documentation", "history")
    expected = next((key for key, text in WORDINGS.items() if text == wording), None)
    if expected:
        assert (reading["kind"], reading["relation"], reading["direction"]) == expected


@pytest.mark.parametrize(
    ("text", "aspect", "kind"),
    [
        ("what does it raise?", "raises", "failure"),
        ("exceptions?", "raises", "failure"),
        ("what's the signature?", "signature", "find_definition"),
        ("what does it return?", "returns", "find_definition"),
        ("what arguments does it take", "parameters", "find_definition"),
        ("welche Parameter hat es?", "parameters", "find_definition"),
        ("qu'est-ce que ça renvoie ?", "returns", "find_definition"),
        ("какие исключения она бросает?", "raises", "failure"),
        ("它返回什么？", "returns", "find_definition"),
    ],
)
def test_an_aspect_of_the_focus_is_asked_for(text, aspect, kind):
    reading = analyze(read(text, [LOGIN]).question)["reading"]
    assert (reading["kind"], reading.get("aspect"), reading["subjects"]) == (kind, aspect, ["Session.login"])


@pytest.mark.parametrize("text", ["show me the code", "show me the body", "show me the rest", "покажи код"])
def test_the_code_of_the_focus_is_shown_where_it_was_cited(text):
    assert read(text, [LOGIN]).places == ["auth/session.py:10-30"]


def test_the_rest_of_a_list_is_more_results():
    follow_up = read("show me the rest", [CALLERS])
    assert (follow_up.question, follow_up.is_wider) == ("who calls round_up", True)


@pytest.mark.parametrize("text", ["解析器在哪里？", "パーサーはどこですか？", "wo ist der Parser?", "где парсер?"])
def test_a_question_of_another_language_that_names_something_stands_alone(text):
    assert read(text, [LOGIN]).question == text
