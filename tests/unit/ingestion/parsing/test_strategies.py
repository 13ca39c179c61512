from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.schema import Document

from coderag.app import CodeRAG
from coderag.config.settings import Settings
from coderag.errors import ConfigurationError
from coderag.ingestion.parsing.chunking import parse_file
from coderag.ingestion.parsing.languages import LANGUAGES, detect_language
from coderag.ingestion.parsing.windows import split_windows
from coderag.integrations.llama_index.node_parser import CodeNodeParser
from coderag.schema.chunks import ChunkMetadata
from coderag.text.token_counts import count_tokens, sum_line_tokens
from tests.support.corpora import write_files

REPOSITORIES = Path(__file__).parents[3] / "fixtures" / "repos"
SOURCES = [
    (detect_language(path.name), path.read_text(encoding="utf-8"))
    for path in sorted(REPOSITORIES.rglob("*"))
    if path.is_file() and path.name != "expected.json"
]
ANY_TEXT = st.text() | st.text("ab(){}[];:#\"'/*\n\r\t =.<>@é字\x0c")
ANY_LANGUAGE = st.sampled_from([*LANGUAGES, "klingon"])
STRATEGIES = ["declaration", "cast", "window"]


def cast(text, language="python", **limits):
    return parse_file("pkg/file.py", text, language, "source", strategy="cast", **limits).chunks


def windows(text, language="text", tokens=50, overlap=10):
    return parse_file(
        "pkg/file", text, language, "source", strategy="window", window_tokens=tokens, window_overlap_tokens=overlap
    ).chunks


def list_lines(chunks):
    return [(chunk.metadata["start_line"], chunk.metadata["end_line"]) for chunk in chunks]


def list_names(chunks):
    return [chunk.metadata["qualified_name"] for chunk in chunks]


def check_places(chunks, text):
    """Chunks say truly where they lie, in order."""
    data = text.encode("utf-8", "surrogatepass")
    for chunk in chunks:
        metadata = chunk.metadata
        start, end = metadata["start_byte"], metadata["end_byte"]
        assert set(metadata) == set(ChunkMetadata.__annotations__)
        assert data[start:end].decode("utf-8", "surrogatepass") == chunk.text
        assert metadata["start_line"] == data.count(b"\n", 0, start) + 1
        assert metadata["end_line"] == data.count(b"\n", 0, max(start, end - 1)) + 1
        for symbol in metadata["symbols"]:
            assert metadata["start_line"] <= symbol["start_line"] <= metadata["end_line"]
    starts = [chunk.metadata["start_byte"] for chunk in chunks]
    assert starts == sorted(starts)


def check_cover(chunks, text):
    """Chunks hold every byte once."""
    check_places(chunks, text)
    assert "".join(chunk.text for chunk in chunks) == text


def check_windows(chunks, text):
    """Chunks hold every byte, and each holds one that none before it has."""
    check_places(chunks, text)
    reached = 0
    for number, chunk in enumerate(chunks):
        assert chunk.metadata["start_byte"] <= reached
        assert chunk.metadata["end_byte"] > reached or (number == 0 and not text)
        reached = chunk.metadata["end_byte"]
    assert reached == len(text.encode("utf-8", "surrogatepass"))


def list_symbols(chunks):
    return [
        (symbol["qualified_name"], symbol["start_line"]) for chunk in chunks for symbol in chunk.metadata["symbols"]
    ]


# --- cast: cover and sizes


@pytest.mark.parametrize(("language", "text"), SOURCES)
@pytest.mark.parametrize("limits", [{}, {"max_tokens": 40, "min_tokens": 0}, {"max_tokens": 60, "min_tokens": 60}])
def test_cast_covers_a_file_exactly_once(language, text, limits):
    check_cover(cast(text, language, **limits), text)


