import pytest

from coderag.retrieval.hits import build_hits
from coderag.retrieval.ranking.merging import join_parts, merge_results
from tests.support.candidates import candidate, names_of, paths_of
from tests.support.corpora import make_corpus

TWIN = "def area(width, height):\n    checked(width)\n    return width * height\n"
LONG = "def long(items):\n" + "".join(f"    items.append(compute_{number}(items, {number}))\n" for number in range(150))
FILES = {
    "src/area.py": TWIN,
    "src/long.py": LONG + "\n\ndef other():\n    return 1\n",
    "vendor/lib/area.py": TWIN.replace("    ", "\t"),
    "vendor/old/area.py": TWIN,
    "web/area.py": TWIN.replace("*", "+"),
}


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


def rows_in(corpus, path):
    return [row for row in range(corpus.n_chunks) if corpus.paths[corpus.chunk_files[row]] == path]


def one_each(corpus, *paths, **channels):
    return [candidate(corpus, rows_in(corpus, path)[0], **channels) for path in paths]


AREAS = ("vendor/lib/area.py", "web/area.py", "src/area.py", "vendor/old/area.py")


def test_copies_become_duplicates_of_the_best_result(corpus):
    results = merge_results(corpus, one_each(corpus, *AREAS), [], 10)
    assert paths_of(corpus, results) == ["vendor/lib/area.py", "web/area.py"]
    assert results[0]["duplicates"] == ["src/area.py:1-3", "vendor/old/area.py:1-3"]
    assert "duplicates" not in results[1]


def test_places_of_copies_are_refilled(corpus):
    candidates = one_each(corpus, "src/area.py", "vendor/old/area.py", "src/long.py")
    assert paths_of(corpus, merge_results(corpus, candidates, [], 2)) == ["src/area.py", "src/long.py"]


def test_lookup_results_are_never_merged(corpus):
    candidates = one_each(corpus, "src/area.py", "vendor/old/area.py", lookup=1.0)
    assert paths_of(corpus, merge_results(corpus, candidates, [], 10)) == ["src/area.py", "vendor/old/area.py"]


def test_merging_does_not_change_the_candidates(corpus):
    candidates = one_each(corpus, *AREAS)
    merge_results(corpus, candidates, [], 10)
    assert all("duplicates" not in each for each in candidates)


def test_adjacent_parts_of_a_declaration_are_joined(corpus):
    parts = [row for row in rows_in(corpus, "src/long.py") if corpus.get_value("qualified_name", row) == "long"]
    assert len(parts) >= 3, "the function is too short to be split"
    pool = [candidate(corpus, row) for row in (parts[1], parts[0])]
    (result,) = merge_results(corpus, pool[:1], pool, 10)
    assert result["parts"] == [corpus.get_value("id", row) for row in parts[:2]]
    assert (result["start_line"], result["end_line"]) == (1, int(corpus.end_lines[parts[1]]))
    assert names_of(corpus, [result]) == ["long"]


def test_non_adjacent_parts_and_other_declarations_are_not_joined(corpus):
    *parts, other = rows_in(corpus, "src/long.py")
    pool = [candidate(corpus, row) for row in (parts[0], parts[2], other)]
    first, *_ = merge_results(corpus, pool[:1], pool, 10)
    assert "parts" not in first
    assert "parts" not in merge_results(corpus, pool[2:], pool, 10)[0]


def test_overloads_are_not_joined():
    overloads = "class A {\n" + "".join(
        f"  int run({kind} value) {{\n    return {number};\n  }}\n"
        for number, kind in enumerate(("int", "long", "char"))
    )
    corpus = make_corpus({"A.java": overloads + "}\n"})
    rows = [row for row in range(corpus.n_chunks) if corpus.get_value("qualified_name", row).endswith("run")]
    pool = [candidate(corpus, row) for row in rows]
    assert all("parts" not in result for result in merge_results(corpus, pool, pool, 10))


def test_any_part_of_a_long_declaration_is_joined_with_all_others(corpus):
    rows = [row for row in rows_in(corpus, "src/long.py") if corpus.get_value("qualified_name", row) == "long"]
    assert len(rows) > 1
    for row in rows:
        joined = join_parts(corpus, [candidate(corpus, row)])
        (hit,) = build_hits(corpus, joined)
        assert (hit.start_line, hit.end_line) == (1, 151)
        assert hit.text.split("\n")[-1] == LONG.splitlines()[-1]
        assert len(joined[0]["parts"]) == len(rows)


def test_joining_parts_leaves_a_declaration_of_one_chunk_as_it_is(corpus):
    results = one_each(corpus, "src/area.py")
    assert join_parts(corpus, results) == results
