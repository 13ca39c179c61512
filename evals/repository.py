"""Evaluated repository: its index, and the resolution of golden targets in it."""

import difflib
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from coderag.app import CodeRAG
from coderag.ingestion.files.git_repository import find_repository, run_git
from coderag.schema.chunks import FileRecord, SymbolRecord
from coderag.schema.indexing import IndexProgress
from coderag.stores.index_store import IndexStore, Snapshot
from coderag.stores.symbol_table import split_qualified
from coderag.text.indexed_text import decode_indexed_text

from .golden import GoldenSet, Question, Target
from .runs import StaleAnswer


@dataclass
class Repository:
    """Repository with an up-to-date index.

    Attributes:
        snapshot: Generation of the index that all measurements use.
        embedding: Embedding model of the index.
        index_seconds: Time of the index update.
    """

    rag: CodeRAG
    snapshot: Snapshot
    embedding: str
    index_seconds: float
    _lines: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        root: Path,
        *,
        progress: Callable[[IndexProgress], None] | None = None,
        **arguments: Any,  # noqa: ANN401  # checked by the settings
    ) -> "Repository":
        """Open and index a repository.

        Args:
            root: Folder of the repository.
            progress: Called with the progress of indexing.
            arguments: Settings that override the repository's, as for `CodeRAG`.

        Raises:
            CodeRAGError: The repository cannot be indexed.
        """
        rag = CodeRAG(root, **arguments)
        start = time.perf_counter()
        rag.index(progress=progress)
        seconds = time.perf_counter() - start
        status = rag.status()
        return cls(rag, IndexStore(Path(status.directory)).open(), status.embedding, seconds)

    @property
    def root(self) -> Path:
        """Root folder."""
        return self.rag.root

    @property
    def name(self) -> str:
        """Name of the project, else of the folder."""
        return self.rag.settings.project or self.root.name

    @cached_property
    def revision(self) -> str:
        """Commit that is checked out; empty outside git."""
        output = run_git(self.root, "rev-parse", "--verify", "--quiet", "HEAD") if find_repository(self.root) else None
        return (output or b"").decode().strip()

    @cached_property
    def languages(self) -> Mapping[str, str]:
        """Language of each indexed file."""
        return {record.path: record.language for record in self.snapshot.read_files() if record.outcome == "indexed"}

    @cached_property
    def declarations(self) -> Mapping[str, Sequence[SymbolRecord]]:
        """Declarations of each indexed file."""
        table = self.snapshot.read_chunks(["path", "symbols"])
        declared: dict[str, list[SymbolRecord]] = defaultdict(list)
        for path, symbols in zip(table["path"].to_pylist(), table["symbols"].to_pylist(), strict=True):
            declared[path].extend(symbols)
        return declared

    def read_lines(self, path: str) -> list[str]:
        """Return the lines of a file as indexed; empty if it cannot be read."""
        if path not in self._lines:
            self._lines[path] = self._read_text(path).split("\n")
        return self._lines[path]

    def _read_text(self, path: str) -> str:
        record = self._records.get(path)
        try:
            return decode_indexed_text(record, (self.root / path).read_bytes()) if record else ""
        except OSError:
            return ""

    @cached_property
    def _records(self) -> Mapping[str, FileRecord]:
        return {record.path: record for record in self.snapshot.read_files()}

    def find_shown_lines(self, path: str, start_line: int, text: str, end_line: int) -> frozenset[int]:
        """Return the lines of a snippet that a text shows; the text may leave some out."""
        numbers = range(start_line, end_line + 1)
        displayed = [line.strip() for line in text.rstrip("\n").split("\n")]
        expected = [line.strip() for line in self.read_lines(path)[start_line - 1 : end_line]]
        while expected and not expected[-1]:
            expected.pop()
        if displayed == expected:
            return frozenset(numbers)
        blocks = difflib.SequenceMatcher(None, expected, displayed, autojunk=False).get_matching_blocks()
        return frozenset(numbers[block.a + step] for block in blocks for step in range(block.size))


@dataclass(frozen=True, slots=True)
class ResolvedGolden:
    """Golden set with targets resolved to the current lines of a repository.

    Attributes:
        questions: Questions that can be measured.
        stale: Answers that the repository does not have.
        skipped: Ids of questions without any answer left.
    """

    questions: Sequence[Question]
    stale: Sequence[StaleAnswer]
    skipped: Sequence[str]


def resolve_targets(golden: GoldenSet, repository: Repository) -> ResolvedGolden:
    """Resolve all targets of a golden set in a repository.

    A target with a symbol gets the lines of that declaration, unless its own lines still overlap it. Edits above a
    declaration move it, so recorded lines go stale.
    """
    questions: list[Question] = []
    stale: list[StaleAnswer] = []
    skipped: list[str] = []
    for question in golden.questions:
        resolved: dict[str, tuple[Target, ...]] = {}
        for key, targets in (("answers", question.answers), ("also", question.also)):
            looked_up = [(target, _resolve_target(target, repository)) for target in targets]
            resolved[key] = tuple(outcome for _, outcome in looked_up if isinstance(outcome, Target))
            stale += [
                StaleAnswer(question=question.id, target=target, reason=outcome)
                for target, outcome in looked_up
                if isinstance(outcome, str)
            ]
        if resolved["answers"] or question.unanswerable:
            questions.append(question.model_copy(update=resolved))
        else:
            skipped.append(question.id)
    return ResolvedGolden(questions, stale, skipped)


def _resolve_target(target: Target, repository: Repository) -> Target | str:
    """Return the target with its current lines, or the reason why it is stale."""
    if not (repository.root / target.path).is_file():
        return "there is no such file"
    lines = target.lines
    if target.symbol:
        wanted = split_qualified(target.symbol)
        declared = [
            symbol
            for symbol in repository.declarations.get(target.path, ())
            if split_qualified(symbol["qualified_name"])[-len(wanted) :] == wanted
        ]
        if declared and not (lines and any(_is_nested(symbol, lines) for symbol in declared)):
            place = lines.start if lines else 0
            nearest = min(declared, key=lambda symbol: abs(symbol["start_line"] - place))
            return target.model_copy(update={"start_line": nearest["start_line"], "end_line": nearest["end_line"]})
        if not declared and lines is None:
            return f"no declaration of {target.symbol} in it"
    if lines and lines.stop - 1 > len(repository.read_lines(target.path)):
        return f"it has {len(repository.read_lines(target.path))} lines"
    return target


def _is_nested(symbol: SymbolRecord, lines: range) -> bool:
    """Return whether lines are inside a declaration, or contain it, for example with its decorators."""
    first, last = symbol["start_line"], symbol["end_line"]
    return (first <= lines.start and lines.stop - 1 <= last) or (lines.start <= first and last < lines.stop)
