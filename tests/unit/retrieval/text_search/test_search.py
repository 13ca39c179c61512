"""Text search over files on disk, with an in-memory index built from them."""

from dataclasses import replace

import pytest

from coderag.errors import InvalidQueryError, RetrievalError
from coderag.retrieval.filters import NO_FILTERS
from coderag.retrieval.text_search.search import TextSearch
from tests.support.corpora import make_corpus, write_files

FILES = {
    "docs/login.md": "# Login\n\nCall `login(user)`.\n",
    "shop/auth.py": (
        "import os\n\n\nclass Session:\n    @audited('login')\n    def login(self, user):\n"
        "        if user and (user.name or user.mail):\n            return os.environ\n        return None\n"
    ),
    "shop/a_use.py": "from shop.auth import Session\n\n\ndef enter(user):\n    return Session().login(user)\n",
    "shop/windows.py": "def first():\r\n    return 1\r\n\r\ndef second():\r\n    return 2\r\n",
    "tests/test_auth.py": "def test_login():\n    assert Session().login(None) is None\n",
}


@pytest.fixture(scope="module")
def snapshot():
    return make_corpus(FILES).snapshot


@pytest.fixture
def root(tmp_path):
    return write_files(tmp_path, FILES)


@pytest.fixture
def find(root, snapshot):
    def find(text, mode="exact", *, limit=100, time_limit_s=20.0, **options):
        filters = {**NO_FILTERS, **options.pop("filters", {})}
        search = TextSearch(root, snapshot, max_file_bytes=1_000_000, timeout_s=time_limit_s)
        return search.find(text, mode, limit=limit, filters=filters, **options)

    return find


def places(matches):
    return [match.location for match in matches.matches]


def test_matches_are_ordered_by_role_and_definitions(find):
    assert list(find("login").files.items()) == [
        ("shop/auth.py", 2),
        ("shop/a_use.py", 1),
        ("docs/login.md", 1),
        ("tests/test_auth.py", 2),
    ]


def test_match_has_location_and_enclosing_declaration(find):
    decorator, definition = find("login", filters={"paths": ["shop/auth.py"]}).matches
    assert (definition.start_line, definition.start_column, definition.end_line, definition.end_column) == (6, 9, 6, 14)
    assert (definition.text, definition.symbol, definition.kind) == (
        "    def login(self, user):", "Session.login", "method",
    )  # fmt: skip
    assert (decorator.definition, definition.definition) == (False, True)


def test_match_outside_declarations_has_no_symbol(find):
    assert find("import os").matches[0].symbol == ""


def test_special_characters_are_literal(find):
    assert places(find("(user.name or user.mail):")) == ["shop/auth.py:7:21"]


def test_case_matters_by_default(find):
    assert find("SESSION").total == 0
    assert find("SESSION", ignore_case=True).total == find("Session").total == 4


def test_regular_expression_matches_within_and_across_lines(find):
    assert places(find(r"^def \w+\(", "regex")) == [
        "shop/a_use.py:4:1",
        "shop/windows.py:1:1",
        "shop/windows.py:4:1",
        "tests/test_auth.py:1:1",
    ]
    (match,) = find(r"def enter.*\n.*login", "regex").matches
    assert (match.start_line, match.end_line, match.end_column) == (4, 5, 27)
    assert match.text == "def enter(user):\n    return Session().login(user)"


def test_line_ends_are_normalized(find):
    assert find("first():\n    return 1").total == find("first():\r\n    return 1").total == 1
    assert find(r"return \d$", "regex").total == 2
    assert find(r"\r$", "regex").files == {"shop/windows.py": 5}


def test_alternatives_and_optional_parts_are_found(find):
    assert find("enter|second", "regex").total == 2
    assert find("(?:en)?ter", "regex").total == find("ter", "regex").total == 1
    assert find(r"(?i)SESSION", "regex").total == 4


def test_empty_match_counts_once_per_line(find):
    assert find("^(?=.*def)(?=.*user)", "regex").files == {"shop/a_use.py": 1, "shop/auth.py": 1}
    assert find("x*", "regex", filters={"paths": ["shop/a_use.py"]}).total == 6


def test_white_space_is_ignored_only_without_an_exact_match(find):
    matches = find("def login( self,user ):\n  if user")
    assert matches.whitespace_ignored
    assert [(match.start_line, match.end_line) for match in matches.matches] == [(6, 7)]
    assert not find("def login").whitespace_ignored
    assert find("deflogin").total == 0


