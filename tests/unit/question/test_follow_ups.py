import pytest

from coderag.question.follow_ups import complete_question


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("callers?", "who calls `box`"),
        ("and the tests?", "what tests `box`"),
        ("does anyone still use it", "is `box` unused"),
        ("what's the signature?", "what are the parameters of `box`"),
        ("subclasses", "what extends `box`"),
        ("welche Tests gibt es dafür?", "what tests `box`"),
        ("wer ruft das auf?", "who calls `box`"),
        ("它在哪里定义？", "where is `box` defined"),
    ],
)
def test_a_text_that_only_asks_is_worded_with_the_focus(text, question):
    assert complete_question(text, "`box`") == question


@pytest.mark.parametrize(
    "text", ["who calls `other`", "how does the parser work", "what does this project do", "thanks!", ""]
)
def test_a_text_that_says_of_what_it_asks_is_left(text):
    assert complete_question(text, "`box`") == ""
