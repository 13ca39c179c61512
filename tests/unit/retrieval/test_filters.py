import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.errors import InvalidQueryError
from coderag.retrieval.filters import (
    NO_FILTERS,
    build_chunk_mask,
    build_related_mask,
    to_filter_values,
)
from coderag.retrieval.path_filter import build_path_matcher
from coderag.schema.search import Filters
from coderag.text.readable_text import to_readable_text
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


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("shp", "shop"),
        ("shop/wbe", "shop/web"),
        ("sho/web", "shop/web"),
        ("web2/cart.py", "shop/cart.py"),
        ("nowhere", "README.md, shop, tests"),
        ("*.rs", "README.md, shop, tests"),
    ],
)
def test_a_path_that_matches_nothing_is_rejected_with_the_nearest(corpus, pattern, hint):
    with pytest.raises(InvalidQueryError, match=re.escape(f"matches the path {pattern!r}")) as refused:
        allowed(corpus, paths=["shop", pattern])
    assert hint in refused.value.hint


def test_an_exclusion_may_match_nothing(corpus):
    assert len(allowed(corpus, paths=["!nowhere"])) == len(allowed(corpus, paths=["."]))


def test_filters_that_no_file_passes_together_are_rejected_with_their_counts(corpus):
    with pytest.raises(InvalidQueryError, match="no indexed file passes all filters") as refused:
        allowed(corpus, languages=["python"], paths=["shop/web"])
    assert refused.value.hint == "Files that match each filter: language python: 2; path shop/web: 1."


NOTEBOOK = (
    '{"cells": [{"cell_type": "code", "source": ["def weigh(sack):\\n", "    return sack"], "metadata": {}}],\n'
    '"metadata": {"language_info": {"name": "LANGUAGE"}}, "nbformat": 4, "nbformat_minor": 5}\n'
)
FAMILIES = {
    "a.ts": "export const a = 1;\n",
    "b.tsx": "export const B = () => <p>b</p>;\n",
    "c.jsx": "export const C = () => <p>c</p>;\n",
    "d.vue": '<template><p>d</p></template>\n<script setup lang="ts">\nconst d = 1;\n</script>\n',
    "e.svelte": "<script>\n  let e = 1;\n</script>\n<p>{e}</p>\n",
    "f.py": "f = 1\n",
    "g.ipynb": to_readable_text("g.ipynb", NOTEBOOK.replace("LANGUAGE", "python")),
    "h.ipynb": to_readable_text("h.ipynb", NOTEBOOK.replace("LANGUAGE", "R")),
    "i.c": "int i(void) { return 1; }\n",
    "j.h": "int j(void);\n",
    "k.cpp": "int k() { return 1; }\n",
    "l.cs": "class L { }\n",
    "m.sh": "m() { :; }\n",
    "n.m": "@interface N\n@end\n",
}


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("typescript", "a.ts b.tsx d.vue"),
        ("ts", "a.ts b.tsx d.vue"),
        ("TypeScript", "a.ts b.tsx d.vue"),
        ("tsx", "b.tsx"),
        ("javascript", "c.jsx e.svelte"),
        ("js", "c.jsx e.svelte"),
        ("vue", "d.vue"),
        ("svelte", "e.svelte"),
        ("python", "f.py g.ipynb"),
        ("py", "f.py g.ipynb"),
        ("jupyter", "g.ipynb h.ipynb"),
        ("r", "h.ipynb"),
        ("c", "i.c j.h"),
        ("c++", "j.h k.cpp"),
        ("cpp", "j.h k.cpp"),
        ("c#", "l.cs"),
        ("csharp", "l.cs"),
        ("cs", "l.cs"),
        ("sh", "m.sh"),
        ("bash", "m.sh"),
        ("objc", "j.h n.m"),
        ("Objective-C", "j.h n.m"),
    ],
)
def test_a_language_has_its_usual_names_and_its_family(name, paths):
    chosen = allowed(make_corpus(FAMILIES), languages=[name])
    assert {path for path, _ in chosen} == set(paths.split())


@pytest.mark.parametrize(("name", "hint"), [("typscript", "Did you mean typescript?"), ("golang", "Available: c,")])
def test_an_absent_language_is_told_with_the_nearest(name, hint):
    with pytest.raises(InvalidQueryError, match=name) as refused:
        allowed(make_corpus(FAMILIES), languages=[name])
    assert refused.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("typed", "pattern"),
    [
        ("shop\\web", "shop/web"),
        ("!shop\\web", "!shop/web"),
        ("{root}/shop/web", "shop/web"),
        ("{root}", "."),
        ("!{root}/shop", "!shop"),
        ("./shop/", "shop"),
        ("shop/../tests", "tests"),
        ("/shop", "/shop"),
        ("**/*.py", "**/*.py"),
        ("\\!odd.py", "\\!odd.py"),
        ("./!odd.py", "./!odd.py"),
    ],
)
def test_typed_paths_become_patterns_of_the_index(tmp_path, typed, pattern):
    values = to_filter_values(Filters(paths=(typed.format(root=tmp_path),)), root=tmp_path)
    assert values["paths"] == [pattern]


def test_a_path_out_of_the_repository_is_rejected(tmp_path):
    with pytest.raises(InvalidQueryError, match="outside the repository"):
        to_filter_values(Filters(paths=("../elsewhere",)), root=tmp_path)


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