@given(ANY_TEXT, ANY_LANGUAGE, st.integers(16, 80), st.integers(0, 60))
@settings(max_examples=200)
def test_cast_covers_any_text(text, language, max_tokens, min_tokens):
    check_cover(cast(text, language, max_tokens=max_tokens, min_tokens=min_tokens), text)


@given(st.data())
@settings(max_examples=100)
def test_cast_covers_a_damaged_file(data):
    language, text = data.draw(st.sampled_from(SOURCES))
    start = data.draw(st.integers(0, len(text)))
    text = text[:start] + data.draw(st.sampled_from(["{", "}", '"', "/*", "class A:\n"])) + text[start:]
    check_cover(cast(text, language, max_tokens=data.draw(st.integers(16, 300)), min_tokens=20), text)


@pytest.mark.parametrize(("language", "text"), SOURCES)
def test_cast_chunks_respect_the_limit(language, text):
    assert max(count_tokens(chunk.text) for chunk in cast(text, language, max_tokens=60, min_tokens=30)) <= 60


# --- cast: where it cuts


def function(name, statements):
    return f"def {name}():\n" + "".join(f"    value_{number} = {number}\n" for number in range(statements)) + "\n"


def test_cast_merges_siblings_while_they_fit():
    text = function("a", 5) + function("b", 5) + function("c", 5) + function("d", 5)
    assert list_lines(cast(text, max_tokens=110, min_tokens=0)) == [(1, 14), (15, 28)]


def test_cast_does_not_split_a_node_that_fits():
    text = function("small", 1) + function("large", 12) + function("other", 1)
    chunks = cast(text, max_tokens=130, min_tokens=0)
    assert any("def large" in chunk.text and "value_11" in chunk.text for chunk in chunks)


def test_cast_splits_an_oversized_node_at_its_children():
    text = "class Shop:\n" + "".join(f"    {line}\n" for name in "abc" for line in function(name, 6).split("\n")[:-2])
    chunks = cast(text, max_tokens=75, min_tokens=30)
    assert [chunk.text.count("def ") for chunk in chunks] == [1, 1, 1]
    assert chunks[0].text.startswith("class Shop:\n    def a")


def test_cast_cuts_inside_a_long_function_between_statements():
    text = "def f():\n" + "".join(f"    g_{number}(\n        {number},\n    )\n" for number in range(20))
    chunks = cast(text, max_tokens=60, min_tokens=10)
    assert len(chunks) > 2
    assert all(chunk.text.endswith("    )\n") for chunk in chunks)


def test_cast_keeps_a_comment_with_the_node_below():
    text = function("a", 9) + "# About b.\n# More.\n" + function("b", 9)
    assert cast(text, max_tokens=80, min_tokens=0)[1].text.startswith("# About b.\n")


@pytest.mark.parametrize("language", ["kotlin", "lua", "json", "yaml"])
def test_cast_needs_a_grammar_only(language):
    texts = {
        "kotlin": "fun a() {\n    b()\n}\n\n" * 20, "lua": "function a()\n  b()\nend\n\n" * 20,
        "json": "[\n" + '  {\n    "a": 1\n  },\n' * 30 + "  {}\n]\n", "yaml": "a:\n  b: 1\n  c: 2\n" * 30,
    }  # fmt: skip
    chunks = cast(texts[language], language, max_tokens=60, min_tokens=10)
    check_cover(chunks, texts[language])
    assert len(chunks) > 3
    assert all(count_tokens(chunk.text) <= 60 for chunk in chunks)


def test_cast_without_grammar_equals_declaration():
    text = "one line\n\nanother\n" * 100
    assert list(cast(text, "text")) == list(parse_file("pkg/file.py", text, "text", "source").chunks)


def test_cast_splits_documents_at_headings():
    text = "# Guide\n\n" + "word " * 200 + "\n\n## Install\n\n" + "word " * 200 + "\n"
    assert list_names(cast(text, "markdown")) == ["Guide", "Guide > Install"]


# --- cast: what a chunk says of itself

