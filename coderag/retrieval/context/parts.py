"""What the text of a context is written from, whatever its format."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from coderag.schema.context import ContextItem, ContextSection, Omission
from coderag.schema.vocabulary import Evidence, Relation

SECTION_NAMES: Final = {"primary": "results", "related": "related", "graph": "relations"}
"""What the sections are called in formats for programs and models."""

_MAX_QUESTION_CHARS: Final = 160  # characters
_MAX_FRAME_TOKENS: Final = 120

EVIDENCE_NOTES: Final[dict[Evidence, str]] = {
    "found": "",
    "weak": "The evidence is weak: nothing in the index answers this closely.",
    "not_found": "Nothing in the index answers this.",
    "unknown": "The answer may be in files that are not in the index.",
}

_RELATION_PHRASES: Final[dict[Relation, str]] = {
    "caller": "calls",
    "callee": "called by",
    "contains": "member of",
    "contained_by": "holds",
    "sibling": "beside",
    "imports": "imported by the file of",
    "imported_by": "imports the file of",
    "test_for": "tests",
    "base": "extended by",
    "derived": "extends",
    "interface_of": "interface of",
}


@dataclass(frozen=True, slots=True)
class ContextParts:
    """A context before it is written.

    Attributes:
        question: One line of it.
        note: What is to be said of the evidence; empty for good evidence.
        omitted: Results that were left out and are told.
        unlisted_omitted: How many more there are.
        shown_before: Places that are not shown again and are told.
        unlisted_before: How many more there are.
    """

    question: str
    note: str
    sections: Sequence[ContextSection] = ()
    omitted: Sequence[Omission] = ()
    unlisted_omitted: int = 0
    shown_before: Sequence[str] = ()
    unlisted_before: int = 0


class ContextWriter(Protocol):
    """Writes contexts in one format."""

    def format_item(self, item: ContextItem) -> str:
        """Return one item as it stands in the text."""
        ...

    def write(self, parts: ContextParts) -> list[str]:
        """Return the whole text, in parts whose tokens add up.

        Each begins with a sign that is no white space and ends with a newline: no token of the encoding goes over that.
        """
        ...


def format_relation(item: ContextItem) -> str:
    """Return how an item belongs to a result, as in ``tests``; empty for a result."""
    return _RELATION_PHRASES[item.relation] if item.relation else ""


def item_attributes(item: ContextItem) -> dict[str, str]:
    """Return what is told of a piece of code beside its text, by name; what is empty is not told."""
    return {
        "path": item.path,
        "lines": f"{item.start_line}-{item.end_line}",
        "name": item.name,
        "kind": item.kind,
        "relation": f"{format_relation(item)} {item.related_to}" if item.relation else "",
        "detail": "" if item.detail == "full" else item.detail,
    }


def to_single_line(text: str) -> str:
    """Return a name, path or question without what would end its line: a repository may name things as it likes."""
    printable = (
        text if text.isprintable() else "".join(character if character.isprintable() else " " for character in text)
    )
    return " ".join(printable.split())


def truncate_question(query: str, count_tokens: Callable[[str], int]) -> str:
    """Return the first line of a question, cut so that what is around all contexts fits into the smallest budget.

    Args:
        query: The question.
        count_tokens: Returns the tokens of a context with nothing but a heading.
    """
    question = next((line for line in map(to_single_line, query.splitlines()) if line), "")[:_MAX_QUESTION_CHARS]
    while question and count_tokens(question) > _MAX_FRAME_TOKENS:
        question = question[: len(question) * 3 // 4]
    return question
