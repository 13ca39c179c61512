"""Snippets of a context: whole declarations of the candidates, related code, and the values that the first ones use."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from coderag.schema.query import QueryState
from coderag.stores.corpus import Corpus
from coderag.stores.snippets import Snippet, build_related_snippets, build_result_snippets, trim_blank_end
from coderag.stores.used_values import find_used_values

_TYPE_KINDS: Final = frozenset({"class", "interface", "struct", "trait", "enum", "impl"})
_MAX_PARTS_PER_SIDE = 4  # parts of a declaration before and after the matched one


class ContextSnippets(NamedTuple):
    """Snippets of a context, each group best first.

    Attributes:
        results: The results.
        reserve: Further candidates.
        related: Values that the first results use, then related code.
    """

    results: Sequence[Snippet]
    reserve: Sequence[Snippet]
    related: Sequence[Snippet]


def gather_snippets(corpus: Corpus, state: QueryState) -> ContextSnippets:
    """Gather the snippets of a context, with all parts of split declarations and the members of types."""
    candidates = [
        _complete_declaration(corpus, _complete_type(corpus, snippet))
        for snippet in build_result_snippets(corpus, state.get("to_read") or state["results"])
    ]
    results, reserve = candidates[: len(state["results"])], candidates[len(state["results"]) :]
    values = find_used_values(corpus, results)
    return ContextSnippets(results, reserve, [*values, *build_related_snippets(corpus, state["related"])])


def _complete_type(corpus: Corpus, snippet: Snippet) -> Snippet:
    """Extend the snippet of a type's first lines to the whole type, if its members are chunks of their own."""
    row = corpus.rows_by_id[snippet.chunk_id]
    if snippet.kind not in _TYPE_KINDS or snippet.end_line > int(corpus.end_lines[row]):
        return snippet
    declaration = next(
        (
            symbol
            for symbol in corpus.chunk_symbols[row]
            if symbol["qualified_name"] == snippet.name and symbol["kind"] == snippet.kind
        ),
        None,
    )
    if declaration is None or declaration["end_line"] <= int(corpus.end_lines[row]):
        return snippet
    file_rows = corpus.get_chunk_rows(int(corpus.chunk_files[row]))
    rows = [part for part in range(row, file_rows.stop) if corpus.start_lines[part] <= declaration["end_line"]]
    lines = [line for text in corpus.read_texts(rows) for line in text.removesuffix("\n").split("\n")]
    first = int(corpus.start_lines[row])
    members = (
        symbol["start_line"]
        for part in rows[1:]
        for symbol in corpus.chunk_symbols[part]
        if symbol["qualified_name"].rpartition(".")[0] == snippet.name
    )
    return replace(
        snippet,
        end_line=declaration["end_line"],
        text="\n".join(lines[snippet.start_line - first : declaration["end_line"] - first + 1]),
        matched_lines=(snippet.start_line, snippet.end_line),
        member_lines=sorted({line for line in members if snippet.end_line < line <= declaration["end_line"]}),
    )


def _complete_declaration(corpus: Corpus, snippet: Snippet) -> Snippet:
    """Extend the snippet of some parts of a declaration to all of them."""
    row = corpus.rows_by_id[snippet.chunk_id]
    rows = _find_declaration_rows(corpus, row)
    if len(rows) == 1:
        return snippet
    texts = [text.removesuffix("\n").split("\n") for text in corpus.read_texts(rows)]
    own_end_line = int(corpus.start_lines[row]) + len(trim_blank_end(texts[row - rows.start])) - 1
    lines = trim_blank_end([line for text in texts for line in text])
    first = int(corpus.start_lines[rows[0]])
    last = first + len(lines) - 1
    is_chunk = snippet.start_line <= corpus.start_lines[row] and own_end_line <= snippet.end_line
    if not is_chunk or (first >= snippet.start_line and last <= snippet.end_line):
        return snippet
    return replace(
        snippet,
        start_line=first,
        end_line=last,
        text="\n".join(lines),
        signature=corpus.get_value("signature", rows[0]),
        matched_lines=(int(corpus.start_lines[row]), own_end_line),
    )


def _find_declaration_rows(corpus: Corpus, row: int) -> range:
    """Find the chunks of one declaration: adjacent chunks of one name with consecutive lines."""
    file_rows = corpus.get_chunk_rows(int(corpus.chunk_files[row]))
    name, first, last = corpus.get_value("qualified_name", row), row, row

    def is_continued(previous: int, following_row: int) -> bool:
        is_same_name = (
            corpus.get_value("qualified_name", previous) == corpus.get_value("qualified_name", following_row) == name
        )
        return is_same_name and corpus.start_lines[following_row] == corpus.end_lines[previous] + 1

    while name and first > max(file_rows.start, row - _MAX_PARTS_PER_SIDE) and is_continued(first - 1, first):
        first -= 1
    while name and last + 1 < min(file_rows.stop, row + _MAX_PARTS_PER_SIDE) and is_continued(last, last + 1):
        last += 1
    return range(first, last + 1)
