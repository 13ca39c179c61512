"""Sections of an answer as data: statements, the lines that prove each, and code cut to the lines that decide."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.schema.vocabulary import AnswerSectionKind, AnswerSectionStyle, AnswerShape, ProofRelation

Part = str | CitedLines
"""Part of a statement: inline Markdown, or lines that stand there as their place."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Code below a statement.

    Attributes:
        lines: The whole of it, which is cited.
        line_ranges: Line numbers that are shown, as ranges in order.
        language: Language of the code.
    """

    lines: CitedLines
    line_ranges: Sequence[range]
    language: str


@dataclass(frozen=True, slots=True)
class DraftStatement:
    """A statement of an answer.

    Attributes:
        parts: Its text; places stand only where the lines do.
        relation: How the lines prove it.
        excerpt: Code that is shown below it.
        level: Depth in a list, from 0.
        is_claim: Whether its lines prove it; that nothing uses a declaration is not proved by the declaration.
    """

    parts: Sequence[Part]
    relation: ProofRelation = ""
    excerpt: Excerpt | None = None
    level: int = 0
    is_claim: bool = True

    @property
    def cited(self) -> list[CitedLines]:
        """Lines that it cites, each once."""
        in_text = [part for part in self.parts if isinstance(part, CitedLines)]
        return list(dict.fromkeys([*in_text, *([self.excerpt.lines] if self.excerpt else [])]))


@dataclass(frozen=True, slots=True)
class DraftSection:
    """A section of an answer.

    Attributes:
        statements: At least one.
        title: Heading as inline Markdown; empty for the lead.
        missing: What was asked for and is not known, a sentence each.
    """

    kind: AnswerSectionKind
    statements: Sequence[DraftStatement]
    title: str = ""
    style: AnswerSectionStyle = "list"
    missing: Sequence[str] = ()

    @property
    def cited(self) -> Iterator[CitedLines]:
        """Lines that its statements cite."""
        return chain.from_iterable(statement.cited for statement in self.statements)


@dataclass(frozen=True, slots=True)
class Draft:
    """Sections of an answer, whose citations are not checked yet; ``shape`` is that of the first."""

    sections: Sequence[DraftSection]
    shape: AnswerShape

    @property
    def missing(self) -> list[str]:
        """Parts of the question without an answer, a sentence each."""
        return list(chain.from_iterable(section.missing for section in self.sections))


def build_lead(kind: AnswerSectionKind, *statements: DraftStatement, missing: Sequence[str] = ()) -> DraftSection:
    """Build a section of paragraphs without a heading."""
    return DraftSection(kind, statements, style="text", missing=missing)
