"""Outcome of a failure: the error, message or value of the deciding line, and what a handler does."""

import pytest

from coderag.answering.evidence.failure_outcomes import list_handler_outcomes, read_expression
from coderag.answering.evidence.failure_statements import find_failure_statements
from tests.support.corpora import make_context
from tests.support.extracted import extracted


def first_statement(code):
    lines = code.split("\n")
    return lines, next(find_failure_statements(lines))


@pytest.mark.parametrize(
    ("code", "expression"),
    [
        ("    raise ValueError('no card')", "ValueError('no card')"),
        ("    raise DataError(\n        'wrong schema: {}'.format(\n            version\n        )\n    )",
         "DataError('wrong schema: {}'.format(version))"),
        ("  throw new TypeError(`bad ${x}`);", "TypeError(`bad ${x}`)"),
        ("    raise", ""),
        ('    return nil, fmt.Errorf("no %s", name)', 'nil, fmt.Errorf("no %s", name)'),
        ('  raise "a " <>\n    "b"', '"a " <> "b"'),
        ('    Err("closed".into())', 'Err("closed".into())'),
    ],
)  # fmt: skip
def test_the_expression_of_a_statement_is_read_over_lines(code, expression):
    assert read_expression(*first_statement(code)) == expression


@pytest.mark.parametrize(
    ("code", "outcomes"),
    [
        ("except OSError as e:\n    n += 1\n    log.warning('gone')\n    raise AppError('down')\nafter()",
         ["log.warning('gone')", "AppError('down')"]),
        ("if err != nil {\n    return nil, err\n}", ["nil, err"]),
        ("except KeyError:\n    value = None\nraise X()", ["value = None"]),
        ("} catch (IOException e) {\n    // nothing\n}", []),
        ("Err(Lagged(_)) => {}", []),
        ("Err(Lagged(_)) => resync(),", ["resync()"]),
    ],
)  # fmt: skip
def test_a_handler_has_the_outcomes_of_its_block(code, outcomes):
    assert [text for _, text in list_handler_outcomes(*first_statement(code), {})] == outcomes


def test_the_first_sentence_states_the_error_and_its_message():
    files = {
        "a.py": "def pay(card):\n    '''Pay.'''\n    if card.expired:\n        raise ValueError('the card has expired')\n"
    }
    lead = extracted(make_context(files), "what happens if the card of pay has expired").lead
    assert lead.startswith(
        "**`pay`** raises `ValueError('the card has expired')` under `if card.expired:` in `a.py:4`."
    )


def test_the_first_sentence_states_what_a_handler_does():
    source = "def pull(host):\n    try:\n        connect(host)\n    except HostGone:\n        host.skipped += 1\n"
    lead = extracted(make_context({"a.py": source}), "what happens if the host is gone").lead
    assert lead.startswith("**`pull`** handles `HostGone`: it goes on with `host.skipped += 1` in `a.py:4`.")
