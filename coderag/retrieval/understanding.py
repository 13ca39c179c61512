"""Record of how a question was understood, for explanations: read from its analysis, never parsed again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coderag.schema.query import Analysis, Entity
from coderag.schema.vocabulary import (
    AnswerForm,
    AskedAspect,
    AskedDirection,
    AskedRelation,
    HumanLanguage,
    QuestionKind,
)
from coderag.stores.corpus import Corpus

_MAX_DECLARATIONS: Final = 5
_MAX_ITEMS: Final = 40
_MAX_ITEM_CHARS: Final = 300
_MAX_TEXT_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True)
class DeclaredPlace:
    """Declaration in the index that a name of a question may mean."""

    path: str
    start_line: int
    end_line: int
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class QuestionSubject:
    """Name that a question is about, linked to the symbol table.

    Attributes:
        declarations: The likeliest declarations of the name, best first.
        total: Number of all its declarations; 0 if the index has none.
    """

    text: str
    declarations: Sequence[DeclaredPlace]
    total: int


@dataclass(frozen=True, slots=True)
class Understanding:
    """Reading of a question: its kind, subjects and wording.

    Attributes:
        kind: Kind of question, finer than its intent.
        relation, direction: Relation that it asks for, seen from the subjects; empty if it asks for none.
        form: Form of the answer that it wishes.
        aspect: Part of the subjects that it asks for; empty for all of them.
        subjects: Names that it is about.
        ends: Both sides of a comparison, or begin and end of a flow.
        human_language: Human language of the question.
        unknown_words: Words of another language that were not understood.
        text: The question as it was searched for: translated, and without the repository's own name.
        literals: Names and texts that it gives as they are written.
        is_literal: Whether it consists of one of them.
        is_name: Whether it is only a name.
        is_report: Whether it is a bug report.
        is_statement: Whether it asks nothing, such as the message of a program alone.
        is_about_repository: Whether it asks about the repository as a whole.
        languages, roles: Languages and roles of files that its wording prefers.
        entities: Names, paths, quotes and code in it, with their kind.
        messages: Lines in it that may be messages of a program.
        frames: Frames of its stack traces, as ``path:line name``.
    """

    kind: QuestionKind
    relation: AskedRelation
    direction: AskedDirection
    form: AnswerForm
    aspect: AskedAspect
    subjects: Sequence[QuestionSubject]
    ends: Sequence[QuestionSubject]
    human_language: HumanLanguage
    unknown_words: Sequence[str]
    text: str
    literals: Sequence[str]
    is_literal: bool
    is_name: bool
    is_report: bool
    is_statement: bool
    is_about_repository: bool
    languages: Sequence[str]
    roles: Sequence[str]
    entities: Sequence[Entity]
    messages: Sequence[str]
    frames: Sequence[str]


def build_understanding(corpus: Corpus, analysis: Analysis) -> Understanding:
    """Build the record of how a question was understood, with its subjects linked to the index."""
    reading, report = analysis["reading"], analysis["report"]
    frames = report["frames"] if report else []
    return Understanding(
        kind=reading["kind"],
        relation=reading["relation"],
        direction=reading["direction"],
        form=reading["form"],
        aspect=reading.get("aspect", ""),
        subjects=[link_subject(corpus, name) for name in reading["subjects"][:_MAX_ITEMS]],
        ends=[link_subject(corpus, name) for name in reading["ends"][:_MAX_ITEMS]],
        human_language=analysis["human_language"],
        unknown_words=_limit_texts(analysis["unknown_words"]),
        text=analysis["question"][:_MAX_TEXT_CHARS],
        literals=_limit_texts(analysis["literals"]),
        is_literal=analysis["literal_query"],
        is_name=analysis["symbol_query"],
        is_report=report is not None,
        is_statement=analysis["is_statement"],
        is_about_repository=reading["is_of_whole"],
        languages=_limit_texts(analysis["languages"]),
        roles=_limit_texts(analysis["roles"]),
        entities=[
            Entity(kind=entity["kind"], text=entity["text"][:_MAX_ITEM_CHARS])
            for entity in analysis["entities"][:_MAX_ITEMS]
        ],
        messages=_limit_texts(analysis["messages"]),
        frames=_limit_texts([f"{frame['path']}:{frame['line']} {frame['name']}".rstrip() for frame in frames]),
    )


def link_subject(corpus: Corpus, name: str) -> QuestionSubject:
    """Link a name of a question to its declarations in the index."""
    matches = corpus.symbols.find(name)
    return QuestionSubject(
        text=name[:_MAX_ITEM_CHARS],
        declarations=[
            DeclaredPlace(
                path=corpus.get_value("path", match.row),
                start_line=match.start_line,
                end_line=match.end_line,
                name=match.qualified_name,
                kind=match.kind,
            )
            for match in matches[:_MAX_DECLARATIONS]
        ],
        total=len(matches),
    )


def _limit_texts(texts: Sequence[str]) -> list[str]:
    return [text[:_MAX_ITEM_CHARS] for text in texts[:_MAX_ITEMS]]
