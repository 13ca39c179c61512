"""What a model made of a follow-up is used only if it is a question about what was said."""

from dataclasses import replace

import pytest

from coderag.answering.chat.rewriting import extract_question, render_rewriting_prompt
from coderag.answering.chat.state import CitedPlace, Exchange
from coderag.text.path_masking import MaskedPaths, PathMask
from tests.support.corpora import make_context

LOGIN = Exchange(
    text="where is login?",
    question="where is login?",
    answer="`Session.login` is in auth/session.py and calls `make_token`.",
    cited=[CitedPlace(place="auth/session.py:10-30", name="Session.login", kind="method")],
    focus=["`Session.login`"],
    generator="extractive",
    asked="",
)


@pytest.mark.parametrize(
    ("reply", "question"),
    [
        ("Who calls `Session.login`?", "Who calls `Session.login`?"),
        ("  who calls Session.login?\n", "who calls Session.login?"),
        ('"who calls Session.login?"', "who calls Session.login?"),
        ("Standalone question: who calls make_token?", "who calls make_token?"),
        ("**who calls Session.login?**", "who calls Session.login?"),
        ("¿Quién llama a `Session.login`?", "¿Quién llama a `Session.login`?"),
    ],
)
def test_a_question_is_taken_out_of_its_wrapping(reply, question):
    assert extract_question(reply, "who calls it?", [LOGIN]) == question


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "  \n ",
        "`Session.login` is called by `handle`. It is also called in the tests.",
        "It is called in auth/views.py [1].",
        "Sure! Who calls it?",
        "Sorry, I cannot help with that.",
        "Who calls `Session.login`?\nAnd who calls `make_token`?",
        "who calls " + "Session.login and " * 60,
        "who calls `Session.logout_everywhere`?",
        "```\nwho calls it\n```",
    ],
)
def test_a_reply_that_is_no_question_about_what_was_said_is_not_used(reply):
    assert extract_question(reply, "who calls it?", [LOGIN]) == ""


def test_a_name_that_was_typed_must_stay():
    assert extract_question("who calls Session.login?", "and verify_token?", [LOGIN]) == ""
    assert extract_question("who calls verify_token?", "and verify_token?", [LOGIN]) == "who calls verify_token?"


def test_the_prompt_has_the_rules_apart_from_the_conversation():
    prompt = render_rewriting_prompt(make_context({"a.py": "x = 1\n"}), "who calls it?", "Question: where is login?")
    assert "somebody who has not seen the conversation" in prompt.system
    assert "who calls it?" in prompt.user
    assert "where is login?" in prompt.user


def test_paths_are_masked_where_the_settings_say_so():
    context = make_context({"auth/session.py": "x = 1\n"})
    masked = replace(context, masked_paths=MaskedPaths(PathMask(b"key"), ["auth/session.py"]))
    prompt = render_rewriting_prompt(masked, "what is in auth/session.py?", "Answer: it is in auth/session.py")
    assert "auth/session.py" not in prompt.text
