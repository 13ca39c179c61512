"""``coderag search --explain``, and the verdict of each command."""

import json

import pytest


def test_it_says_why_each_result_is_where_it_is(coderag):
    result = coderag("search", "--explain", "how", "do", "users", "log", "in")
    assert result.exit_code == 0
    assert coderag.calls[-1] == ("explain", ("how do users log in", None, None, None))
    lines = result.stdout.splitlines()
    place = lines.index("1  src/auth/session.py:10-14  function auth.session.login  0.912  full, 60 tokens")
    assert lines[place + 1 : place + 3] == [
        "    channels: dense #1 (1.00), lexical #12 (0.50)",
        "    features: role -4.57, definition +3.09, lexical +1.58, the model 7.00",
    ]


def test_it_says_what_belongs_to_a_result_and_what_the_context_shows_of_it(coderag):
    text = coderag("search", "--explain", "login").stdout
    assert "+1  src/web/views.py:3-9  function post_login  0.400  signature, 12 tokens" in text
    assert "related: caller of auth.session.login, 2 steps" in text
    assert "src/auth/session.py:98-101  function auth.session.login  0.912  omitted, 90 tokens" in text
    assert "context: 72 of 8,000 tokens" in text


def test_it_says_how_the_question_was_understood_judged_and_how_long_it_took(coderag):
    lines = coderag("search", "--explain", "login").stdout.splitlines()
    assert lines[:4] == [
        "intent: general (0.50)",
        "terms: log user",
        "added terms: signin",
        "evidence: unknown (0.31: likeness 0.42)",
    ]
    assert "not indexed: src/big.py: larger than 1,000,000 bytes" in lines
    assert lines[-1] == "widen  1.5 ms  terms signin credential"


def test_json_has_all_of_it(coderag):
    told = json.loads(coderag("search", "--explain", "--json", "-n", "3", "login").stdout)
    assert coderag.calls[-1] == ("explain", ("login", 3, None, None))
    assert told["results"][0]["ranks"] == {"dense": 1, "lexical": 12}
    assert told["related"][0]["hop"] == 2
    assert [entry["node"] for entry in told["trace"]] == ["analyze", "widen"]
    assert (told["evidence"], told["features"]) == ("unknown", {"likeness": 0.42})


def test_names_of_the_repository_cannot_command_the_terminal(coderag):
    assert "\x1b" not in coderag("search", "--explain", "login", behaviour="hostile").stdout


@pytest.mark.parametrize("option", ["--exact", "--regex"])
def test_it_does_not_go_with_searches_of_text(coderag, option):
    assert coderag("search", "--explain", option, "login").exit_code == 2


def test_a_context_is_explained_for_its_budget(coderag):
    text = coderag("context", "--explain", "-b", "900", "login").stdout
    assert coderag.calls[-1] == ("explain", ("login", None, 900, None))
    assert "function auth.session.login  0.912  full, 60 tokens" in text


def test_lines_of_files_are_not_explained(coderag):
    assert coderag("context", "--explain", "--file", "src/a.py:1-2").exit_code == 2


def test_weak_evidence_is_told_beside_the_results(coderag):
    result = coderag("search", "login", behaviour="weak")
    assert "evidence: weak" in result.stderr
    assert "evidence" not in coderag("search", "login", behaviour="ok").stderr


def test_files_that_may_have_the_answer_are_named(coderag):
    result = coderag("search", "login", behaviour="partial")
    assert "evidence: unknown" in result.stderr
    assert "not indexed: src/big.py: larger than 1,000,000 bytes" in result.stderr


def test_json_results_have_the_verdict(coderag):
    told = json.loads(coderag("search", "--json", "login", behaviour="partial").stdout)
    assert (told["evidence"], told["confidence"]) == ("unknown", 0.2)
    assert told["not_indexed"] == ["src/big.py: larger than 1,000,000 bytes"]
