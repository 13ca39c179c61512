"""Reader of the lines, chunks and files of the index."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import Declared
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.corpus import Corpus

MAX_LINE_CHARS: Final = 1_000
"""Maximum characters of a line that patterns search; a longer line is data."""


class LineReader:
    """Reader of indexed lines; each chunk is read once.

    Args:
        corpus: Corpus of the query.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._texts: dict[int, list[str]] = {}

    def read_lines(self, path: str, start: int, end: int) -> CitedLines | None:
        """Read lines of a file; None if the index lacks the first or the last."""
        if path not in self._files or end < start:
            return None
        texts: dict[int, str] = {}
        for row in self.corpus.get_chunk_rows(self._files[path]):
            first, last = int(self.corpus.start_lines[row]), int(self.corpus.end_lines[row])
            if first <= end and start <= last:
                texts.update(enumerate(self._read_chunk_lines(row), first))
        if start not in texts or end not in texts:
            return None
        return CitedLines(path, start, end, "\n".join(texts.get(number, "") for number in range(start, end + 1)))

    def read_line(self, path: str, number: int) -> CitedLines | None:
        """Read one line of a file; None if the index lacks it."""
        return self.read_lines(path, number, number)

    def read_file_lines(self, path: str) -> list[str]:
        """Read the lines of a file; those in no chunk are empty."""
        rows = self.corpus.get_chunk_rows(self._files[path])
        last = max((int(self.corpus.end_lines[row]) for row in rows), default=0)
        texts = {
            number: line
            for row in rows
            for number, line in enumerate(self._read_chunk_lines(row), int(self.corpus.start_lines[row]))
        }
        return [texts.get(number, "") for number in range(1, last + 1)]

    def read_declaration(self, declared: Declared) -> CitedLines | None:
        """Read the lines of a declaration."""
        return self.read_lines(declared.path, declared.start_line, declared.end_line)

    def read_head(self, declared: Declared) -> CitedLines | None:
        """Read the line that names a declaration, among its first; its first line if none does."""
        last = declared.name.rpartition(".")[2]
        lines = [self.read_line(declared.path, declared.start_line + more) for more in range(min(declared.length, 12))]
        known = [line for line in lines if line is not None]
        return next((line for line in known if last in line.text), known[0] if known else None)

    def _read_chunk_lines(self, row: int) -> list[str]:
        if row not in self._texts:
            self._texts[row] = self.corpus.read_texts([row])[0].removesuffix("\n").split("\n")
        return self._texts[row]

    def rank_chunks(self, weights: Mapping[str, float], limit: int, result_rows: Sequence[int] = ()) -> list[int]:
        """Rank the rows of the chunks that have any of some terms by the weights of those, best first.

        Args:
            weights: Weights of the terms.
            limit: Maximum number of chunks.
            result_rows: Rows of the results; each gets the largest weight once more.
        """
        scores = np.zeros(self.corpus.n_chunks, np.float32)
        for term, weight in weights.items():
            scores[self.corpus.find_chunks_with_term(term)] += weight
        scores[list(result_rows)] += max(weights.values(), default=0.0)
        return [int(row) for row in np.argsort(-scores, kind="stable")[:limit] if scores[row] > 0]

    def find_first_row(self, declared: Declared) -> int | None:
        """Find the chunk in which a declaration begins."""
        if declared.path not in self._files:
            return None
        rows = self.corpus.get_chunk_rows(self._files[declared.path])
        return next((row for row in rows if self.corpus.end_lines[row] >= declared.start_line), None)

    def _find_own_row(self, declared: Declared) -> int | None:
        row = self.find_first_row(declared)
        return row if row is not None and self.corpus.get_value("qualified_name", row) == declared.name else None

    def get_role(self, path: str) -> str:
        """Return the role of an indexed file."""
        return self.corpus.file_roles[self._files[path]]

    def get_language(self, path: str) -> str:
        """Return the language of a file."""
        return self.corpus.get_value("language", int(self.corpus.file_starts[self._files[path]]))

    def get_signature(self, declared: Declared) -> str:
        """Return the first line of a declaration's signature; empty if no chunk is this declaration."""
        row = self._find_own_row(declared)
        return "" if row is None else self.corpus.get_value("signature", row).split("\n")[0]

    def get_summary(self, declared: Declared) -> str:
        """Return the summary of a declaration by its docstring or a language model; empty if it has neither."""
        row = self._find_own_row(declared)
        return "" if row is None else self.get_chunk_summary(row)

    def get_chunk_summary(self, row: int) -> str:
        """Return the summary of a chunk by its docstring or a language model; empty if it has neither."""
        derived = self.corpus.summary_sources[row] == "derived"
        return self.corpus.get_value("docstring", row) if derived else self.corpus.get_value("summary", row)

    def get_file_summary(self, path: str) -> str:
        """Return the summary of a file by its first comment or a language model; empty if it has neither."""
        row = int(self.corpus.file_starts[self._files[path]])
        if self.corpus.get_value("kind", row) not in FILE_NAMED_KINDS:
            return ""
        return self.corpus.get_value("docstring", row) or self.get_chunk_summary(row)

    @cached_property
    def _files(self) -> dict[str, int]:
        return {path: file for file, path in enumerate(self.corpus.paths)}
