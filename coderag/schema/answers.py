"""Answers with their citations and checked claims."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from coderag.schema.chunks import format_location
from coderag.schema.search import SearchHit
from coderag.schema.vocabulary import AnswerShape, ClaimStatus, Evidence, Intent


@dataclass(frozen=True, slots=True)
class Citation:
    """A place that an answer relies on, checked against the bytes on disk.

    Attributes:
        hash: SHA-256 of the cited lines as indexed.
        verified: Whether the lines on disk still are those.
        reason: Why it is not verified; empty if it is.
        moved_from: The start line in the index, where the lines were found elsewhere in the file.
    """

    path: str
    start_line: int
    end_line: int
    hash: str
    verified: bool
    reason: str = ""
    moved_from: int | None = None

    @property
    def location(self) -> str:
        """The place as ``path:10-42``, of one line as ``path:10``."""
        return format_location(self.path, self.start_line, self.end_line)


@dataclass(frozen=True, slots=True)
class AnswerClaim:
    """A statement of an answer.

    Attributes:
        text: As the writer put it.
        citations: Positions in the answer's ``citations``, from 0.
        reason: Why it is not verified; empty if it is.
        shown: Whether it stands in the answer's text; what was not verified is left out, or marked.
    """

    text: str
    citations: Sequence[int]
    status: ClaimStatus
    reason: str = ""
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer in Markdown, its claims and their citations.

    Attributes:
        verified: Number of claims that hold; ``total`` is the number of all that were made.
        generator: ``extractive``, or the provider and model of the LLM.
        confidence, not_indexed: As of `SearchHits`.
        missing: What was asked for and not found, a sentence each.
        flagged: Places of evidence whose text addresses a language model, as ``path:start-end: what it does``.
        redacted: Number of secrets that the language model was not shown.
    """

    query: str
    intent: Intent
    text: str
    citations: Sequence[Citation]
    verified: int
    total: int
    evidence: Evidence
    hits: Sequence[SearchHit]
    generator: str = "extractive"
    confidence: float = 1.0
    not_indexed: Sequence[str] = field(default_factory=list)
    shape: AnswerShape = "explanation"
    claims: Sequence[AnswerClaim] = ()
    missing: Sequence[str] = ()
    flagged: Sequence[str] = ()
    redacted: int = 0


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """A step of an answer that is being written.

    Attributes:
        kind: ``stage``: a node of the query graph has ended, ``text`` is its name. ``draft``: the language model's words as
            they come, not checked yet. ``text``: the next part of the checked answer, which replaces the drafts since the
            last one; all of them joined are the answer's text. ``answer``: the whole answer, which comes last.
    """

    kind: Literal["stage", "draft", "text", "answer"]
    text: str = ""
    answer: Answer | None = None
