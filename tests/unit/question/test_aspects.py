import pytest

from coderag.question.analysis import analyze


@pytest.mark.parametrize(
    ("question", "aspect"),
    [
        ("what is the signature of `run`", "signature"),
        ("what arguments does `run` take?", "parameters"),
        ("what does `run` return", "returns"),
        ("what does `run` raise?", "raises"),
        ("can `run` fail?", "raises"),
        ("what methods does `Box` have", "members"),
        ("show me the code of `Box`", "code"),
        ("welche Fehler wirft `run`?", "raises"),
        ("was gibt `run` zurück?", "returns"),
        ("qué devuelve `run`", "returns"),
        ("`run`的参数是什么？", "parameters"),
    ],
)
def test_the_aspect_that_a_question_asks_for_is_read(question, aspect):
    assert analyze(question)["reading"].get("aspect") == aspect


@pytest.mark.parametrize(
    "question",
    [
        "where is `run` defined",
        "which methods call `run`",
        "why does `run` raise an error",
        "what happens when `run` fails",
        "what raises `HeaderError`?",
        "how are arguments parsed",
        "how does `run` handle errors",
        "what does `Parser.error` do",
    ],
)
def test_a_question_that_only_mentions_an_aspect_asks_for_none(question):
    assert not analyze(question)["reading"].get("aspect")


def test_errors_that_something_raises_are_a_list_of_its_failures():
    analysis = analyze("what does `run` raise?")
    assert (analysis["reading"]["kind"], analysis["reading"]["form"]) == ("failure", "list")
    assert analysis["reading"]["subjects"] == ["run"]
