import pytest

from coderag.config.sections import ChunkSettings, IngestionSettings
from coderag.models.embedded_dense import EmbeddedDense
from coderag.retrieval.context.context_snippets import gather_snippets
from coderag.stores.corpus import Corpus
from tests.support.candidates import candidate
from tests.support.corpora import MemorySnapshot, row_named, word_vectors

BODY = "\n".join(f"        value_{number} = transform({number}, mode='strict')" for number in range(40))
STORE = f'''MAX_ITEMS = 30


class Store:
    """Holds items."""

    def load(self):
{BODY}
        return MAX_ITEMS

    def save(self):
        return value_0
'''


def gathered(corpus, *names, n_results=1):
    candidates = [candidate(corpus, row_named(corpus, name), 0.5) for name in names]
    return gather_snippets(corpus, {"results": candidates[:n_results], "to_read": candidates, "related": []})


@pytest.fixture(scope="module")
def corpus():
    settings = IngestionSettings(chunk=ChunkSettings(min_tokens=0, max_tokens=900))
    return Corpus(MemorySnapshot({"store.py": STORE}, settings, EmbeddedDense(word_vectors())))


def test_type_has_all_its_lines_and_those_of_its_members(corpus):
    (snippet,) = gathered(corpus, "Store").results
    lines = STORE.rstrip("\n").split("\n")
    assert (snippet.start_line, snippet.end_line) == (4, len(lines))
    assert snippet.text == "\n".join(lines[3:])
    assert [lines[number - 1].strip() for number in snippet.member_lines] == ["def load(self):", "def save(self):"]


def test_results_and_further_candidates_are_kept_apart(corpus):
    snippets = gathered(corpus, "Store.save", "Store")
    assert [snippet.name for snippet in snippets.results] == ["Store.save"]
    assert [snippet.name for snippet in snippets.reserve] == ["Store"]


def test_value_that_a_result_uses_is_related(corpus):
    (value,) = gathered(corpus, "Store.load").related
    assert (value.name, value.signature, value.relation, value.related_to) == (
        "MAX_ITEMS",
        "MAX_ITEMS = 30",
        "value",
        "Store.load",
    )


def test_split_function_is_completed():
    body = "\n".join(f"    value_{number} = transform({number}, mode='strict', fallback=None)" for number in range(300))
    text = f"def load():\n{body}\n    return value_0\n"
    settings = IngestionSettings(chunk=ChunkSettings(min_tokens=0, max_tokens=1_000))
    corpus = Corpus(MemorySnapshot({"load.py": text}, settings, EmbeddedDense(word_vectors())))
    assert corpus.n_chunks > 2
    middle = candidate(corpus, 1, 0.5)
    (snippet,) = gather_snippets(corpus, {"results": [middle], "to_read": [middle], "related": []}).results
    assert snippet.start_line == 1
    assert snippet.text.startswith("def load():\n")
    assert snippet.matched_lines == (middle["start_line"], middle["end_line"])
