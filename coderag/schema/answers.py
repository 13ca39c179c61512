"""Answers with their citations and checked claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from coderag.schema.chunks import format_location
from coderag.schema.search import SearchHit
from coderag.schema.vocabulary import (
    AnswerSectionKind,
    AnswerSectionStyle,
    AnswerShape,
    ClaimStatus,
    Evidence,
    Intent,
    ProofRelation,
)

EXTRACTIVE: Final = "extractive"
"""Generator of answers without a language model."""


CitationKind = Literal["file", "commit", "item"]

_SHORT_ID_DIGITS: Final = 12


def format_cited_location(path: str, start_line: int, end_line: int, kind: CitationKind, revision: str) -> str:
    """Format cited lines as ``path:10-42``, those of a commit with its abbreviated id."""
    location = format_location(path, start_line, end_line)
    return f"{location}@{revision[:_SHORT_ID_DIGITS]}" if kind == "commit" else location


@dataclass(frozen=True, slots=True)
class Citation:
    """A location that an answer relies on, checked against the bytes on disk, the commit or the mirror.

    Attributes:
        kind: ``file``: lines of the files on disk, ``commit``: lines of a file in a commit, ``item``: lines of a mirrored
            page or ticket.
        revision: Id of the commit, or the item's version as its source counts it; empty for a file.
        url: Address of an item's original, for people.
        hash: SHA-256 of the cited lines as indexed.
        verified: Whether the lines on disk are unchanged.
        reason: Reason for a failed check; empty if verified.
        moved_from: Indexed start line, if the lines have moved within the file.
        item: Id of the mirrored page or ticket that the file is of; empty for files of the repository.
    """

    path: str
    start_line: int
    end_line: int
    hash: str
    verified: bool
    reason: str = ""
    moved_from: int | None = None
    kind: CitationKind = "file"
    item: str = ""
    revision: str = ""
    url: str = ""

    @property
    def location(self) -> str:
        """Location as ``path:10-42``, of one line as ``path:10``; of a commit as ``path:10@0123456789ab``."""
        return format_cited_location(self.path, self.start_line, self.end_line, self.kind, self.revision)


@dataclass(frozen=True, slots=True)
class AnswerClaim:
    """A statement of an answer.

    Attributes:
        text: Text of the claim.
        citations: Positions in the answer's ``citations``, from 0.
        reason: Reason for a failed check; empty if verified.
        shown: Whether it is in the answer's text; unverified claims are omitted or marked.
    """

    text: str
    citations: Sequence[int]
    status: ClaimStatus
    reason: str = ""
    shown: bool = True


@dataclass(frozen=True, slots=True)
class AnswerStatement:
    """A statement of an answer that was written without a language model.

    Attributes:
        text: Inline Markdown; places stand in it as ``path:10``.
        citations: Positions in the answer's ``citations``, from 0.
        relation: How the cited lines prove it, such as ``calls`` or ``declares``; empty if they are only quoted.
        level: Depth in a list, from 0.
        code: Lines of code below it, with one such as ``… 5 lines`` for each gap; ``language`` is theirs.
        line_numbers: Number of each line of ``code`` in the file; 0 for a gap.
    """

    text: str
    citations: Sequence[int]
    relation: ProofRelation = ""
    level: int = 0
    code: str = ""
    language: str = ""
    line_numbers: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class AnswerSection:
    """A section of an answer that was written without a language model.

    Attributes:
        title: Heading as inline Markdown; empty for what comes before all headings.
    """

    kind: AnswerSectionKind
    title: str
    style: AnswerSectionStyle
    statements: Sequence[AnswerStatement]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer in Markdown, its claims and their citations.

    Attributes:
        verified: Without a model, the number of quoted places that match the files; ``total`` counts all of them. With one,
            they count statements that agree with the lines they cite. Both are 0 without a model if the evidence is below
            ``found``.
        sections: Sections of an answer without a language model; empty with one.
        generator: ``extractive``, or provider and model of the LLM.
        confidence, not_indexed: As in `SearchHits`.
        missing: Requested facts that were not found, a sentence each.
        flagged: Locations of evidence whose text addresses a language model, as ``path:start-end: description``.
        redacted: Number of secrets redacted for the language model.
        notes: What a question in another language than English was read as.
    """

    query: str
    intent: Intent
    text: str
    citations: Sequence[Citation]
    verified: int
    total: int
    evidence: Evidence
    hits: Sequence[SearchHit]
    generator: str = EXTRACTIVE
    confidence: float = 1.0
    not_indexed: Sequence[str] = field(default_factory=list)
    shape: AnswerShape = "explanation"
    claims: Sequence[AnswerClaim] = ()
    missing: Sequence[str] = ()
    flagged: Sequence[str] = ()
    redacted: int = 0
    notes: Sequence[str] = field(default_factory=list)
    sections: Sequence[AnswerSection] = ()


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """An event while an answer is written.

    Attributes:
        kind: ``stage``: a node of the query graph has ended, ``text`` is its name. ``draft``: unchecked output of the
            language model. ``text``: the next part of the checked answer, which replaces the drafts since the last one;
            all parts joined are the answer's text. ``answer``: the whole answer, always last.
        trace: For a ``stage``, the trace of the node: ``node``, ``start_ns``, ``ms`` and ``detail``.
    """

    kind: Literal["stage", "draft", "text", "answer"]
    text: str = ""
    answer: Answer | None = None
    trace: Sequence[Mapping[str, Any]] = ()
