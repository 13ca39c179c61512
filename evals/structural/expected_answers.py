"""Expected answers: code that answers a question, with uses in one function grouped as one answer."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from .outline import CompilerDeclaration

_TEST_PATHS = re.compile(r"(^|/)(tests?|testing|__tests__|spec)/|(^|/)test_[^/]*\.py$|\.(test|spec)\.\w+$")
_MAX_LINE = 1 << 30


class ExpectedAnswer(NamedTuple):
    """One expected answer; a result matches if it lies inside `first` to `last` and has one of the lines.

    Attributes:
        lines: Lines of evidence, such as calls; for a declaration that is itself the answer, the line of its name.
        used_name: Name that is used there; a result with it shows another use in the same function.
        alternatives: Equally good answers: for a method, those that it overrides, because the text may not tell them apart.
    """

    path: str
    first: int
    last: int
    lines: frozenset[int]
    used_name: str = ""
    alternatives: "tuple[ExpectedAnswer, ...]" = ()


class Usage(NamedTuple):
    """A use of a declaration: its line and the function or class around it, or (None) the rest of the file."""

    declaration: CompilerDeclaration | None
    path: str
    line: int


def to_answer(declaration: CompilerDeclaration) -> ExpectedAnswer:
    """Return a declaration as an answer."""
    return ExpectedAnswer(declaration.path, declaration.first, declaration.last, frozenset({declaration.line}))


def group_usages(usages: Iterable[Usage], used_name: str = "") -> list[ExpectedAnswer]:
    """Return one answer for each function, class or file with some of the usages."""
    lines_by_unit: dict[CompilerDeclaration | str, set[int]] = defaultdict(set)
    for usage in usages:
        lines_by_unit[usage.declaration or usage.path].add(usage.line)
    return [
        ExpectedAnswer(unit, 1, _MAX_LINE, frozenset(lines))
        if isinstance(unit, str)
        else ExpectedAnswer(unit.path, unit.first, unit.last, frozenset(lines), used_name)
        for unit, lines in lines_by_unit.items()
    ]


def is_test_path(path: str) -> bool:
    """Return whether a path is that of a test file."""
    return _TEST_PATHS.search(path) is not None


def is_test(usage: Usage) -> bool:
    """Return whether a usage is in a test: a function with a test's name, or module code of a test file."""
    return (usage.declaration is None or usage.declaration.name.startswith("test")) and is_test_path(usage.path)