METHOD = "    def {name}(self):\n        '''Do {name}.'''\n        if self.x:\n            help_{name}()\n\n"


def test_cast_chunk_has_the_name_of_its_largest_declaration():
    (chunk,) = cast("import os\n\nLIMIT = 1\n\n" + function("small", 1) + function("large", 6))
    assert (chunk.metadata["kind"], chunk.metadata["name"]) == ("function", "large")
    assert [symbol["name"] for symbol in chunk.metadata["symbols"]] == ["LIMIT", "small", "large"]
    assert chunk.metadata["imports"] == ["os"]


def test_code_without_declarations_is_a_module():
    (chunk,) = cast("import os\nimport sys\n\nLIMIT = 1\nprint(os, sys, LIMIT)\n")
    assert (chunk.metadata["kind"], chunk.metadata["qualified_name"]) == ("module", "pkg/file")


def test_method_chunk_has_its_class_as_parent():
    text = "class Shop(Base):\n" + "".join(METHOD.format(name=name) for name in ("buy", "sell", "open"))
    chunks = cast(text, max_tokens=50, min_tokens=10)
    first, last = chunks[0].metadata, chunks[-1].metadata
    assert (first["kind"], first["qualified_name"], first["bases"]) == ("class", "Shop", ["Base"])
    assert (last["qualified_name"], last["parent"], last["context"]) == ("Shop.open", "Shop", "class Shop(Base):")
    assert (last["signature"], last["docstring"], last["calls"]) == ("def open(self):", "Do open.", ["help_open"])
    assert last["complexity"] == 2


def test_the_rest_of_a_declaration_is_named_after_it_without_its_docstring():
    text = "def f(x):\n    '''Say it.'''\n" + "".join(f"    call_{number}(x)\n" for number in range(40))
    first, *rest = cast(text, max_tokens=80)
    assert first.metadata["docstring"] == "Say it."
    assert {(c.metadata["qualified_name"], c.metadata["docstring"], c.metadata["context"]) for c in rest} == {
        ("f", "", "def f(x):")
    }
    assert all(not chunk.metadata["symbols"] for chunk in rest)


# --- window


@given(ANY_TEXT, ANY_LANGUAGE, st.integers(16, 60), st.integers(0, 15))
@settings(max_examples=200)
def test_windows_cover_any_text_and_advance(text, language, tokens, overlap):
    check_windows(windows(text, language, tokens, overlap), text)


@pytest.mark.parametrize(("language", "text"), SOURCES)
def test_windows_cover_a_file(language, text):
    chunks = windows(text, language, 100, 30)
    check_windows(chunks, text)
    assert all(count_tokens(chunk.text) <= 100 for chunk in chunks)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=200), st.integers(30, 90), st.integers(0, 29))
def test_window_overlap_is_the_largest_fitting_number_of_lines(sizes, window, overlap):
    totals = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
    results = list(split_windows(totals, window, overlap))
    assert (results[0][0], results[-1][1], results[-1][2]) == (0, len(sizes), 0)
    for (first, last, repeated), (following, end, _) in pairwise(results):
        assert following == last - repeated > first
        assert end > last
        assert sum(sizes[following:last]) <= overlap
        assert last == first + 1 or sum(sizes[first:last]) <= window
        assert sum(sizes[first : last + 1]) > window
        one_more = sum(sizes[following - 1 : last])
        assert one_more > overlap or one_more + sizes[last] > window or following - 1 == first


def test_window_overlap_is_close_to_the_setting():
    text = "".join(f"line {number:04} has some words\n" for number in range(400))
    chunks = windows(text, tokens=200, overlap=50)
    shared = [
        previous.text[-(previous.metadata["end_byte"] - following.metadata["start_byte"]) :]
        for previous, following in pairwise(chunks)
    ]
    line = count_tokens("line 0000 has some words\n")
    assert len(chunks) > 10
    assert all(50 - line < count_tokens(text) <= 50 for text in shared)
    assert all(200 - line < count_tokens(chunk.text) <= 200 for chunk in chunks[:-1])


