"""Lines about a setting beside its default: those of code that read it, and those of documents about it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import CALLABLE
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.evidence.setting_names import compute_word_share, is_passed_on
from coderag.answering.evidence.value_lines import MAX_LINE_CHARS
from coderag.retrieval.literal_text import find_respelt
from coderag.stores.snippets import Snippet
from coderag.stores.symbol_table import fold_name

_MAX_READERS, _MAX_DOCUMENTED = 3, 2
_PASSING: Final = re.compile(r"^\s*(?:import|from|use|using|require|package)\b|^\s*(?://|#(?!\[)|/?\*|--|;)")
_CHANGE_LOG: Final = re.compile(
    r"(?:^|/)(?:change(?:s|log)|history|news|release[-_]?notes|migrat)[^/]*$", re.IGNORECASE
)


class SettingLines:
    """Search for the lines about a setting.

    Args:
        reader: The open index.
        results: The results, best first.
        term_idf: IDF of the question's terms.
    """

    def __init__(self, reader: IndexReader, results: Sequence[Snippet], term_idf: Mapping[str, float]) -> None:
        self._reader = reader
        self._corpus = reader.corpus
        self._results = results
        self._term_idf = term_idf

    def iter_mentions(self, rows: Sequence[int], spellings: Sequence[Sequence[str]]) -> Iterator[CitedLines]:
        """Yield the lines of chunks that have a name in any of its spellings."""
        corpus = self._corpus
        for row, text in zip(rows, corpus.read_texts(rows), strict=True):
            path, first = corpus.paths[corpus.chunk_files[row]], int(corpus.start_lines[row])
            texts = text.split("\n")
            numbers = {occurrence.line for words in spellings for occurrence in find_respelt(text, words)}
            for number in sorted(numbers):
                if len(texts[number]) <= MAX_LINE_CHARS:
                    yield CitedLines(path, first + number, first + number, texts[number])

    def choose_readers(self, lines: Sequence[CitedLines], spellings: Sequence[Sequence[str]]) -> list[CitedLines]:
        """Choose the lines that use the value: in the best results first, one of each declaration."""
        wanted = [fold_name("".join(words)) for words in spellings]
        order = {(snippet.path, snippet.name): rank for rank, snippet in reversed([*enumerate(self._results)])}
        ranked: list[tuple[tuple[bool, int, float, int], tuple[str, str], CitedLines]] = []
        for number, line in enumerate(lines):
            if self._reader.get_role(line.path) not in ("source", "generated") or _PASSING.match(line.text):
                continue
            around = self._reader.find_innermost(line.path, line.start_line)
            if around is None or around.kind not in CALLABLE or line.start_line == around.start_line:
                continue
            rank = order.get((line.path, around.name), len(order))
            rated = (is_passed_on(line.text, wanted), rank, -compute_word_share(around.name, self._term_idf), number)
            ranked.append((rated, (line.path, around.name), line))
        best: dict[tuple[str, str], CitedLines] = {}
        for _, place, line in sorted(ranked, key=lambda item: item[0]):
            best.setdefault(place, line)
        return list(best.values())[:_MAX_READERS]

    def choose_documented(self, lines: Sequence[CitedLines], words: Sequence[str]) -> list[CitedLines]:
        """Choose the lines of documents that begin with the name, or say most beside it."""
        translated = {self._corpus.paths[file] for file in self._corpus.translated_files.tolist()}
        begins = re.compile(rf"\W*{'[-_.]?'.join(map(re.escape, words))}\W+\w", re.IGNORECASE)
        docs = [line for line in lines if self._reader.get_role(line.path) == "docs" and line.path not in translated]
        docs = [line for line in docs if not _CHANGE_LOG.search(line.path)]
        docs.sort(
            key=lambda line: (
                not begins.match(line.text),
                -compute_word_share(line.text, self._term_idf),
                -len(line.text),
            )
        )
        return docs[:_MAX_DOCUMENTED]
