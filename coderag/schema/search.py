"""Filters and results of a search."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from coderag.schema.vocabulary import Evidence


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of chunks. Empty means any; several values of one filter are alternatives.

    Attributes:
        kinds: Kinds of the chunk, or of a declaration in it.
        paths: Globs over the whole path (``*`` within a folder, ``**`` across), or folder prefixes; a leading ``!``
            excludes.
        complexity: Cyclomatic complexity of the chunk: a minimum, or an inclusive range ``(min, max)``.
        changed_since: A git revision: only files that differ from it on disk, including untracked ones.
    """

    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    complexity: int | tuple[int, int] = 0
    changed_since: str = ""

    def __bool__(self) -> bool:
        chosen = self.languages or self.kinds or self.paths or self.roles
        return bool(chosen or self.complexity or self.changed_since)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A search result: a declaration or a part of a file.

    Attributes:
        summary: First sentence of the docstring, or a language model's; empty if there is neither.
        score: Higher is better; comparable only within one query.
        text: Lines ``start_line`` to ``end_line`` as indexed.
        signals: Contribution of each signal to the score.
        channels: Score in each channel, relative to the channel's best.
        duplicates: Other locations with the same text apart from white space, as ``path:start-end``.
    """

    chunk_id: str
    path: PurePosixPath
    start_line: int
    end_line: int
    kind: str
    name: str
    qualified_name: str
    signature: str
    summary: str
    language: str
    role: str
    score: float
    text: str
    signals: Mapping[str, float] = field(default_factory=dict)
    channels: Mapping[str, float] = field(default_factory=dict)
    duplicates: Sequence[str] = ()

    @property
    def location(self) -> str:
        """Location as ``path:start-end``."""
        return f"{self.path}:{self.start_line}-{self.end_line}"


class SearchHits(list[SearchHit]):
    """Results, best first, with the verdict.

    Attributes:
        evidence: The verdict.
        confidence: Probability that the repository answers the question, for a prior of one half.
        not_indexed: Possibly relevant files that are not in the index, as ``path: reason``.
        notes: What a question in another language was read as, what the filters match, which files have more results.
    """

    def __init__(
        self,
        hits: Iterable[SearchHit] = (),
        *,
        evidence: Evidence = "found",
        confidence: float = 1.0,
        not_indexed: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> None:
        super().__init__(hits)
        self.evidence = evidence
        self.confidence = confidence
        self.not_indexed = not_indexed
        self.notes = notes
