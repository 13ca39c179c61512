"""Lines that mention a name, and declarations that nothing seems to use. Imports nothing slow."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from coderag.schema.graph import GraphNeighbour
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE

MentionQuery = Literal[
    "callers", "references", "importers", "subclasses", "implementations", "overrides", "tests", "documents", "impact"
]
"""Graph queries for uses of a declaration, which lines may show where no edge does."""

MentionContext = Literal["code", "import", "string", "comment", "text"]
"""Syntax around a mention; ``text`` is prose, such as a page of documentation."""

LinkTier = Literal["full", "simple", "none"]
"""Resolution of names in a language: ``full``, within files and along their imports (``simple``), or not at all."""

UnusedCertainty = Literal["likely", "possible"]
"""``likely``: no other line mentions it; ``possible``: some do, but none is known to mean it."""

MENTION_QUERIES: Final[frozenset[str]] = frozenset(get_args(MentionQuery))

DEFAULT_MAX_MENTIONS: Final = 20
DEFAULT_MAX_UNUSED: Final = 50


@dataclass(frozen=True, slots=True)
class NameMention:
    """A line that mentions a name.

    Attributes:
        text: The line as indexed; of a very long one, the part around the name.
        context: Syntax around the name.
        symbol: Qualified name of the innermost enclosing declaration; empty if there is none.
        kind: Kind of that declaration.
        linked: Whether an edge of the code graph explains the line.
    """

    path: str
    line: int
    text: str
    context: MentionContext
    symbol: str
    kind: str
    language: str
    role: str
    linked: bool = False


@dataclass(frozen=True, slots=True)
class Mentions:
    """Lines that mention a name outside its declaration: code first, then comments and prose.

    Attributes:
        name: The name as asked.
        words: Spellings that were searched for, as whole words.
        lines: First lines.
        total: Number of all such lines.
        unlinked: Number of lines of code among them that no edge explains, imports left out.
        elsewhere: Number of lines left out because an edge ties them to another declaration of the name.
        inside: Number of lines left out because they are inside the declaration itself.
        declarations: Number of other declarations of the name.
        files: Number of searched files.
        left_out: Number of files that are not in the index, or only in part; binary files do not count.
        tier: How names of the declaration's language are resolved.
        reason: Why the code graph may lack an edge, as a sentence.
    """

    name: str
    words: Sequence[str]
    lines: Sequence[NameMention]
    total: int
    unlinked: int
    elsewhere: int
    inside: int
    declarations: int
    files: int
    left_out: int
    tier: LinkTier
    reason: str


@dataclass(frozen=True, slots=True)
class UnusedDeclaration:
    """A declaration without a known use.

    Attributes:
        reasons: Why it may be unused, and how it may still be reached.
        mentions: Number of lines outside it that mention its name.
    """

    path: str
    start_line: int
    end_line: int
    qualified_name: str
    kind: str
    language: str
    certainty: UnusedCertainty
    reasons: Sequence[str]
    mentions: int


@dataclass(frozen=True, slots=True)
class UnusedReport:
    """Declarations without a known use, the most certain first.

    Attributes:
        path: File or folder that was examined; empty for the whole repository.
        results: First declarations.
        total: Number of all of them.
        examined: Number of examined declarations.
        excluded: Number of declarations without a known use that are reached in other ways, by reason.
        left_out: Number of files that are not in the index, or only in part.
    """

    path: str
    results: Sequence[UnusedDeclaration]
    total: int
    examined: int
    excluded: dict[str, int] = field(default_factory=dict)
    left_out: int = 0


def has_resolved(neighbours: Sequence[GraphNeighbour]) -> bool:
    """Return whether an edge is more than a candidate."""
    return any(neighbour.confidence >= MIN_RESOLVED_CONFIDENCE for neighbour in neighbours)
