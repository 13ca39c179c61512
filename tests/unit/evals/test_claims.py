"""Which claims of an answer its citations support."""

from types import SimpleNamespace

import pytest

from coderag.config.settings import Settings
from coderag.errors import ModelError
from coderag.models.llms.scripted import ScriptedModel
from coderag.schema.answers import Answer, AnswerClaim, Citation
from evals.claims import AnswerChecker, ModelJudge, WordJudge, extract_claims, make_judge

EVIDENCE = '''src/money.py:1-3
def exchange(price, currency):
    """Convert a price into another currency."""
    return Money(price.cents, currency)'''


def answered(text, citations=(), claims=()):
    return Answer("q", "general", text, citations, 0, 0, "found", (), claims=claims)


def test_claims_are_those_that_the_answer_shows():
    claims = [
        AnswerClaim("`exchange` (a function in `src/money.py:1`) is called by 1 declaration.", [0], "verified"),
        AnswerClaim("```python\nexchange(price, currency, with_rounding)\n```", [0], "verified"),
        AnswerClaim("`src/money.py:1-3`", [0], "verified"),
        AnswerClaim("It sends e-mails to all customers [1].", [0], "unsupported", "not there", shown=False),
    ]
    assert extract_claims(answered("Other words than those of the claims.", claims=claims)) == [
        "`exchange` (a function in) is called by 1 declaration."
    ]


def test_claims_are_sentences_and_list_entries_without_code_and_citations():
    text = (
        "# Answer\n\nThe code is in `src/a.py` [1]. It converts prices into euros [2].\n\n"
        "```python\nnot.a.claim(at, all)\n```\n\n- `exchange` converts the price — `src/money.py:1-3`\n- short\n"
    )
    assert extract_claims(answered(text)) == [
        "The code is in `src/a.py`.",
        "It converts prices into euros.",
        "`exchange` converts the price",
    ]


def test_an_unfinished_fence_hides_the_rest():
    assert extract_claims(answered("The price is converted here.\n```\ncode that goes on here\n")) == [
        "The price is converted here."
    ]


@pytest.mark.parametrize(
    ("claim", "is_supported"),
    [
        ("`exchange` converts a price into another currency", True),
        ("Prices are converted by the exchange function", True),
        ("`refund` converts a price into another currency", False),  # a name that is not there
        ("Customers get invoices by e-mail every month", False),
    ],
)
def test_words_must_be_in_the_evidence(claim, is_supported):
    assert WordJudge().judge_claims([claim], EVIDENCE) == [is_supported]


def test_a_model_judges_each_claim_and_what_it_leaves_out_is_not_supported():
    writer = ScriptedModel("Verdicts:\n1: yes\n2. **No**\n4 - Yes, it is")
    judge = ModelJudge(writer)
    assert judge.judge_claims(["one", "two", "three", "four"], EVIDENCE) == [True, False, False, True]
    assert judge.name == "scripted/1"
    assert "2. two\n" in writer.prompts[0].text
    assert EVIDENCE in writer.prompts[0].text


def test_a_judge_that_fails_is_an_error():
    with pytest.raises(ModelError, match="gone"):
        ModelJudge(ScriptedModel(ModelError("gone"))).judge_claims(["one"], EVIDENCE)


def test_only_citations_that_hold_are_evidence():
    lines = ["def exchange(price, currency):", "    return Money(price.cents, currency)", "secret = handshake"]
    repository = SimpleNamespace(read_lines=lambda path: lines, declarations={})
    citations = [
        Citation("src/money.py", 1, 2, "", verified=True),
        Citation("src/money.py", 3, 3, "", verified=False, reason="changed"),
    ]
    text = "The price is exchanged into a currency. A secret handshake opens doors.\n"
    answer = answered(text, citations)
    checked = AnswerChecker(repository, WordJudge()).check(answer)
    assert (checked.verified, checked.citations) == (1, 2)
    assert (checked.supported, checked.claims, checked.judge) == (1, 2, "words")


def test_an_answer_without_claims_needs_no_judge():
    answer = Answer("q", "general", "`x`\n", (), 0, 0, "not_found", ())
    checked = AnswerChecker(SimpleNamespace(read_lines=list), ModelJudge(ScriptedModel())).check(answer)
    assert (checked.claims, checked.supported) == (0, 0)


def test_the_judge_runs_its_own_event_loop():
    """Several answers, one after the other, each with a loop that is closed again."""
    judge = ModelJudge(ScriptedModel("1: yes", "1: no"))
    assert [judge.judge_claims(["one"], ""), judge.judge_claims(["one"], "")] == [[True], [False]]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "words"),
        ({"llm": {"provider": "ollama", "model": "m"}}, "ollama/m"),
        ({"llm": {"provider": "ollama", "model": "m"}, "privacy": {"obfuscate_paths": True}}, "words"),
    ],
)
def test_the_judge_is_the_configured_model_unless_paths_are_to_stay_here(tmp_path, settings, name):
    assert make_judge(Settings.load(tmp_path, **settings)).name == name
