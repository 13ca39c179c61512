"""Questions that lead to other questions: each is asked once, and has the same answer whichever is asked first.

That is why a question that comes back to itself by way of others has no answer, and neither have those; and why none has one
that needs too many others to be answered one inside the other.
"""

from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from coderag.codegraph.linking.meanings import Meaning
from coderag.codegraph.linking.program import Consulted, Program

_DEEPEST: Final = 40
"""Questions inside one another."""


class Answer(NamedTuple):
    """An answer that is kept.

    Attributes:
        consulted: What it depends on.
        height: The longest chain of questions inside one another that it took, itself among them.
    """

    meaning: Meaning | None
    consulted: Consulted
    height: int


Kept = dict[Hashable, Answer]


class _CameBackError(Exception):
    """A question came back to itself.

    Attributes:
        level: How many others waited when it was asked.
        between: The questions between the two, and where their answers are kept.
    """

    def __init__(self, level: int) -> None:
        self.level = level
        self.between: list[tuple[Kept, Hashable]] = []


class _TooDeepError(Exception):
    """The outermost question that waits needs too many others."""


class Answers:
    """Asks questions, and keeps what they depend on.

    Args:
        program: Notes what is asked for.

    Attributes:
        waiting: Questions without an answer yet, and how many waited before.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self.waiting: dict[Hashable, int] = {}
        self._height = 0  # of the answers to what the innermost of them asked so far

    def ask(self, kept: Kept, key: Hashable, ask: Callable[[], Meaning | None]) -> Meaning | None:
        """Ask a question that has no answer yet, and keep the answer.

        Args:
            kept: Where answers are kept.
            key: What is asked.
            ask: Finds the answer, perhaps by way of others.
        """
        level = len(self.waiting)
        if (before := self.waiting.get(key)) is not None:
            if before == level - 1:  # a function that calls itself says nothing by that
                return None
            raise _CameBackError(before)
        if level >= _DEEPEST:
            raise _TooDeepError
        outer_height, self._height = self._height, 0
        self.waiting[key] = level
        try:
            answer = kept[key] = self._asked(kept, key, ask, level)
        finally:
            self.waiting.pop(key, None)
            self._height = max(outer_height, self._height + 1)
        return answer.meaning

    def known(self, answer: Answer) -> Meaning | None:
        """Return an answer that was kept, as if it had been found just now."""
        level = len(self.waiting)
        if level and level + answer.height > _DEEPEST:
            raise _TooDeepError
        self._height = max(self._height, answer.height)
        self._program.again(answer.consulted)
        return answer.meaning

    def _asked(self, kept: Kept, key: Hashable, ask: Callable[[], Meaning | None], level: int) -> Answer:
        outer = self._program.begin()
        consulted = self._program.consulted
        try:
            return Answer(ask(), consulted, self._height + 1)
        except _CameBackError as error:
            if error.level < level:
                error.between.append((kept, key))
                raise
            none = Answer(None, consulted, self._height + 1)
            for where, other in error.between:  # they depend on all that this one does
                where[other] = none
            return none
        except _TooDeepError:
            if level:
                raise
            return Answer(None, consulted, _DEEPEST + 1)
        finally:
            self._program.end(outer)