def test_windows_without_overlap_cover_the_text_once():
    text = "".join(f"line {number}\n" for number in range(300))
    check_cover(windows(text, overlap=0), text)


@pytest.mark.parametrize(("language", "text"), SOURCES)
def test_symbol_in_two_windows_belongs_to_one(language, text):
    results = list_symbols(windows(text, language, 100, 40))
    assert results == list(dict.fromkeys(results))
    if LANGUAGES[language].scripts or LANGUAGES[language].cells:
        return  # only `declaration` looks into what other languages stand in
    assert set(results) == set(list_symbols(parse_file("pkg/file", text, language, "source", min_tokens=0).chunks))


def test_call_in_two_windows_belongs_to_the_second():
    text = "".join(f"call_{number:02}(number)\n" for number in range(60))
    calls = [name for chunk in windows(text, "python") for name in chunk.metadata["calls"]]
    assert calls == [f"call_{number:02}" for number in range(60)]


def test_windows_of_a_document_are_named_after_their_first_heading():
    text = "".join(f"# Part {number}\n\n{'word ' * 20}\n\n" for number in range(8))
    chunks = windows(text, "markdown", 60, 10)
    assert len(chunks) > 3
    assert {chunk.metadata["kind"] for chunk in chunks} == {"section"}
    assert list_symbols(chunks) == [(f"Part {number}", 4 * number + 1) for number in range(8)]


def test_line_longer_than_a_window_is_split():
    text = "short\n" * 20 + "x = [" + "word, " * 6_000 + "]\n" + "short\n" * 20
    chunks = windows(text, "python", 1000, 200)
    check_windows(chunks, text)
    assert all(count_tokens(chunk.text) <= 1000 for chunk in chunks)


# --- Counting line by line


@given(ANY_TEXT)
def test_line_by_line_token_count_is_an_upper_bound(text):
    data = text.encode("utf-8", "replace")
    starts = [0]
    for line in data.splitlines(keepends=True) if b"\r" not in data and b"\x0c" not in data else [data]:
        starts.append(starts[-1] + len(line))
    assert sum_line_tokens(data, starts)[-1] >= count_tokens(data.decode())


# --- From the settings to the index


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_chunk_ids_differ_between_strategies(strategy):
    for language, text in SOURCES:
        document = Document(text=text, metadata={"path": "a", "language": language})
        ids = [node.node_id for node in CodeNodeParser(max_tokens=60, window_tokens=60, window_overlap_tokens=20,
                                                       strategy=strategy)([document])]  # fmt: skip
        assert len(set(ids)) == len(ids)


def test_overlap_of_window_size_is_rejected():
    with pytest.raises(ValueError, match="window_overlap_tokens 100 must be below window_tokens 100"):
        windows("text\n", tokens=100, overlap=100)


def test_node_parser_accepts_the_strategy():
    text = "".join(f"line {number}\n" for number in range(100))
    parser = CodeNodeParser(strategy="window", window_tokens=100, window_overlap_tokens=20)
    parsed = parser.parse_file("notes.txt", text, "text", "docs")
    assert list_lines(parsed.chunks) == list_lines(windows(text, tokens=100, overlap=20))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("strategy: windows", r"ingestion\.chunk\.strategy: .*'declaration', 'cast' or 'window'"),
        (
            "window_overlap_tokens: 1000",
            r"ingestion\.chunk: .*window_overlap_tokens must be smaller than window_tokens",
        ),
        ("window_tokens: 200", r"ingestion\.chunk: .*window_overlap_tokens must be smaller than window_tokens"),
        ("window_tokens: 20", r"ingestion\.chunk\.window_tokens: .*greater than or equal to 50"),
        ("window_overlap_tokens: -1", r"ingestion\.chunk\.window_overlap_tokens: .*greater than or equal to 0"),
    ],
)
def test_invalid_chunk_settings_are_rejected(tmp_path, text, message):
    (tmp_path / ".coderag.yaml").write_text(f"ingestion:\n  chunk:\n    {text}\n")
    with pytest.raises(ConfigurationError, match=message):
        Settings.load(tmp_path)


