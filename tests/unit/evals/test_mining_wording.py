"""What commit messages and test names become."""

import pytest

from evals.mining.wording import (
    extract_question,
    extract_test_question,
    find_message_fault,
    has_answer_name,
    is_test_name,
)


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("fix(cart): keep the discount when an item is removed (#123)", "keep the discount when an item is removed"),
        ("[JIRA-12] Close sockets after a timed out request.", "Close sockets after a timed out request"),
        ("Fixes #9 Close sockets after a timed out request", "Close sockets after a timed out request"),
        ("Faster start\n\nThe cache is read lazily now. More words.", "Faster start: The cache is read lazily now"),
        ("Faster start\n\n* one\n* two", "Faster start"),
        ("Faster start\n\nSigned-off-by: A <a@b.invalid>", "Faster start"),
        ("Read the configuration of parent folders\n\nA long story.", "Read the configuration of parent folders"),
    ],
)
def test_a_message_becomes_what_was_done(message, question):
    assert extract_question(message, is_merge=False) == question


def test_of_a_pull_request_the_title_is_taken_and_of_another_merge_nothing():
    merge = "Merge pull request #12 from someone/branch\n\nStop sending cookies to other hosts"
    assert extract_question(merge, is_merge=True) == "Stop sending cookies to other hosts"
    assert extract_question("Merge branch 'main' of example", is_merge=True) == ""


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("Stop sending cookies to other hosts", ""),
        ("Update the cookie jar when a host redirects", ""),
        ('Revert "Stop sending cookies to other hosts"', "reverts another"),
        ("Bump requests from 2.1 to 2.2", "chore: version, format, rename, changelog"),
        ("Update dependencies of the build", "chore: version, format, rename, changelog"),
        ("Rename Cart to Basket everywhere else", "chore: version, format, rename, changelog"),
        ("Fix a typo in the message about hosts", "chore: version, format, rename, changelog"),
        ("Run black over the whole project", "chore: version, format, rename, changelog"),
        ("Fix the bug", "too few words"),
        ("", "no message"),
    ],
)
def test_messages_that_say_nothing_of_behaviour_are_refused(message, fault):
    question = extract_question(message, is_merge=False)
    assert find_message_fault(message, "A <a@b.invalid>", question, is_merge=False) == fault


def test_what_bots_wrote_is_refused():
    message = "Read the configuration of parent folders"
    assert find_message_fault(message, "renovate[bot] <bot@b.invalid>", message, is_merge=False) == "by a bot"


@pytest.mark.parametrize(
    ("name", "docstring", "question"),
    [
        ("test_expired_tokens_are_refused", "", "expired tokens are refused"),
        ("testExpiredTokensAreRefused", "", "expired tokens are refused"),
        ("shouldRefuseExpiredTokens", "", "refuse expired tokens"),
        ("test_login", "Ensure that tokens expire after an hour. Or so.", "tokens expire after an hour"),
        ("test_login_after_logout", "See #12.", "login after logout"),
    ],
)
def test_a_test_says_what_it_checks(name, docstring, question):
    assert extract_test_question(name, docstring) == question


@pytest.mark.parametrize(
    ("name", "is_test"), [("test_a", True), ("TestCart", True), ("testimony", False), ("setUp", False)]
)
def test_functions_that_are_tests_are_told_by_their_names(name, is_test):
    assert is_test_name(name) is is_test


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("keep prices in apply_discount", True),
        ("how to apply the discount twice", True),
        ("why is the pricing slow", True),
        ("prices are rounded too early", False),
    ],
)
def test_a_question_that_names_its_answer_is_told(question, named):
    assert has_answer_name(question, ["apply_discount"], ["shop/pricing.py"]) is named
