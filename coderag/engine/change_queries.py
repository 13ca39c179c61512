"""Review of a change: declarations, dependents, tests, documents, history."""

from coderag.engine.history_queries import HistoryQueries
from coderag.engine.open_index import OpenIndex
from coderag.engine.query_input import check_range
from coderag.errors import InvalidQueryError
from coderag.schema.change_review import DEFAULT_MAX_TESTS, ChangeReview, ChangeTarget
from coderag.schema.text_matches import MAX_COUNTED_MATCHES

_MAX_DEPTH = 5


class ChangeQueries(HistoryQueries):
    """Base class of the facade: what a change touches."""

    _open_index: OpenIndex

    def review_change(
        self,
        revisions: str = "",
        *,
        staged: bool = False,
        patch: bytes | None = None,
        max_tests: int = DEFAULT_MAX_TESTS,
        depth: int = 1,
    ) -> ChangeReview:
        """Review a change: what changed, what depends on it, which tests exercise it, and its history.

        By default the change is that of the working tree against HEAD. The code graph is that of the files on disk:
        what a review of older revisions no longer finds there is marked.

        Args:
            revisions: ``A..B``; ``A...B`` for what B changed since it left A; or ``A`` for the working tree against it.
            staged: Whether to compare the staging area with HEAD.
            patch: A unified diff to apply to HEAD in memory.
            max_tests: Maximum number of listed tests.
            depth: Number of calls to follow from a changed declaration.

        Raises:
            InvalidQueryError: The folder is in no git repository, a revision is unknown, a patch does not apply, or more
                than one change is given.
            IndexNotFoundError: Nothing is indexed yet.
        """
        from coderag.engine.changes.change_review import build_review  # noqa: PLC0415  # tree-sitter

        if bool(revisions) + staged + (patch is not None) > 1:
            raise InvalidQueryError(
                "more than one change is given", hint="Give revisions, a patch, or the staged changes."
            )
        graph, snapshot = self._open_index.open_linked_index()
        return build_review(
            self.root,
            graph,
            snapshot,
            ChangeTarget(revisions, staged, patch),
            self.history,
            max_tests=check_range("max_tests", max_tests, 0, MAX_COUNTED_MATCHES),
            depth=check_range("depth", depth, 1, _MAX_DEPTH),
        )
