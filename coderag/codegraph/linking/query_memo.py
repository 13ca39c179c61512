"""Memoised, cycle-safe evaluation of resolution queries.

A query evaluates other queries. The result of each is independent of the order in which they are evaluated. Therefore every
query on a cycle has no result, and neither has a query that needs a chain of queries deeper than `_MAX_DEPTH`.
"""

from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from coderag.codegraph.linking.program import FrozenDependencies, Program
from coderag.codegraph.linking.referents import Referent

_MAX_DEPTH: Final = 40
"""Maximum number of nested queries."""


class MemoEntry(NamedTuple):
    """A memoised result.

    Attributes:
        referent: The result; None if there is none.
        dependencies: Everything that the result depends on.
        depth: Length of the longest chain of nested queries below it, itself included.
    """

    referent: Referent | None
    dependencies: FrozenDependencies
    depth: int


MemoTable = dict[Hashable, MemoEntry]


class _CycleError(Exception):
    """A query depends on itself.

    Attributes:
        level: Number of active queries when the repeated query started.
        cycle_members: Memo tables and keys of the queries between the two occurrences.
    """

    def __init__(self, level: int) -> None:
        self.level = level
        self.cycle_members: list[tuple[MemoTable, Hashable]] = []


class _DepthExceededError(Exception):
    """The outermost active query nests too deeply."""


class QueryMemo:
    """Evaluates queries once and records their dependencies.

    Args:
        program: Records the dependencies.

    Attributes:
        active_queries: Queries under evaluation, each with the number of queries that were active before it.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self.active_queries: dict[Hashable, int] = {}
        self._depth = 0  # of the queries that the innermost active one has evaluated

    def evaluate(self, table: MemoTable, key: Hashable, compute: Callable[[], Referent | None]) -> Referent | None:
        """Evaluate a query that is not memoised yet, and memoise its result.

        Args:
            table: Receives the result.
            key: Identifies the query.
            compute: Computes the result, possibly through other queries.
        """
        level = len(self.active_queries)
        if (active_level := self.active_queries.get(key)) is not None:
            if active_level == level - 1:  # direct recursion adds no information
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
        """Return a memoised result and record its dependencies, as if it had just been computed."""
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
            return MemoEntry(compute(), dependencies.freeze(), self._depth + 1)
        except _CycleError as error:
            if error.level < level:
                error.cycle_members.append((table, key))
                raise
            empty_entry = MemoEntry(None, dependencies.freeze(), self._depth + 1)
            for member_table, member_key in error.cycle_members:  # their dependencies are those of this query
                member_table[member_key] = empty_entry
            return empty_entry
        except _DepthExceededError:
            if level:
                raise
            return MemoEntry(None, dependencies.freeze(), _MAX_DEPTH + 1)
        finally:
            self._program.end_tracking(outer_dependencies)
