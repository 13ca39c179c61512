"""Questions about several subjects: each is answered."""

import pytest

from tests.support.corpora import make_context
from tests.support.extracted import FILES, extracted, state_of


def test_users_of_two_names_are_answered_for_each():
    answer = extracted(make_context(FILES), "who calls round_up and check_card?")
    statements = [str(statement.parts[0]) for statement in answer.draft.sections[0].statements]
    assert statements[0].startswith("**`round_up`**")
    assert any(statement.startswith("**`check_card`**") for statement in statements)
    assert {"Called by (`round_up`)", "Called by (`check_card`)"} <= {
        section.title for section in answer.draft.sections
    }


def test_defaults_of_two_settings_are_answered_for_each():
    files = {
        "options.py": "RETRY_LIMIT = 5\nSTALE_AFTER_S = 30\n\n\ndef run():\n    return RETRY_LIMIT, STALE_AFTER_S\n"
    }
    lead = extracted(make_context(files), "what are the defaults of RETRY_LIMIT and STALE_AFTER_S?")
    text = lead.text
    assert "**`RETRY_LIMIT`** is `5` by default" in text
    assert "**`STALE_AFTER_S`** is `30` by default" in text


@pytest.mark.parametrize(
    ("question", "coordinated"),
    [
        ("who calls round_up and check_card?", ["round_up", "check_card"]),
        ("who calls `round_up`, `check_card` and `check_out`?", ["round_up", "check_card", "check_out"]),
        ("who calls round_up in check_out", []),
        ("who calls round_up", []),
    ],
)
def test_only_names_with_and_between_them_are_coordinated(question, coordinated):
    assert state_of(make_context(FILES), question)["analysis"]["reading"].get("coordinated", []) == coordinated
