"""Right answers: the code that is asked for, and when two uses are one answer."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from .outline import Declared

_TEST_PATHS = re.compile(r"(^|/)(tests?|testing|__tests__|spec)/|(^|/)test_[^/]*\.py$|\.(test|spec)\.\w+$")
_ANY_LINE = 1 << 30


class Answer(NamedTuple):
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
    written: str = ""
    also: "tuple[Answer, ...]" = ()


class User(NamedTuple):
    """Code that uses something: a function or class, or (None) the rest of a file; and where it does."""

    declared: Declared | None
    path: str
    line: int


def itself(declared: Declared) -> Answer:
    """Return a declaration as an answer."""
    return Answer(declared.path, declared.first, declared.last, frozenset({declared.line}))


def using(users: Iterable[User], written: str = "") -> list[Answer]:
    """Return one answer for each function, class or file that has some of the uses."""
    units: dict[Declared | str, set[int]] = defaultdict(set)
    for user in users:
        units[user.declared or user.path].add(user.line)
    return [
        Answer(unit, 1, _ANY_LINE, frozenset(lines))
        if isinstance(unit, str)
        else Answer(unit.path, unit.first, unit.last, frozenset(lines), written)
        for unit, lines in units.items()
    ]


def is_test_path(path: str) -> bool:
    """Whether a file holds tests, by its path."""
    return _TEST_PATHS.search(path) is not None


def is_test(user: User) -> bool:
    """Whether it is a test: the function is named so, or the call stands in no function at all of a file of tests."""
    return (user.declared is None or user.declared.name.startswith("test")) and is_test_path(user.path)
