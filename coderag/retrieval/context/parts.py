"""Parts of a context's text, independent of its format."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from coderag.schema.context import ContextItem, ContextSection, Omission
from coderag.schema.vocabulary import Evidence, Relation

SECTION_NAMES: Final = {"items": "items", "primary": "results", "related": "related", "graph": "relations"}
"""Section names in the XML and JSON formats."""

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
    "value": "value used by",
}


@dataclass(frozen=True, slots=True)
class ContextParts:
    """Context before it is written.

    Attributes:
        question: Question in one line.
        note: Note on the verdict; empty for ``found``.
        omitted: Listed results that were omitted.
        unlisted_omitted: Number of further omitted results.
        shown_before: Listed locations that were shown before.
        unlisted_before: Number of further ones.
    """

    question: str
    note: str
    sections: Sequence[ContextSection] = ()
    omitted: Sequence[Omission] = ()
    unlisted_omitted: int = 0
    shown_before: Sequence[str] = ()
    unlisted_before: int = 0


class ContextWriter(Protocol):
    """Writer of contexts in one format."""

    def format_item(self, item: ContextItem) -> str:
        """Format one item."""
        ...

    def write(self, parts: ContextParts) -> list[str]:
        """Write the text in parts whose token counts add up.

        Each starts with a non-space character and ends with a newline: no token of the encoding spans that.
        """
        ...


def format_relation(item: ContextItem) -> str:
    """Format the relation of an item to a result, such as ``tests``; empty for a result."""
    return _RELATION_PHRASES[item.relation] if item.relation else ""


def item_attributes(item: ContextItem) -> dict[str, str]:
    """Return the attributes of an item besides its text, by name; empty ones are not written."""
    return {
        "path": item.path,
        "lines": f"{item.start_line}-{item.end_line}",
        "name": item.name,
        "kind": item.kind,
        "relation": f"{format_relation(item)} {item.related_to}" if item.relation else "",
        "detail": "" if item.detail == "full" else item.detail,
        "url": item.url,
        "revision": item.revision,
    }


def to_single_line(text: str) -> str:
    """Replace line ends and unprintable characters: a repository may name things as it likes."""
    printable = (
        text if text.isprintable() else "".join(character if character.isprintable() else " " for character in text)
    )
    return " ".join(printable.split())


def truncate_question(query: str, count_tokens: Callable[[str], int]) -> str:
    """Truncate a question's first line so that a context's frame fits the smallest budget.

    Args:
        query: The question.
        count_tokens: Counts the tokens of a context that has only a heading.
    """
    question = next((line for line in map(to_single_line, query.splitlines()) if line), "")[:_MAX_QUESTION_CHARS]
    while question and count_tokens(question) > _MAX_FRAME_TOKENS:
        question = question[: len(question) * 3 // 4]
    return question
