"""Questions that lead to other questions: each is asked once, and has the same answer whichever is asked first.

That is why a question that comes back to itself by way of others has no answer, and neither have those; and why none has one
that needs too many others to be answered one inside the other.
"""

from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from coderag.codegraph.linking.program import Dependencies, Program
from coderag.codegraph.linking.referents import Referent

_MAX_DEPTH: Final = 40
"""Questions inside one another."""


class MemoEntry(NamedTuple):
    """An answer that is kept.

    Attributes:
        consulted: What it depends on.
        height: The longest chain of questions inside one another that it took, itself among them.
    """

    referent: Referent | None
    dependencies: Dependencies
    depth: int


MemoTable = dict[Hashable, MemoEntry]


class _CycleError(Exception):
    """A question came back to itself.

    Attributes:
        level: How many others waited when it was asked.
        between: The questions between the two, and where their answers are kept.
    """

    def __init__(self, level: int) -> None:
        self.level = level
        self.cycle_members: list[tuple[MemoTable, Hashable]] = []


class _DepthExceededError(Exception):
    """The outermost question that waits needs too many others."""


class QueryMemo:
    """Asks questions, and keeps what they depend on.

    Args:
        program: Notes what is asked for.

    Attributes:
        waiting: Questions without an answer yet, and how many waited before.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self.active_queries: dict[Hashable, int] = {}
        self._depth = 0  # of the answers to what the innermost of them asked so far

    def evaluate(self, table: MemoTable, key: Hashable, compute: Callable[[], Referent | None]) -> Referent | None:
        """Ask a question that has no answer yet, and keep the answer.

        Args:
            kept: Where answers are kept.
            key: What is asked.
            ask: Finds the answer, perhaps by way of others.
        """
        level = len(self.active_queries)
        if (active_level := self.active_queries.get(key)) is not None:
            if active_level == level - 1:  # a function that calls itself says nothing by that
                return None
            raise _CycleError(active_level)
        if level >= _MAX_DEPTH:
            raise _DepthExceededError
        outer_depth, self._depth = self._depth, 0
        self.active_queries[key] = level
        try:
            entry = table[key] = self._compute_entry(table, key, compute, level)
        finally:
            self.active_queries.pop(key, None)
            self._depth = max(outer_depth, self._depth + 1)
        return entry.referent

    def reuse(self, entry: MemoEntry) -> Referent | None:
        """Return an answer that was kept, as if it had been found just now."""
        level = len(self.active_queries)
        if level and level + entry.depth > _MAX_DEPTH:
            raise _DepthExceededError
        self._depth = max(self._depth, entry.depth)
        self._program.add_dependencies(entry.dependencies)
        return entry.referent

    def _compute_entry(
        self, table: MemoTable, key: Hashable, compute: Callable[[], Referent | None], level: int
    ) -> MemoEntry:
        outer_dependencies = self._program.begin_tracking()
        dependencies = self._program.dependencies
        try:
            return MemoEntry(compute(), dependencies, self._depth + 1)
        except _CycleError as error:
            if error.level < level:
                error.cycle_members.append((table, key))
                raise
            empty_entry = MemoEntry(None, dependencies, self._depth + 1)
            for member_table, member_key in error.cycle_members:  # they depend on all that this one does
                member_table[member_key] = empty_entry
            return empty_entry
        except _DepthExceededError:
            if level:
                raise
            return MemoEntry(None, dependencies, _MAX_DEPTH + 1)
        finally:
            self._program.end_tracking(outer_dependencies)
