import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.errors import InvalidQueryError
from coderag.retrieval.filters import (
    NO_FILTERS,
    build_chunk_mask,
    build_path_matcher,
    build_related_mask,
    to_filter_values,
)
from coderag.schema.search import Filters
from tests.support.corpora import make_corpus

FILES = {
    "README.md": "# Shop\n\nSells things.\n",
    "shop/cart.py": "class Cart:\n    pass\n\n\ndef total(items):\n    return sum(items)\n",
    "shop/web/app.ts": "export function run() {\n  return 1;\n}\n",
    "tests/test_cart.py": "def test_total():\n    assert True\n",
}


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


def allowed(corpus, **filters):
    mask = build_chunk_mask(corpus, {**NO_FILTERS, **filters})
    return {(corpus.get_value("path", row), corpus.get_value("qualified_name", row)) for row in np.flatnonzero(mask)}


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("shop/cart.py", "shop/cart.py", True),
        ("shop", "shop/cart.py", True),
        ("shop/", "shop/web/app.ts", True),
        ("./shop", "shop/cart.py", True),
        ("shop/web", "shop/cart.py", False),
        ("cart.py", "shop/cart.py", True),
        ("art.py", "shop/cart.py", False),
        ("cart", "shop/cart.py", False),
        ("sho", "shop/cart.py", False),
        ("web", "shop/web/app.ts", True),
        ("*.py", "shop/cart.py", True),
        ("*.py", "shop/cart.pyi", False),
        ("shop/*.py", "shop/cart.py", True),
        ("shop/*.ts", "shop/web/app.ts", False),
        ("shop/**/*.ts", "shop/web/app.ts", True),
        ("shop/**/*.py", "shop/cart.py", True),
        ("**/cart.py", "cart.py", True),
        ("shop/**", "shop/web/app.ts", True),
        ("shop/ca?t.py", "shop/cart.py", True),
        ("shop?cart.py", "shop/cart.py", False),
        ("a+b/c.py", "a+b/c.py", True),
        ("a.b", "axb", False),
        (".", "shop/cart.py", True),
        ("./", "shop/cart.py", True),
        ("/", "shop/cart.py", True),
    ],
)
def test_pattern_is_a_file_folder_bare_name_or_glob(pattern, path, expected):
    assert build_path_matcher((pattern,))(path) is expected


def test_several_patterns_are_alternatives():
    matches = build_path_matcher(("shop/web", "*.md"))
    assert [matches(path) for path in FILES] == [True, False, True, False]


def test_exclamation_mark_excludes_paths():
    matches = build_path_matcher(("shop", "!*.ts"))
    assert [matches(path) for path in FILES] == [False, True, False, False]
    matches = build_path_matcher(("!tests", "!README.md"))
    assert [matches(path) for path in FILES] == [False, True, True, False]


@pytest.mark.parametrize("pattern", ["./!odd.py", "\\!odd.py"])
def test_escaped_exclamation_mark_is_literal(pattern):
    assert build_path_matcher((pattern,))("!odd.py")
    assert not build_path_matcher((pattern,))("odd.py")


SEGMENT = st.sampled_from(["a", "b", "ab", "a.py", "b.py", "a+"])
GLOB = st.sampled_from(["a", "b", "*", "a*", "*.py", "?", "a?", "**"])


@given(st.lists(GLOB, min_size=1, max_size=4), st.lists(SEGMENT, min_size=1, max_size=4))
def test_globs_agree_with_a_folder_walking_matcher(pattern, path):
    starts = range(len(path)) if len(pattern) == 1 else [0]
    expected = any(walks(pattern, path[start:]) for start in starts)
    assert build_path_matcher(("/".join(pattern),))("/".join(path)) is expected


def walks(pattern, path):
    """Return whether a pattern matches a path or a folder above it, part by part."""
    if not pattern:
        return True
    if pattern[0] == "**":
        least = 0 if len(pattern) > 1 else 1
        return any(walks(pattern[1:], path[used:]) for used in range(least, len(path) + 1))
    glob = re.escape(pattern[0]).replace(r"\*", ".*").replace(r"\?", ".")
    return bool(path) and re.fullmatch(glob, path[0]) is not None and walks(pattern[1:], path[1:])


def test_no_filter_allows_everything(corpus):
    assert build_chunk_mask(corpus, NO_FILTERS) is None


def test_languages_kinds_and_roles_match_exactly(corpus):
    assert {path for path, _ in allowed(corpus, languages=["typescript"])} == {"shop/web/app.ts"}
    assert allowed(corpus, kinds=["class"]) == {("shop/cart.py", "Cart")}
    assert {path for path, _ in allowed(corpus, roles=["test"])} == {"tests/test_cart.py"}


def test_values_of_one_filter_are_alternatives(corpus):
    paths = {path for path, _ in allowed(corpus, languages=["typescript", "markdown"])}
    assert paths == {"shop/web/app.ts", "README.md"}


def test_different_filters_are_conjunctive(corpus):
    assert allowed(corpus, languages=["python"], kinds=["function"], paths=["shop"]) == {("shop/cart.py", "total")}


def test_unmatched_path_allows_nothing(corpus):
    assert allowed(corpus, paths=["nowhere"]) == set()


@pytest.mark.parametrize(("name", "there"), [("languages", "python"), ("kinds", "class"), ("roles", "docs")])
def test_absent_value_is_rejected_with_the_available_ones(corpus, name, there):
    with pytest.raises(InvalidQueryError, match="cobol") as refused:
        allowed(corpus, **{name: ["cobol"]})
    assert there in refused.value.hint


BRANCHES = {
    "simple.py": "def simple():\n    return 1\n",
    "branchy.py": "def branchy(a):\n    if a:\n        return 1\n    for b in a:\n        pass\n    return 2\n",
    "notes.md": "# Notes\n\nText.\n",
}


@pytest.mark.parametrize(
    ("complexity", "files"),
    [
        (1, {"simple.py", "branchy.py"}),
        (3, {"branchy.py"}),
        (4, set()),
        ((0, 1), {"simple.py", "notes.md"}),
        ((3, 3), {"branchy.py"}),
    ],
)
def test_complexity_is_a_minimum_or_a_range(complexity, files):
    values = to_filter_values(Filters(complexity=complexity))
    assert {path for path, _ in allowed(make_corpus(BRANCHES), **values)} == files


@pytest.mark.parametrize("complexity", [-1, (5, 4), (-2, 3)])
def test_empty_complexity_range_is_rejected(complexity):
    with pytest.raises(InvalidQueryError, match="is not a valid range"):
        to_filter_values(Filters(complexity=complexity))


def test_only_changed_files_are_allowed_even_if_there_are_none(corpus):
    assert {path for path, _ in allowed(corpus, changed=["shop/cart.py", "gone.py"])} == {"shop/cart.py"}
    assert allowed(corpus, changed=[]) == set()


def test_filters_are_plain_values():
    values = to_filter_values(Filters(("python",), complexity=(1, 5)), ["a.py"])
    assert values == {**NO_FILTERS, "languages": ["python"], "complexity": [1, 5], "changed": ["a.py"]}
    assert to_filter_values(Filters()) == NO_FILTERS


def test_related_code_obeys_location_filters_only(corpus):
    values = to_filter_values(Filters(paths=("!tests",), kinds=("class",), complexity=5), [])
    mask = build_related_mask(corpus, values)
    assert {corpus.get_value("path", row) for row in np.flatnonzero(mask)} == {
        "README.md",
        "shop/cart.py",
        "shop/web/app.ts",
    }
    assert build_related_mask(corpus, to_filter_values(Filters(kinds=("class",)))) is None
