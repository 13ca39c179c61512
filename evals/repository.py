"""The repository that is asked: its index, and what the answers of a golden set mean in it."""

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
    """A repository with an up-to-date index.

    Attributes:
        snapshot: The generation of the index that everything is measured on.
        embedding: The model of its vectors.
        index_seconds: That bringing the index up to date took.
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
        """Return the repository in a folder, indexed.

        Args:
            root: The folder.
            progress: Told how the indexing goes on.
            arguments: Settings that win over the repository's, as of `CodeRAG`.

        Raises:
            CodeRAGError: It cannot be indexed.
        """
        rag = CodeRAG(root, **arguments)
        start = time.perf_counter()
        rag.index(progress=progress)
        seconds = time.perf_counter() - start
        status = rag.status()
        return cls(rag, IndexStore(Path(status.directory)).open(), status.embedding, seconds)

    @property
    def root(self) -> Path:
        """The folder."""
        return self.rag.root

    @property
    def name(self) -> str:
        """Name of the project, or of the folder."""
        return self.rag.settings.project or self.root.name

    @cached_property
    def revision(self) -> str:
        """The commit that is checked out; empty outside of git."""
        told = run_git(self.root, "rev-parse", "--verify", "--quiet", "HEAD") if find_repository(self.root) else None
        return (told or b"").decode().strip()

    @cached_property
    def languages(self) -> Mapping[str, str]:
        """The language of each indexed file."""
        return {record.path: record.language for record in self.snapshot.read_files() if record.outcome == "indexed"}

    @cached_property
    def declarations(self) -> Mapping[str, Sequence[SymbolRecord]]:
        """What each indexed file declares."""
        table = self.snapshot.read_chunks(["path", "symbols"])
        declared: dict[str, list[SymbolRecord]] = defaultdict(list)
        for path, symbols in zip(table["path"].to_pylist(), table["symbols"].to_pylist(), strict=True):
            declared[path].extend(symbols)
        return declared

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file as they are indexed; none of one that cannot be read."""
        if path not in self._lines:
            self._lines[path] = self._text(path).split("\n")
        return self._lines[path]

    def _text(self, path: str) -> str:
        record = self._records.get(path)
        try:
            return decode_indexed_text(record, (self.root / path).read_bytes()) if record else ""
        except OSError:
            return ""

    @cached_property
    def _records(self) -> Mapping[str, FileRecord]:
        return {record.path: record for record in self.snapshot.read_files()}

    def shown_lines(self, path: str, start_line: int, text: str, end_line: int) -> frozenset[int]:
        """Return which lines of a piece of a file a text shows, where the text may leave some out."""
        numbers = range(start_line, end_line + 1)
        written = [line.strip() for line in text.rstrip("\n").split("\n")]
        whole = [line.strip() for line in self.lines(path)[start_line - 1 : end_line]]
        while whole and not whole[-1]:
            whole.pop()
        if written == whole:
            return frozenset(numbers)
        blocks = difflib.SequenceMatcher(None, whole, written, autojunk=False).get_matching_blocks()
        return frozenset(numbers[block.a + step] for block in blocks for step in range(block.size))


@dataclass(frozen=True, slots=True)
class Anchored:
    """A golden set with the lines as they are in a repository.

    Attributes:
        questions: Those that can be measured.
        stale: Answers that the repository does not have.
        skipped: Ids of questions without any answer left.
    """

    questions: Sequence[Question]
    stale: Sequence[StaleAnswer]
    skipped: Sequence[str]


def anchor(golden: GoldenSet, repository: Repository) -> Anchored:
    """Return the questions with all targets looked up in the repository.

    A target with a symbol gets the lines of that declaration where it has none, or where its own are not in it any more,
    because the code above was edited.
    """
    questions: list[Question] = []
    stale: list[StaleAnswer] = []
    skipped: list[str] = []
    for question in golden.questions:
        kept: dict[str, tuple[Target, ...]] = {}
        for key, targets in (("answers", question.answers), ("also", question.also)):
            looked_up = [(target, _look_up(target, repository)) for target in targets]
            kept[key] = tuple(found for _, found in looked_up if isinstance(found, Target))
            stale += [
                StaleAnswer(question=question.id, target=target, reason=found)
                for target, found in looked_up
                if isinstance(found, str)
            ]
        if kept["answers"] or question.unanswerable:
            questions.append(question.model_copy(update=kept))
        else:
            skipped.append(question.id)
    return Anchored(questions, stale, skipped)


def _look_up(target: Target, repository: Repository) -> Target | str:
    """Return the target with its present lines, or why there is none."""
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
        if declared and not (lines and any(_is_around(symbol, lines) for symbol in declared)):
            place = lines.start if lines else 0
            nearest = min(declared, key=lambda symbol: abs(symbol["start_line"] - place))
            return target.model_copy(update={"start_line": nearest["start_line"], "end_line": nearest["end_line"]})
        if not declared and lines is None:
            return f"no declaration of {target.symbol} in it"
    if lines and lines.stop - 1 > len(repository.lines(target.path)):
        return f"it has {len(repository.lines(target.path))} lines"
    return target


def _is_around(symbol: SymbolRecord, lines: range) -> bool:
    """Whether lines are in a declaration, or it is in them, as where they begin with its decorators."""
    first, last = symbol["start_line"], symbol["end_line"]
    return (first <= lines.start and lines.stop - 1 <= last) or (lines.start <= first and last < lines.stop)
