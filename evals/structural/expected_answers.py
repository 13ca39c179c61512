"""Right answers: the code that is asked for, and when two uses are one answer."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from .outline import CompilerDeclaration

_TEST_PATHS = re.compile(r"(^|/)(tests?|testing|__tests__|spec)/|(^|/)test_[^/]*\.py$|\.(test|spec)\.\w+$")
_MAX_LINE = 1 << 30


class ExpectedAnswer(NamedTuple):
    """One right answer: a result is it if it lies inside `first` to `last` and has one of the lines.

    Attributes:
        lines: Of the evidence, such as the calls; of a declaration that is itself the answer, that of its name.
        written: Name that is used there; a result with it has another use in the same function.
        also: What is as good an answer: of a method, those that it overrides, as the text may tell no more.
    """

    path: str
    first: int
    last: int
    lines: frozenset[int]
    used_name: str = ""
    alternatives: "tuple[ExpectedAnswer, ...]" = ()


class Usage(NamedTuple):
    """Code that uses something: a function or class, or (None) the rest of a file; and where it does."""

    declaration: CompilerDeclaration | None
    path: str
    line: int


def to_answer(declaration: CompilerDeclaration) -> ExpectedAnswer:
    """Return a declaration as an answer."""
    return ExpectedAnswer(declaration.path, declaration.first, declaration.last, frozenset({declaration.line}))


def group_usages(usages: Iterable[Usage], used_name: str = "") -> list[ExpectedAnswer]:
    """Return one answer for each function, class or file that has some of the uses."""
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
    """Whether a file holds tests, by its path."""
    return _TEST_PATHS.search(path) is not None


def is_test(usage: Usage) -> bool:
    """Whether it is a test: the function is named so, or the call stands in no function at all of a file of tests."""
    return (usage.declaration is None or usage.declaration.name.startswith("test")) and is_test_path(usage.path)
