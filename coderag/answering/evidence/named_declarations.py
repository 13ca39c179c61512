"""Declarations of the names that a question is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.declared import FILE, TYPES, Declared
from coderag.stores.spelling_index import MIN_SIMILARITY
from coderag.stores.symbol_table import fold_name, split_qualified

_MAX_NAMES: Final = 3
_NAME_KINDS: Final = frozenset({"identifier", "qualified_name"})


@dataclass(frozen=True, slots=True)
class SubjectDeclarations:
    """Declarations of one name.

    Attributes:
        name: As the question writes it.
        declared: The likeliest first; empty if nothing declares the name.
        is_respelt: Whether nothing is called so, and the declarations are those of the nearest spelling.
    """

    name: str
    declared: Sequence[Declared]
    is_respelt: bool = False


def find_named(answer_input: AnswerInput) -> list[SubjectDeclarations]:
    """Find the declarations of each name that a question is about, in their order."""
    entities = [entity["text"] for entity in answer_input.analysis["entities"] if entity["kind"] in _NAME_KINDS]
    names = list(dict.fromkeys(answer_input.reading["subjects"] or entities))
    return [_find_declarations(answer_input, name) for name in names[:_MAX_NAMES]]


def _find_declarations(answer_input: AnswerInput, name: str) -> SubjectDeclarations:
    reader = answer_input.reader
    if declared := _order(answer_input, name, reader.find_declarations(name)):
        return SubjectDeclarations(name, declared)
    if len(reader.corpus.find_chunks_with_name(name)):  # written as such, so no misspelling
        return SubjectDeclarations(name, [])
    spelling = next(iter(reader.corpus.symbols.find_spellings(name, 1)), None)
    if spelling is None or spelling.quality < MIN_SIMILARITY:
        return SubjectDeclarations(name, [])
    return SubjectDeclarations(
        name, _order(answer_input, spelling.word, reader.find_declarations(spelling.word)), is_respelt=True
    )


def _order(answer_input: AnswerInput, name: str, declared: Sequence[Declared]) -> list[Declared]:
    """Order declarations: a type before its constructors, code before tests, then as the results rank them."""
    ranked = [answer_input.find_declaration(snippet) for snippet in answer_input.results]
    ranks = {declaration.node: rank for rank, declaration in reversed([*enumerate(ranked)]) if declaration is not None}
    last = fold_name((split_qualified(name) or [name])[-1])

    def rate(declaration: Declared) -> tuple[bool, bool, bool, int, bool]:
        parts = [fold_name(part) for part in split_qualified(declaration.name)]
        is_constructor = len(parts) > 1 and parts[-2] == last and declaration.kind not in TYPES
        return (
            declaration.role == "test",
            is_constructor,
            declaration.kind == "impl",
            ranks.get(declaration.node, len(ranks)),
            declaration.kind == FILE,
        )

    return sorted(declared, key=rate)
