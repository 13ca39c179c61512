"""Structural questions in words, generated from recorded relations; reproducible by seed."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Final

from .expected_answers import ExpectedAnswer, is_test_path
from .outline import CompilerDeclaration, Outline
from .relations import KnownRelations, RelationLookup

_CONSTRUCTORS: Final = frozenset({"__init__", "__new__", "constructor"})  # questions name their classes instead
_NAME_FORMS: Final = ("{}", "{}", "`{}`", "{}()")  # the last form is only for functions


@dataclass(frozen=True, slots=True)
class StructuralQuestion:
    """One question.

    Attributes:
        kind: Kind of question.
        also_right: Further right answers that may be left out, because the text may not tell them.
        accepted_name: A unique name of the subject, where a result that names it is right, too.
        complete_files: Files whose expected answers are complete, so that any other result is wrong.
    """

    kind: str
    text: str
    answers: Sequence[ExpectedAnswer]
    also_right: Sequence[ExpectedAnswer] = ()
    complete_files: Set[str] = frozenset()
    accepted_name: str = ""


@dataclass(frozen=True, slots=True)
class _QuestionKind:
    """Subject and wordings of a kind of question.

    Attributes:
        declaration_kind: Kind of declaration that it asks about.
        includes_tests: Whether it also asks about declarations of tests.
        accepts_naming: Whether code that only names a declaration is right, which the truth does not record.
        is_complete: Whether a compiler knows all answers.
    """

    relation: RelationLookup
    declaration_kind: str
    wordings: Sequence[str]
    is_complete: bool = False
    includes_tests: bool = True
    accepts_naming: bool = False


_KINDS: Final[Mapping[str, _QuestionKind]] = MappingProxyType(
    {
        "callers": _QuestionKind(
            KnownRelations.find_callers, "function",
            ("what calls {}", "who calls {}?", "where is {} called", "callers of {}", "show me all callers of {}",
             "which functions call {}?", "find all calls to {}", "call sites of {}", "where do we call {}?"),
            is_complete=True,
        ),
        "instantiations": _QuestionKind(
            KnownRelations.find_callers, "class",
            ("who instantiates {}", "where is {} instantiated?", "where is {} created", "what creates {}",
             "who constructs {}?"),
        ),
        "users": _QuestionKind(
            KnownRelations.find_users, "",
            ("who uses {}?", "usages of {}", "where is {} used", "references to {}", "show me usages of {}",
             "what depends on {}"),
            accepts_naming=True,
        ),
        "callees": _QuestionKind(
            KnownRelations.find_callees, "function",
            ("what does {} call?", "which functions does {} call", "callees of {}", "what is called by {}",
             "what functions are called by {}?"),
        ),
        "subtypes": _QuestionKind(
            KnownRelations.find_subtypes, "class",
            ("what extends {}", "subclasses of {}", "which classes inherit from {}?", "what implements {}",
             "show me implementations of {}", "what derives from {}", "classes that extend {}"),
            is_complete=True,
        ),
        "overrides": _QuestionKind(
            KnownRelations.find_overrides, "function",
            ("what overrides {}", "which methods override {}?", "overrides of {}", "where is {} overridden"),
            is_complete=True,
        ),
        "tests": _QuestionKind(
            KnownRelations.find_tests, "",
            ("which tests cover {}?", "tests for {}", "what tests {}", "where is {} tested", "show me tests of {}"),
            includes_tests=False,
        ),
        "impact": _QuestionKind(
            KnownRelations.find_impact, "",
            ("what breaks if {} changes", "what breaks if I change {}?", "impact of changing {}",
             "what is affected by a change of {}", "what would break if I remove {}"),
            includes_tests=False, accepts_naming=True,
        ),
    }
)  # fmt: skip

_ALSO_RIGHT: Final[Mapping[str, RelationLookup]] = MappingProxyType(
    {
        **dict.fromkeys(("callers", "instantiations", "users", "tests"), KnownRelations.find_any_users),
        "impact": KnownRelations.find_all_impact,
    }
)
"""Further right answers by kind of question."""

_IMPORT_WORDINGS: Final = ("what imports {}", "which files import {}?", "who imports {}", "importers of {}")


def make_questions(
    relations: KnownRelations, outline: Outline, *, per_kind: int, seed: str, compiled: Set[str]
) -> list[StructuralQuestion]:
    """Return questions about one repository, at most `per_kind` of each kind.

    Args:
        relations: Relations of the repository.
        outline: Declarations of the repository.
        per_kind: Maximum number of questions of a kind.
        seed: Seed for the choice of declarations and wordings.
        compiled: Files whose calls and types a compiler resolved completely, rather than some observed at run time.
    """
    questions = []
    for name, kind in _KINDS.items():
        random = Random(f"{seed} {name}")
        candidates = [
            (declaration, answers)
            for declaration in _find_nameable(outline, kind)
            if (answers := kind.relation(relations, declaration))
        ]
        for declaration, answers in random.sample(candidates, min(per_kind, len(candidates))):
            text = random.choice(kind.wordings).format(_format_name(random, outline, declaration))
            accepted_name = (
                declaration.name
                if kind.accepts_naming and outline.find_shortest_name(declaration) == declaration.name
                else ""
            )
            also_right = _ALSO_RIGHT[name](relations, declaration) if name in _ALSO_RIGHT else []
            questions.append(
                StructuralQuestion(
                    name, text, answers, also_right, compiled if kind.is_complete else frozenset(), accepted_name
                )
            )
    random = Random(f"{seed} imports")
    paths = sorted({row.imported_path for row in outline.imports})
    for path in random.sample(paths, min(per_kind, len(paths))):
        text = random.choice(_IMPORT_WORDINGS).format(path)
        questions.append(StructuralQuestion("imports", text, relations.find_importers(path)))
    return questions


def _find_nameable(outline: Outline, kind: _QuestionKind) -> list[CompilerDeclaration]:
    """Return the declarations that a question can name: those that are not local."""
    return [
        declaration
        for declaration in outline.declarations
        if not declaration.local
        and declaration.kind.startswith(kind.declaration_kind)
        and (kind.includes_tests or not is_test_path(declaration.path))
        and declaration.name not in _CONSTRUCTORS
    ]


def _format_name(random: Random, outline: Outline, declaration: CompilerDeclaration) -> str:
    forms = _NAME_FORMS if declaration.kind == "function" else _NAME_FORMS[:-1]
    return random.choice(forms).format(outline.find_shortest_name(declaration))
