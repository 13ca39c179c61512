"""Wordings that stand in no training set, in the languages of the classifier."""

from importlib import resources

import pytest

from coderag.question.analysis import analyze
from coderag.question.classifier import NO_KIND, load_classifier
from coderag.question.wording import read_tokens

MAX_MODEL_BYTES = 1_000_000

CALLERS = [
    "who on the team's code calls `seal_box`",
    "`seal_box` has which callers?",
    "give me whatever invokes `seal_box`",
    "von welchen Funktionen wird `seal_box` aufgerufen?",
    "quelles méthodes appellent `seal_box` ?",
    "¿qué métodos llaman a `seal_box`?",
    "quais métodos chamam `seal_box`?",
    "какие методы вызывают `seal_box`?",
    "哪些地方会调用 `seal_box`?",
    "`seal_box` を呼び出している箇所を教えてください",
]
COMPARISONS = [
    "how do Parcel and Letter differ from one another",
    "Parcel versus Letter, please explain",
    "worin unterscheidet sich Parcel von Letter?",
    "en quoi Parcel et Letter diffèrent ?",
    "Parcel 和 Letter 的区别在哪里",
]
OVERVIEWS = [
    "please give me a summary of the whole repo",
    "what does this project actually do",
    "wie ist dieses Projekt gegliedert?",
    "quelle est l'architecture de ce projet ?",
    "请概述一下这个项目",
]


@pytest.mark.parametrize("question", CALLERS)
def test_callers_are_asked_for_in_any_wording(question):
    analysis = analyze(question)
    reading = analysis["reading"]
    assert (analysis["intent"], reading["direction"], reading["subjects"]) == ("find_usage", "in", ["seal_box"])


@pytest.mark.parametrize("question", COMPARISONS)
def test_comparisons_name_their_two_sides(question):
    reading = analyze(question)["reading"]
    assert (reading["form"], sorted(reading["ends"])) == ("comparison", ["Letter", "Parcel"])


@pytest.mark.parametrize("question", OVERVIEWS)
def test_overviews_are_of_the_whole(question):
    assert analyze(question)["reading"]["is_of_whole"]


@pytest.mark.parametrize(
    ("question", "relation", "direction"),
    [
        ("what does `seal_box` call", "calls", "out"),
        ("which files import `core.box`", "imports", "in"),
        ("which classes inherit from `Box`", "inherits", "in"),
        ("what does `SmallBox` inherit from", "inherits", "out"),
        ("which tests cover `seal_box`", "tests", "in"),
        ("what overrides `Box.open`", "overrides", "in"),
    ],
)
def test_a_relation_is_read_with_its_direction(question, relation, direction):
    reading = analyze(question)["reading"]
    assert (reading["relation"], reading["direction"]) == (relation, direction)


def test_words_that_ask_nothing_are_a_general_question():
    assert load_classifier().classify(read_tokens("zxqv qwrt")).kind == NO_KIND


def test_confidence_is_a_probability():
    reading = load_classifier().classify(read_tokens("who calls `seal_box`"))
    assert 0.9 < reading.confidence <= 1


def test_the_model_is_small():
    assert len((resources.files("coderag.question") / "classifier.npz").read_bytes()) < MAX_MODEL_BYTES


def test_a_long_question_is_read_at_its_ends():
    story = "we have a warehouse and boxes " * 200
    reading = load_classifier().classify(read_tokens(f"who calls `seal_box`? {story}"))
    assert len(read_tokens(story)) < len(story.split())
    assert reading.kind
