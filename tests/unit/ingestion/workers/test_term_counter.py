from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import TextNode

from coderag.ingestion.workers.term_counter import TermCounter
from coderag.stores.field_counts import FIELDS
from coderag.text.tokenizer import tokenize_path, tokenize_text

WORDS = st.sampled_from(
    ["open", "openSession", "open_session", "HTTP2", "die", "größe", "解析", "1984", "123456", "_", "x", "\n", "# -"]
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=40)
PATHS = st.sampled_from(["a.py", "src/auth/session_store.py", "Makefile", "数据/解析.py", ".env"])


def chunk(path="a.py", text="", context="", name="", symbols=(), summary="", docstring=""):
    metadata = {
        "path": path, "context": context, "name": name, "symbols": [{"qualified_name": symbol} for symbol in symbols],
        "summary": summary, "docstring": docstring,
    }  # fmt: skip
    return TextNode(text=text, metadata=metadata)


CHUNKS = st.lists(
    st.builds(
        chunk, path=PATHS, text=TEXTS, context=TEXTS, name=TEXTS, symbols=st.lists(TEXTS, max_size=2), summary=TEXTS,
        docstring=TEXTS,
    ),
    max_size=5,
)  # fmt: skip


def recount(node):
    """Count a chunk's terms one after the other."""
    data = node.metadata
    names = [data["name"], *(symbol["qualified_name"] for symbol in data["symbols"])]
    return {
        "body": Counter(tokenize_text(f"{data['context']}\n{node.text}")),
        "names": Counter(term for name in names for term in tokenize_text(name)),
        "docs": Counter(tokenize_text(data["summary"]) + tokenize_text(data["docstring"])),
    }


def told(matrix, terms):
    """Return each row as a counter."""
    return [
        Counter({terms[column]: int(value) for column, value in zip(row.indices, row.data, strict=True)})
        for row in matrix
    ]


def counted(counter, nodes):
    counts = counter.count(nodes)
    terms = counter.terms
    fields = {field: told(getattr(counts, field), terms) for field in FIELDS}
    return [{field: rows[place] for field, rows in fields.items()} for place in range(len(nodes))]


@given(CHUNKS)
def test_batch_counts_equal_single_counts(nodes):
    assert counted(TermCounter(), nodes) == [recount(node) for node in nodes]


@given(CHUNKS, CHUNKS)
def test_extended_vocabulary_gives_the_counts_of_a_new_one(first, second):
    earlier = TermCounter()
    earlier.count(first)
    assert counted(TermCounter(earlier.terms), second) == counted(TermCounter(), second)
    assert counted(earlier, second) == counted(TermCounter(), second)


@given(CHUNKS, CHUNKS)
def test_vocabulary_only_grows_at_its_end(first, second):
    counter = TermCounter()
    counter.count(first)
    before = counter.terms
    counter.count(second)
    assert counter.terms[: len(before)] == before
    assert len(set(counter.terms)) == len(counter.terms)


@given(CHUNKS)
def test_every_term_of_a_path_is_in_the_vocabulary(nodes):
    counter = TermCounter()
    counter.count(nodes)
    assert {term for node in nodes for term in tokenize_path(node.metadata["path"])} <= set(counter.terms)


@given(CHUNKS)
def test_paths_are_counted_as_the_tokenizer_does(nodes):
    counter = TermCounter()
    counter.count(nodes)
    paths = sorted({node.metadata["path"] for node in nodes})
    assert told(counter.count_paths(paths), counter.terms) == [Counter(tokenize_path(path)) for path in paths]


def test_new_terms_join_the_vocabulary_in_the_order_of_the_chunks():
    """So that two processes, in which sets of strings have different orders, make the same index of the same files."""
    counter = TermCounter()
    counter.count([chunk(path=f"folder{number}/file.py") for number in range(50)])
    positions = [counter.terms.index(f"=folder{number}") for number in range(50)]
    assert positions == sorted(positions)


def test_no_chunks_have_no_counts():
    counts = TermCounter(["known"]).count([])
    assert (len(counts), counts.n_terms) == (0, 1)


def test_counts_are_small_integers_without_zeros():
    counts = TermCounter().count([chunk(text="open open close")])
    assert counts.body.dtype == np.float32
    assert sorted(counts.body.data) == [1, 2]