STEPS = [f"step_{number:02}" for number in range(80)]
SHOP = {
    "shop/cart.py": "from shop.help import *\n\n\nclass Cart:\n" + "".join(METHOD.format(name=name) for name in STEPS),
    "shop/help.py": "".join(f"def help_{name}():\n    pass\n\n\n" for name in STEPS),
    "shop/till.py": "from shop.cart import Cart\n\n\ndef pay(cart):\n    return cart.step_41()\n",
    "README.md": "# Shop\n\nIt sells things.\n",
}
SMALL = {"max_tokens": 200, "min_tokens": 0, "window_tokens": 150, "window_overlap_tokens": 60}


def open_shop(root, strategy):
    return CodeRAG(root, ingestion={"chunk": {"strategy": strategy, **SMALL}})


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    """The same repository, indexed by every strategy."""
    results = {}
    for strategy in STRATEGIES:
        rag = open_shop(write_files(tmp_path_factory.mktemp(strategy) / "shop", SHOP), strategy)
        results[strategy] = (rag, rag.index())
    return results


def test_the_strategy_of_the_settings_reaches_the_index(shops):
    expected = {
        strategy: sum(
            len(parse_file(path, text, detect_language(path), "source", strategy=strategy, **SMALL).chunks)
            for path, text in SHOP.items()
        )
        for strategy in STRATEGIES
    }
    assert {strategy: report.chunks for strategy, (_, report) in shops.items()} == expected
    assert len(set(expected.values())) == 3


def test_symbols_are_independent_of_the_strategy(shops):
    assert len({report.symbols for _, report in shops.values()}) == 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_declaration_is_found_by_name_with_every_strategy(shops, strategy):
    rag, _ = shops[strategy]
    (results,) = rag.definition("step_41")
    line = SHOP["shop/cart.py"].split("\n").index("    def step_41(self):") + 1
    assert (str(results.path), results.start_line) == ("shop/cart.py", line)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_call_is_found_once_with_every_strategy(shops, strategy):
    rag, _ = shops[strategy]
    assert [(caller.qualified_name, caller.line) for caller in rag.callers("step_41")] == [("pay", 5)]
    assert [callee.qualified_name for callee in rag.callees("pay")] == ["Cart.step_41"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_caller_is_the_enclosing_declaration_with_every_strategy(shops, strategy):
    rag, _ = shops[strategy]
    lines = SHOP["shop/cart.py"].split("\n")
    for name in STEPS:
        (caller,) = rag.callers(f"help_{name}")
        assert caller.qualified_name == f"Cart.{name}"
        assert lines[caller.line - 1] == f"            help_{name}()"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_citations_are_valid_with_every_strategy(shops, strategy):
    rag, _ = shops[strategy]
    for question in ("who calls step_41", "how does step 41 work", "where is Cart defined"):
        answer = rag.ask(question)
        assert answer.total > 0
        assert answer.verified == answer.total


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_hit_shows_its_lines_with_every_strategy(shops, strategy):
    rag, _ = shops[strategy]
    hits = rag.search("step 41 of the cart")
    assert hits
    for hit in hits:
        lines = SHOP[str(hit.path)].split("\n")[hit.start_line - 1 : hit.end_line]
        assert hit.text.rstrip("\n") == "\n".join(lines).rstrip("\n")


def test_changed_strategy_rebuilds_the_index(tmp_path):
    root = write_files(tmp_path / "shop", SHOP)
    first = open_shop(root, "declaration").index()
    second = open_shop(root, "cast").index()
    again = open_shop(root, "cast").index()
    assert (first.added, second.added, again.added) == (4, 4, 0)
    assert first.chunks != second.chunks == again.chunks
