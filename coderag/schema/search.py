"""Filters and results of a search."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from coderag.schema.vocabulary import Evidence


@dataclass(frozen=True, slots=True)
class Filters:
    """Which chunks may be results. Empty means any; several values of one kind are alternatives.

    Attributes:
        kinds: Of the chunk, or of a declaration in it.
        paths: Glob patterns over the whole path (``*`` within a folder, ``**`` across), or folder prefixes; what matches a
            pattern that begins with ``!`` is left out.
        complexity: Cyclomatic complexity of the chunk: at least so much, or ``(least, most)``, both included.
        changed_since: A revision of git: only files that differ from it on disk, untracked ones included.
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
    """One result: a declaration or a part of a file.

    Attributes:
        score: Higher is better; comparable within one query only.
        text: The lines ``start_line`` to ``end_line`` as indexed.
        signals: What each named signal added to the score.
        channels: Score in each channel that found it, 0 to 1 of that channel's best.
        duplicates: Other places that have the same text but for white space, as ``path:start-end``.
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
        """The place as ``path:start-end``."""
        return f"{self.path}:{self.start_line}-{self.end_line}"


class SearchHits(list[SearchHit]):
    """Results, best first, and how well they answer the question.

    Attributes:
        evidence: The verdict.
        confidence: Probability that the repository answers the question, were half of all questions answerable.
        not_indexed: Files that the question may be about and that are not in the index, as ``path: reason``.
    """

    def __init__(
        self,
        hits: Iterable[SearchHit] = (),
        *,
        evidence: Evidence = "found",
        confidence: float = 1.0,
        not_indexed: Sequence[str] = (),
    ) -> None:
        super().__init__(hits)
        self.evidence = evidence
        self.confidence = confidence
        self.not_indexed = not_indexed
