"""Merging of duplicate results and of adjacent parts of one declaration."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final

from coderag.schema.query import Candidate
from coderag.stores.corpus import Corpus
from coderag.stores.snippets import trim_blank_end

POOL_FACTOR: Final = 3
"""Results are chosen from so many times more candidates, so that merged ones free their places."""


def merge_results(
    corpus: Corpus, results: Sequence[Candidate], pool: Sequence[Candidate], top_k: int
) -> list[Candidate]:
    """Merge results and return the best.

    A result whose text equals that of a better one, apart from white space, becomes one of its ``duplicates``;
    results of the look-up always stay. A part of a declaration that spans several chunks is joined with adjacent
    parts in the pool: ``parts`` are their chunks, and the lines are those of all.

    Args:
        corpus: The open index.
        results: Best first, at most one per declaration; `POOL_FACTOR` times the wanted number is enough.
        pool: Best ranked candidates, including all parts of declarations.
        top_k: Maximum number of results.
    """
    pool_ids = {candidate["chunk_id"] for candidate in pool}
    return [_join_neighbours(corpus, result, pool_ids) for result in _remove_copies(corpus, results)[:top_k]]


def join_parts(corpus: Corpus, results: Sequence[Candidate]) -> list[Candidate]:
    """Join each result that is a part of a declaration with all other parts of it."""
    return [_join_neighbours(corpus, result, None) for result in results]


def _join_neighbours(corpus: Corpus, result: Candidate, pool_ids: Collection[str] | None) -> Candidate:
    """Join a part of a declaration with adjacent parts in the pool, or with all; other results are unchanged."""
    row = corpus.rows_by_id[result["chunk_id"]]
    if (result["start_line"], result["end_line"]) != (corpus.start_lines[row], corpus.end_lines[row]):
        return result  # lines of a member
    first = last = row
    while _is_continuation(corpus, first) and (pool_ids is None or corpus.get_value("id", first - 1) in pool_ids):
        first -= 1
    while _is_continuation(corpus, last + 1) and (pool_ids is None or corpus.get_value("id", last + 1) in pool_ids):
        last += 1
    if first == last:
        return result
    return {
        **result,
        "start_line": int(corpus.start_lines[first]),
        "end_line": int(corpus.end_lines[last]),
        "parts": [corpus.get_value("id", part) for part in range(first, last + 1)],
    }


def _is_continuation(corpus: Corpus, row: int) -> bool:
    """Return whether a chunk continues the declaration of the previous chunk.

    It has the name of the declaration and follows directly, but does not declare it; an overload does.
    """
    if not 0 < row < corpus.n_chunks or corpus.chunk_files[row] != corpus.chunk_files[row - 1]:
        return False
    name = corpus.get_value("qualified_name", row)
    has_same_name = name and all(
        corpus.get_value(column, row) == corpus.get_value(column, row - 1) for column in ("qualified_name", "kind")
    )
    is_adjacent = corpus.start_lines[row] <= corpus.end_lines[row - 1] + 1
    return bool(has_same_name and is_adjacent) and all(
        member["qualified_name"] != name for member in corpus.chunk_symbols[row]
    )


def _remove_copies(corpus: Corpus, results: Sequence[Candidate]) -> list[Candidate]:
    """Remove copies of better results, and record their locations."""
    lines_by_result = _read_namesake_lines(corpus, results)
    results_by_text: dict[str, Candidate] = {}
    unique: list[Candidate] = []
    for result in results:
        lines = lines_by_result.get((result["chunk_id"], result["start_line"]), ())
        text = "".join("".join(lines).split())
        if text and text in results_by_text and "lookup" not in result["channels"]:
            results_by_text[text].setdefault("duplicates", []).append(_format_location(corpus, result, len(lines)))
            continue
        copy: Candidate = {**result}
        unique.append(copy)
        if text:
            results_by_text.setdefault(text, copy)
    return unique


def _read_namesake_lines(corpus: Corpus, results: Sequence[Candidate]) -> dict[tuple[str, int], Sequence[str]]:
    """Read the lines of results that share name and kind with another; of several parts, those of the matched one."""
    namesakes: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for result in results:
        row = corpus.rows_by_id[result["chunk_id"]]
        namesakes[corpus.get_value("name", row), corpus.get_value("kind", row)].append(result)
    duplicated_names = [result for group in namesakes.values() if len(group) > 1 for result in group]
    texts = (
        corpus.read_texts([corpus.rows_by_id[result["chunk_id"]] for result in duplicated_names])
        if duplicated_names
        else []
    )
    return {
        (result["chunk_id"], result["start_line"]): _select_lines(corpus, result, text)
        for result, text in zip(duplicated_names, texts, strict=True)
    }


def _select_lines(corpus: Corpus, result: Candidate, text: str) -> Sequence[str]:
    """Return the lines of a result in the text of its chunk, without blank ones at the end."""
    first = int(corpus.start_lines[corpus.rows_by_id[result["chunk_id"]]])
    lines = text.removesuffix("\n").split("\n")
    return trim_blank_end(lines[max(result["start_line"] - first, 0) : result["end_line"] - first + 1])


def _format_location(corpus: Corpus, result: Candidate, n_lines: int) -> str:
    path = corpus.get_value("path", corpus.rows_by_id[result["chunk_id"]])
    return f"{path}:{result['start_line']}-{result['start_line'] + n_lines - 1}"
