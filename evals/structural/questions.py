"""Questions in words, made from what is known: the same seed makes the same ones."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Final

from .answers import Answer, is_test_path
from .outline import Declared, Outline
from .relations import Relation, Relations

_CONSTRUCTORS: Final = frozenset({"__init__", "__new__", "constructor"})  # their classes are asked for
_FORMS: Final = ("{}", "{}", "`{}`", "{}()")  # a function's name; the last is only for those


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        kind: What is asked for.
        right: What is right too, but may be left out, as the text may not tell it.
        naming: Name that only what is asked for has, where naming it makes a result right too.
        judged: Files in which `answers` are all there are, so that any other result is wrong.
    """

    kind: str
    text: str
    answers: Sequence[Answer]
    right: Sequence[Answer] = ()
    judged: Set[str] = frozenset()
    naming: str = ""


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a relation is asked for, and of what.

    Attributes:
        of: Kind of declaration.
        of_tests: Whether it is asked of the tests' own declarations too.
        names_count: Whether code that only names a declaration is right, which the truth does not know.
        complete: Whether a compiler knows all answers.
    """

    relation: Relation
    of: str
    wordings: Sequence[str]
    complete: bool = False
    of_tests: bool = True
    names_count: bool = False


_KINDS: Final[Mapping[str, _Kind]] = MappingProxyType(
    {
        "callers": _Kind(
            Relations.callers, "function",
            ("what calls {}", "who calls {}?", "where is {} called", "callers of {}", "show me all callers of {}",
             "which functions call {}?", "find all calls to {}", "call sites of {}", "where do we call {}?"),
            complete=True,
        ),
        "instantiations": _Kind(
            Relations.callers, "class",
            ("who instantiates {}", "where is {} instantiated?", "where is {} created", "what creates {}",
             "who constructs {}?"),
        ),
        "users": _Kind(
            Relations.users, "",
            ("who uses {}?", "usages of {}", "where is {} used", "references to {}", "show me usages of {}",
             "what depends on {}"),
            names_count=True,
        ),
        "callees": _Kind(
            Relations.callees, "function",
            ("what does {} call?", "which functions does {} call", "callees of {}", "what is called by {}",
             "what functions are called by {}?"),
        ),
        "subtypes": _Kind(
            Relations.subtypes, "class",
            ("what extends {}", "subclasses of {}", "which classes inherit from {}?", "what implements {}",
             "show me implementations of {}", "what derives from {}", "classes that extend {}"),
            complete=True,
        ),
        "overrides": _Kind(
            Relations.overrides, "function",
            ("what overrides {}", "which methods override {}?", "overrides of {}", "where is {} overridden"),
            complete=True,
        ),
        "tests": _Kind(
            Relations.tests, "",
            ("which tests cover {}?", "tests for {}", "what tests {}", "where is {} tested", "show me tests of {}"),
            of_tests=False,
        ),
        "impact": _Kind(
            Relations.impact, "",
            ("what breaks if {} changes", "what breaks if I change {}?", "impact of changing {}",
             "what is affected by a change of {}", "what would break if I remove {}"),
            of_tests=False, names_count=True,
        ),
    }
)  # fmt: skip

_RIGHT: Final[Mapping[str, Relation]] = MappingProxyType(
    {**dict.fromkeys(("callers", "instantiations", "users", "tests"), Relations.right), "impact": Relations.all_impact}
)
"""What is right too, by kind of question."""

_IMPORT_WORDINGS: Final = ("what imports {}", "which files import {}?", "who imports {}", "importers of {}")


def make_questions(
    relations: Relations, outline: Outline, *, per_kind: int, seed: str, compiled: Set[str]
) -> list[Question]:
    """Return questions about one repository, at most so many of a kind.

    Args:
        relations: Its relations.
        outline: Its declarations.
        per_kind: How many.
        seed: Of the choice of declarations and wordings.
        compiled: Files of which a compiler knows all calls and types, and not only what was observed.
    """
    questions = []
    for name, kind in _KINDS.items():
        random = Random(f"{seed} {name}")
        known = [(one, answers) for one in _nameable(outline, kind) if (answers := kind.relation(relations, one))]
        for declared, answers in random.sample(known, min(per_kind, len(known))):
            text = random.choice(kind.wordings).format(_written(random, outline, declared))
            naming = declared.name if kind.names_count and outline.spelling(declared) == declared.name else ""
            right = _RIGHT[name](relations, declared) if name in _RIGHT else []
            questions.append(Question(name, text, answers, right, compiled if kind.complete else frozenset(), naming))
    random = Random(f"{seed} imports")
    paths = sorted({row.imported for row in outline.imports})
    for path in random.sample(paths, min(per_kind, len(paths))):
        text = random.choice(_IMPORT_WORDINGS).format(path)
        questions.append(Question("imports", text, relations.importers(path)))
    return questions


def _nameable(outline: Outline, kind: _Kind) -> list[Declared]:
    """Return what can be asked for: declarations that a name can mean from outside."""
    return [
        one
        for one in outline.declarations
        if not one.local
        and one.kind.startswith(kind.of)
        and (kind.of_tests or not is_test_path(one.path))
        and one.name not in _CONSTRUCTORS
    ]


def _written(random: Random, outline: Outline, declared: Declared) -> str:
    forms = _FORMS if declared.kind == "function" else _FORMS[:-1]
    return random.choice(forms).format(outline.spelling(declared))
