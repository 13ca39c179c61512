import numpy as np
import pytest

from coderag.config.sections import SearchSettings
from coderag.question.analysis import analyze
from coderag.retrieval.filters import NO_FILTERS
from coderag.retrieval.hybrid import retrieve_candidates
from coderag.retrieval.report_places import Places
from coderag.text.tokenizer import tokenize_query
from tests.support.corpora import make_context

FILES = {
    "src/shop/cart.py": (
        "from shop.money import round_up\n\n\n"
        "class Cart:\n    def total(self):\n        return round_up(sum(self.prices))\n\n\n"
        "def pay(cart, card):\n    if card is None:\n        raise ValueError('no card was given')\n    return cart.total()\n"
    ),
    "src/shop/money.py": "def round_up(amount):\n    return -(-amount // 1)\n",
    "src/shop/defer.py": "def run_callbacks(result):\n    return result\n",
    "web/cart.js": "export function total(cart) {\n  return cart.prices.reduce(add);\n}\n",
    "tests/test_cart.py": "def test_total_of_a_cart_is_rounded():\n    assert Cart([0.5]).total() == 1\n",
    "docs/cart.md": "# Cart\n\nThe total of a cart is rounded up to a full cent.\n",
}

PROBLEM = """The total of a cart is wrong

When I put two things into a cart the total that the shop shows is not rounded up at all.
"""


def trace(*calls):
    formatted = "".join(f'  File "{path}", line {line}, in {name}\n    x\n' for path, line, name in calls)
    return f"Shop stops\n\nIt stopped in the night.\n\nTraceback (most recent call last):\n{formatted}KeyError: 3\n"


@pytest.fixture(scope="module")
def context():
    return make_context(FILES)


@pytest.fixture
def ranked(context):
    """Gives the names of what is found for a report, best first."""

    def find(text, filters=NO_FILTERS, **settings):
        analysis, corpus = analyze(text), context.corpus
        assert analysis["report"] is not None
        vector = context.embedder.embed_query(analysis["text"], tokenize_query(analysis["text"]))
        chosen = SearchSettings(**settings)
        results = retrieve_candidates(corpus, analysis["question"], analysis, vector, {**NO_FILTERS, **filters}, chosen)
        rows = [corpus.rows_by_id[result["chunk_id"]] for result in results]
        return [f"{corpus.paths[corpus.chunk_files[row]]}:{corpus.get_value('qualified_name', row)}" for row in rows]

    return find


def test_failing_frame_is_found_despite_a_foreign_path(ranked):
    text = trace(("C:\\app\\shop\\cart.py", 9, "pay"), ("/usr/lib/site-packages/shop/money.py", 88, "round_up"))
    assert set(ranked(text)[:2]) == {"src/shop/money.py:round_up", "src/shop/cart.py:pay"}


def test_innermost_frame_counts_most(context):
    analysis = analyze(trace(("shop/cart.py", 9, "pay"), ("shop/money.py", 88, "round_up")))
    results = retrieve_candidates(context.corpus, "", analysis, np.zeros(256, np.float32), NO_FILTERS, SearchSettings())
    frames = {
        context.corpus.paths[context.corpus.chunk_files[context.corpus.rows_by_id[result["chunk_id"]]]]: result[
            "channels"
        ]
        for result in results
    }
    assert frames["src/shop/money.py"]["frames"] == 1.0
    assert (
        0
        < max(result["channels"].get("frames", 0) for result in results if result["channels"].get("frames", 0) < 1)
        < 1
    )


def test_file_of_another_package_is_ignored(context, ranked):
    assert Places(context.corpus).file_of("/usr/lib/site-packages/twisted/defer.py") is None
    text = trace(("/usr/lib/site-packages/shop/cart.py", 9, "pay"), ("/usr/lib/twisted/defer.py", 1, "run_callbacks"))
    assert ranked(text)[0] == "src/shop/cart.py:pay"


def test_frame_name_outweighs_its_line(context):
    corpus = context.corpus
    (called,) = Places(corpus).called([{"path": "shop/cart.py", "line": 1, "name": "Cart.total"}])
    assert any(member["name"] == "total" for member in corpus.chunk_symbols[called.row])


def test_source_precedes_tests_and_documents(ranked):
    assert ranked(PROBLEM)[0].startswith("src/shop/cart.py")


def test_python_trace_prefers_python(ranked):
    results = ranked(PROBLEM + trace(("/usr/lib/shop/money.py", 1, "round_up")))
    assert results.index("src/shop/money.py:round_up") < results.index("web/cart.js:total")


def test_named_file_is_preferred(ranked):
    report = PROBLEM + "I looked into `web/cart.js` already, which adds the prices up without any rounding."
    assert ranked(report).index("web/cart.js:total") < ranked(PROBLEM).index("web/cart.js:total")


def test_filters_apply(ranked):
    assert {name.split(":")[0] for name in ranked(PROBLEM, {"languages": ["javascript"]})} == {"web/cart.js"}


@pytest.mark.parametrize("name", ["frames", "frame_files", "mentioned_path", "names", "definition"])
def test_evidence_of_a_report_is_named_and_can_be_switched_off(context, name):
    text = trace(("/usr/lib/shop/money.py", 88, "round_up")) + "\nSee `src/shop/money.py`."
    analysis = analyze(text.replace("Shop stops", "Shop stops in `round_up`"))
    vector = np.zeros(256, np.float32)
    evidence = []
    for disabled in ((), (name,)):
        settings = SearchSettings(disabled_signals=disabled)
        results = retrieve_candidates(context.corpus, "", analysis, vector, NO_FILTERS, settings)
        evidence.append({key for result in results for key in (*result["channels"], *result["signals"])})
    assert evidence[0] - evidence[1] == {name}
