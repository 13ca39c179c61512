"""Answers to whether something is unused say what is known, and never that it is proved."""

import pytest

from tests.support.corpora import make_context
from tests.support.extracted import extracted

FILES = {
    "src/app.py": "def main():\n    helper()\n\n\ndef helper():\n    return 1\n\n\ndef forgotten():\n    return 2\n",
    "src/web.py": "from frame import route\n\n\n@route('/')\ndef page():\n    return 3\n",
    "lib/old.py": "def stale():\n    return 4\n",
    "tests/test_app.py": "from src.app import helper\n\n\ndef test_it():\n    assert helper() == 1\n",
}


@pytest.fixture(scope="module")
def small():
    return make_context(FILES)


@pytest.mark.parametrize(
    "question", ["is forgotten unused?", "can I delete forgotten", "does anything still use forgotten"]
)
def test_declaration_without_known_use_is_not_denied(small, question):
    answer = extracted(small, question)
    assert answer.lead.startswith("No use of **`forgotten`** (function, `src/app.py:9`) could be resolved")
    assert "A search cannot prove that code is unused" in answer.text
    assert answer.claims == []


def test_decorator_that_registers_a_declaration_is_named(small):
    assert "It may still be reached: registered by `@route`." in extracted(small, "can I remove page?").text


def test_used_declaration_is_answered_by_its_users(small):
    answer = extracted(small, "is helper unused?")
    assert answer.lead.startswith("**It is used.** **`helper`** (function, `src/app.py:5`) is called by 1 declaration")
    assert "`src/app.py:2`" in answer.text


@pytest.mark.parametrize(
    "question", ["which functions are never called?", "is there any dead code", "list unused functions"]
)
def test_declarations_without_known_use_are_listed(small, question):
    answer = extracted(small, question)
    assert answer.lead.startswith("**2 declarations have no known use.**")
    assert "- `forgotten` (function, likely): no other line mentions it — `src/app.py:9`" in answer.text
    assert "1 registered by a decorator or annotation" in answer.text
    assert answer.claims == []


def test_folder_limits_the_list(small):
    text = extracted(small, "find dead code in lib/").text
    assert "`stale`" in text
    assert "`forgotten`" not in text


def test_question_about_a_pass_for_dead_code_is_none(small):
    assert "no known use" not in extracted(small, "how does dead code elimination work").text
