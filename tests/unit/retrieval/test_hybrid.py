import pytest

from coderag.config.sections import SearchSettings
from coderag.question.analysis import analyze
from coderag.retrieval.filters import NO_FILTERS
from coderag.retrieval.hybrid import merge_candidates, retrieve_candidates
from tests.support.candidates import candidate, names_of, paths_of
from tests.support.corpora import make_context, make_corpus, row_named

FILES = {
    "docs/passwords.md": "# Passwords\n\nA password is hashed with salt before it is stored.\n",
    "src/auth.py": (
        'def hash_password(text):\n    """Hash a password with salt."""\n    return digest(text + "salt")\n\n\n'
        "class PasswordPolicy:\n    shortest = 8\n"
    ),
    "src/paint.py": "def paint(canvas):\n    canvas.fill('red')\n",
    "tests/test_auth.py": "def test_hash_password():\n    assert hash_password('x')\n",
    "web/auth.ts": "export function hashPassword(text: string) {\n  return digest(text);\n}\n",
}


@pytest.fixture(scope="module")
def context():
    return make_context(FILES)


def retrieve(context, query, filters=NO_FILTERS, **settings):
    analysis = analyze(query)
    vector = context.embedder.embed_query(query, analysis["terms"])
    return retrieve_candidates(
        context.corpus, query, analysis, vector, {**NO_FILTERS, **filters}, SearchSettings(**settings)
    )


def test_best_chunk_for_a_behaviour_comes_first(context):
    results = retrieve(context, "how is a password hashed with salt", {"languages": ["python"]})
    assert names_of(context.corpus, results)[0] == "hash_password"


@pytest.mark.parametrize(
    ("filters", "paths"),
    [
        ({"languages": ["typescript"]}, {"web/auth.ts"}),
        ({"kinds": ["class"]}, {"src/auth.py"}),
        ({"roles": ["test"]}, {"tests/test_auth.py"}),
        ({"paths": ["src/**"]}, {"src/auth.py"}),
        ({"paths": ["*.md"], "roles": ["docs"]}, {"docs/passwords.md"}),
    ],
)
def test_filters_apply(context, filters, paths):
    results = retrieve(context, "password `hash_password`", filters)
    assert set(paths_of(context.corpus, results)) - {"src/paint.py"} == paths
    if "src/**" not in filters.get("paths", ()):
        assert "src/paint.py" not in paths_of(context.corpus, results)


def test_channel_maximum_ignores_filtered_chunks(context):
    results = retrieve(context, "password", {"languages": ["typescript"]})
    assert results[0]["channels"]["lexical"] == pytest.approx(1)


def test_named_declaration_is_always_a_candidate(context):
    everything = ["lexical", "dense", "names", "docs"]
    results = retrieve(context, "hash_password", disabled_signals=everything)
    assert row_named(context.corpus, "hash_password") in {
        context.corpus.rows_by_id[entry["chunk_id"]] for entry in results
    }


def test_candidate_lists_only_channels_that_found_it(context):
    by_name = dict(zip(names_of(context.corpus, retrieve(context, "canvas")), retrieve(context, "canvas"), strict=True))
    assert by_name["paint"]["channels"]["lexical"] == 1
    assert all(0 < score <= 1 + 1e-6 for entry in by_name.values() for score in entry["channels"].values())


def test_empty_index_has_no_candidates():
    context = make_context({})
    assert context.corpus.n_chunks == context.corpus.n_files == 0
    assert retrieve(context, "anything", {"languages": ["python"]}) == []


def test_unknown_word_matches_nothing_lexically(context):
    results = retrieve(context, "zxqvw", disabled_signals=["dense"])
    assert results == []


def test_lookup_candidate_keeps_lines_and_takes_over_scores(context):
    row = row_named(context.corpus, "hash_password")
    looked_up = {**candidate(context.corpus, row, 0.0, symbol="hash_password", lookup=0.9), "end_line": 2}
    retrieved = {**candidate(context.corpus, row, 0.7, lexical=0.6), "signals": {"lexical": 2.0}}
    channels = {"lexical": 0.6, "lookup": 0.9}
    assert merge_candidates([looked_up], [retrieved]) == [
        {**looked_up, "score": 0.7, "signals": {"lexical": 2.0}, "channels": channels}
    ]


def test_retrieved_candidates_follow_lookup_candidates(context):
    first, second = candidate(context.corpus, 0, lookup=0.9), candidate(context.corpus, 1)
    assert merge_candidates([first], [second]) == [first, second]


def test_members_of_one_chunk_stay_separate_candidates():
    corpus = make_corpus({"a.py": "class A:\n    def one(self):\n        pass\n\n    def two(self):\n        pass\n"})
    members = [candidate(corpus, 0, symbol=name, lookup=0.9) for name in ("A.one", "A.two")]
    assert [entry["symbol"] for entry in merge_candidates(members, [candidate(corpus, 0)])] == ["A.one", "A.two"]