def test_files_are_read_in_their_current_state(find, root):
    (root / "shop/a_use.py").write_text("# moved\ndef leave():\n    brand_new()\n")
    matches = find("brand_new")
    assert places(matches) == ["shop/a_use.py:3:5"]
    assert matches.stale == ["shop/a_use.py"]
    assert matches.matches[0].symbol == ""  # the index's lines hold no longer
    assert find("enter").total == 0


def test_unreadable_file_is_reported(find, root):
    (root / "shop/auth.py").unlink()
    (root / "shop/a_use.py").unlink()
    (root / "shop/a_use.py").symlink_to(root / "docs/login.md")
    matches = find("login")
    assert {path for path, _ in matches.unread} == {"shop/auth.py", "shop/a_use.py"}
    assert set(matches.files) == {"docs/login.md", "tests/test_auth.py"}


def test_unindexed_file_is_not_searched(find, root):
    (root / "secret.env").write_text("login=1\n")
    assert "secret.env" not in find("login").files


def test_all_matches_are_counted_and_the_first_returned(find):
    matches = find("login", limit=1)
    assert (len(matches.matches), matches.total, matches.complete) == (1, 6, True)


def test_context_lines_surround_a_match(find):
    (match,) = find("os.environ", context_lines=2).matches
    assert (len(match.before), list(match.after)) == (2, ["        return None", ""][: len(match.after)])


@pytest.mark.parametrize(
    ("filters", "files"),
    [
        ({"languages": ["markdown"]}, {"docs/login.md"}),
        ({"roles": ["test"]}, {"tests/test_auth.py"}),
        ({"paths": ["shop", "!a_use.py"]}, {"shop/auth.py"}),
        ({"changed": ["shop/a_use.py"]}, {"shop/a_use.py"}),
        ({"changed": []}, set()),
        ({"kinds": ["class"]}, {"shop/auth.py"}),
        ({"complexity": [4]}, {"shop/auth.py"}),
    ],
)
def test_filters_apply(find, filters, files):
    assert set(find("login", filters=filters).files) == files


def test_absent_language_is_rejected(find):
    with pytest.raises(InvalidQueryError, match="cobol"):
        find("login", filters={"languages": ["cobol"]})


@pytest.mark.parametrize("text", ["", "\n"])
def test_empty_text_is_rejected(find, text):
    with pytest.raises(InvalidQueryError, match="text is empty"):
        find(text)


def test_invalid_regular_expression_is_rejected_with_its_position(find):
    with pytest.raises(InvalidQueryError, match=r"'foo\(': missing \) at position 5"):
        find("foo(", "regex")


def test_slow_pattern_times_out(root, snapshot):
    (root / "shop/auth.py").write_text("a" * 5_000 + "!\n")
    search = TextSearch(root, snapshot, max_file_bytes=1_000_000, timeout_s=0.2)
    with pytest.raises(RetrievalError, match=r"timed out in shop/auth\.py"):
        search.find("(a|a)+$", "regex", limit=1)


def test_notebook_cells_are_searched(tmp_path):
    notebook = (
        '{"cells": [{"cell_type": "code", "source": [\n"print(\\"hello\\")\\n"\n], "metadata": {}, "outputs": []}],\n'
        '"metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n'
    )
    files = {"a.ipynb": notebook}
    write_files(tmp_path, files)
    search = TextSearch(tmp_path, make_corpus({"a.ipynb": notebook}).snapshot, max_file_bytes=1_000_000)
    assert places(search.find('print("hello")', "exact", limit=9)) == ["a.ipynb:2:1"]


def test_file_in_another_encoding_is_searched(tmp_path, snapshot):
    class Latin:
        read_chunks = snapshot.read_chunks

        def read_files(self):
            record = next(record for record in snapshot.read_files() if record.path == "shop/a_use.py")
            return [replace(record, encoding="utf-16")]

    write_files(tmp_path, FILES)
    (tmp_path / "shop/a_use.py").write_bytes("caf\xe9 = 1\n".encode("utf-16"))
    search = TextSearch(tmp_path, Latin(), max_file_bytes=1_000_000)
    assert places(search.find("caf\xe9", "exact", limit=9)) == ["shop/a_use.py:1:1"]
