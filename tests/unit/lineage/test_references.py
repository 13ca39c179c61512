"""References in commit messages."""

import pytest

from coderag.lineage.people import PeopleMask
from coderag.lineage.references import find_co_authors, find_references, normalize_reference


def list_references(message: str) -> list[tuple[str, str, str, str]]:
    subject, _, body = message.partition("\n\n")
    return [(item.kind, item.text, item.source, item.relation) for item in find_references(subject, body)]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("PROJ-45: Fix it", [("ticket", "PROJ-45", "subject", "")]),
        ("Fix it\n\nFixes: PROJ-45", [("ticket", "PROJ-45", "trailer", "fixes")]),
        ("Fix it\n\nText.\n\nRefs: #7\nCloses: GH-12",
         [("ticket", "#7", "trailer", "refs"), ("ticket", "#12", "trailer", "closes")]),
        ("Fix it (#12)", [("pull_request", "#12", "subject", "")]),
        ("Merge pull request #12 from a/b", [("pull_request", "#12", "subject", "")]),
        ("Fix it (closes #12)", [("ticket", "#12", "subject", "closes")]),
        ("Fix #1, #2 and #3",
         [("ticket", "#1", "subject", "fix"), ("ticket", "#2", "subject", "fix"), ("ticket", "#3", "subject", "fix")]),
        ("See owner/name#9", [("ticket", "owner/name#9", "subject", "see")]),
        ("Merge !34", [("pull_request", "#34", "subject", "")]),
        ("Text https://github.com/o/n/pull/5.", [("pull_request", "#5", "subject", "")]),
        ("Text https://github.com/o/n/issues/5", [("ticket", "#5", "subject", "")]),
        ("Text https://x.atlassian.net/browse/PROJ-4", [("ticket", "PROJ-4", "subject", "")]),
        ("Text https://gitlab.com/o/n/-/merge_requests/5", [("pull_request", "#5", "subject", "")]),
        ("Undo\n\nThis reverts commit 0123456789abcdef0123456789abcdef01234567.",
         [("commit", "0123456789abcdef0123456789abcdef01234567", "body", "reverts")]),
        ("Same #4\n\nCloses #4", [("ticket", "#4", "subject", "")]),
        ("Use UTF-8, SHA-256, CVE-2024-1 and color #123456a", []),
        ("a-B-12 x#y &#39; proj-45 #a1", []),
        ("", []),
    ],
)  # fmt: skip
def test_references_are_read_with_their_place_and_relation(
    message: str, expected: list[tuple[str, str, str, str]]
) -> None:
    assert list_references(message) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("proj-45", "PROJ-45"), ("45", "#45"), ("GH-45", "#45"), ("#45", "#45"), ("PR 45", "#45"),
     ("https://github.com/o/n/issues/45", "#45"), ("words", "words")],
)  # fmt: skip
def test_typed_reference_is_normalized(text: str, expected: str) -> None:
    assert normalize_reference(text) == expected


def test_co_authors_are_read_once() -> None:
    body = "Text.\n\nCo-authored-by: Bob <bob@x.test>\nCo-Authored-By: Bob <bob@x.test>\nCo-authored-by: Eve"
    assert find_co_authors(body) == ("Bob", "Eve")


def test_masked_message_names_nobody() -> None:
    mask = PeopleMask(b"key")
    message = "Fix it\n\nReported by eve@x.test.\n\nCo-authored-by: Bob <bob@x.test>\nReviewed-by: Ann"
    masked = mask.mask_message(message)
    assert not any(word in masked for word in ("Bob", "bob@", "eve@", "Ann"))
    assert masked.startswith("Fix it\n\nReported by person-")
    assert f"Co-authored-by: {mask.mask_person('B.', 'BOB@x.test')[0]}" in masked
    assert PeopleMask(b"other").mask_person("Bob", "")[0] != mask.mask_person("Bob", "")[0]
