"""A question about items: read with the words of the mirror, ranked and judged, with the best section of each item."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from coderag.engine.items.item_records import ItemPlaces, ItemRecords
from coderag.nodes.analyze import read_question
from coderag.question.analysis import meant_terms
from coderag.retrieval.context.elision import weigh_lines
from coderag.retrieval.items.item_ranker import ItemRanker, RankedItem, find_snippet
from coderag.retrieval.query_context import QueryContext
from coderag.retrieval.verdict.judgement import judge
from coderag.schema.item_search import ItemHit, ItemResults
from coderag.schema.mirrored_items import MirroredItem
from coderag.schema.query import Analysis, Candidate
from coderag.stores.corpus import Corpus

_MAX_SNIPPET_LINES: Final = 8
_MAX_SNIPPET_CHARS: Final = 1_000
_HEADING_SEPARATOR: Final = " > "
_WORD: Final = re.compile(r"[\w#][\w./#-]*")
_NAMED_SCORE: Final = 1.0


class ItemQueryRunner:
    """Runner of questions about items; the ranker of the last generation is kept.

    Args:
        places: Places of mirrored files.
    """

    def __init__(self, places: ItemPlaces) -> None:
        self._places = places
        self._ranker: ItemRanker | None = None

    def run(
        self, context: QueryContext, query: str, records: ItemRecords, selected: Sequence[MirroredItem], limit: int
    ) -> ItemResults:
        """Run a question.

        Args:
            context: Query context of the index of the items.
            query: The question.
            records: Records of all items.
            selected: Items that may be results.
            limit: Maximum number of results.
        """
        corpus = context.corpus
        analysis = read_question(query, context)
        vector = context.embedder.embed_query(analysis["text"], meant_terms(analysis))
        by_path = {item.path: item for item in selected}
        allowed = np.fromiter((path in by_path for path in corpus.paths), bool, corpus.n_files)
        ranked = self._get_ranker(corpus).rank(analysis, vector, allowed, limit)
        named = [item for item in find_named_items(query, records) if item.path in by_path]
        ranked = _lead_with(ranked, named, corpus)[:limit]
        judgement = judge(
            Path(context.root), corpus, analysis, [_to_candidate(corpus, entry) for entry in ranked], vector
        )
        hits = self._build_hits(corpus, analysis, ranked, by_path)
        is_named = bool(named) and bool(hits)
        return ItemResults(
            query,
            hits,
            "found" if is_named else judgement["verdict"] if hits else "not_found",
            1.0 if is_named else judgement["confidence"] if hits else 0.0,
        )

    def _get_ranker(self, corpus: Corpus) -> ItemRanker:
        ranker = self._ranker
        if ranker is None or ranker.corpus is not corpus:
            ranker = self._ranker = ItemRanker(corpus)
        return ranker

    def _build_hits(
        self,
        corpus: Corpus,
        analysis: Analysis,
        ranked: Sequence[RankedItem],
        by_path: Mapping[str, MirroredItem],
    ) -> list[ItemHit]:
        term_idf = {term: corpus.idf(term) for term in analysis["terms"] if term in corpus.term_ids}
        texts = corpus.read_texts([entry.row for entry in ranked])
        hits = []
        for entry, text in zip(ranked, texts, strict=True):
            start, end = int(corpus.start_lines[entry.row]), int(corpus.end_lines[entry.row])
            lines = text.removesuffix("\n").split("\n")
            line_range = _choose_snippet(lines, term_idf, is_beginning=start == 1)
            item = by_path[corpus.paths[entry.file]]
            headings = corpus.get_value("qualified_name", entry.row).split(_HEADING_SEPARATOR)[1:]
            if headings[:1] == [item.title]:  # the text begins with its title once more
                headings = headings[1:]
            hits.append(
                ItemHit(
                    item=self._places.summarize(item),
                    heading=_HEADING_SEPARATOR.join(headings),
                    start_line=start,
                    end_line=end,
                    text="\n".join(lines),
                    snippet=_cut("\n".join(lines[line_range.start : line_range.stop])),
                    snippet_line=start + line_range.start,
                    score=round(entry.score, 4),
                )
            )
        return hits


def _choose_snippet(lines: Sequence[str], term_idf: Mapping[str, float], *, is_beginning: bool) -> range:
    """Choose the lines nearest to the question; of a beginning, those below title and fields, which a result names."""
    first = _count_header_lines(lines) if is_beginning else 0
    body = lines[first:]
    line_range = find_snippet(body, weigh_lines("\n".join(body), term_idf), _MAX_SNIPPET_LINES)
    if not line_range:
        return find_snippet(lines, weigh_lines("\n".join(lines), term_idf), _MAX_SNIPPET_LINES)
    return range(line_range.start + first, line_range.stop + first)


def _count_header_lines(lines: Sequence[str]) -> int:
    """Count the lines of title and fields, as `coderag.sources.rendering` writes them: a block each."""
    blank = [number for number, line in enumerate(lines) if not line.strip()]
    return blank[1] + 1 if len(blank) > 1 and lines[blank[0] + 1].startswith("- ") else 0


def find_named_items(query: str, records: ItemRecords) -> list[MirroredItem]:
    """Find the items whose id is a word of a question; a bare number needs a ``#``, as numbers are of anything."""
    named: dict[str, MirroredItem] = {}
    for match in _WORD.finditer(query):
        word = match[0].rstrip("./-#")
        number = word.removeprefix("#")
        if number.isdecimal() and number == word:
            continue
        for item in records.find(number if number.isdecimal() else word):
            named.setdefault(item.path, item)
    return list(named.values())


def _lead_with(ranked: Sequence[RankedItem], named: Sequence[MirroredItem], corpus: Corpus) -> list[RankedItem]:
    """Put the named items first, with the section that ranks best, or their beginning."""
    if not named:
        return list(ranked)
    files = {path: number for number, path in enumerate(corpus.paths)}
    by_file = {entry.file: entry for entry in ranked}
    leading = [
        RankedItem(file, by_file[file].row if file in by_file else int(corpus.file_starts[file]), _NAMED_SCORE)
        for file in (files[item.path] for item in named if item.path in files)
    ]
    leading_files = {entry.file for entry in leading}
    return [*leading, *(entry for entry in ranked if entry.file not in leading_files)]


def _to_candidate(corpus: Corpus, entry: RankedItem) -> Candidate:
    return Candidate(
        chunk_id=corpus.get_value("id", entry.row),
        score=entry.score,
        channels={},
        signals={},
        start_line=int(corpus.start_lines[entry.row]),
        end_line=int(corpus.end_lines[entry.row]),
        symbol="",
    )


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SNIPPET_CHARS else f"{text[: _MAX_SNIPPET_CHARS - 1]}…"
