"""Queries for lines that mention a name, for declarations without a known use, and for gaps between declarations."""

from coderag.engine.open_index import OpenIndex
from coderag.engine.query_input import check_range
from coderag.schema.mentions import (
    DEFAULT_MAX_MENTIONS,
    DEFAULT_MAX_UNUSED,
    MentionQuery,
    Mentions,
    UnusedReport,
)
from coderag.schema.path_gaps import PathGap
from coderag.schema.text_matches import MAX_COUNTED_MATCHES


class MentionQueries:
    """Base class of the facade: queries over the code graph and the text of the index."""

    _open_index: OpenIndex

    def mentions(self, name: str, query: MentionQuery | None = None, *, limit: int = DEFAULT_MAX_MENTIONS) -> Mentions:
        """Return the lines that mention a name outside its declarations, and why an edge may be missing.

        Args:
            name: Name of a declaration or file, as for `graph`; or any other word.
            query: Method of `graph` whose results the lines may complete; None for all lines.
            limit: Maximum number of returned lines; all are counted.

        Raises:
            InvalidQueryError: The name is empty.
            IndexNotFoundError: Nothing is indexed yet.
        """
        from coderag.retrieval.mentions.mention_search import MentionSearch  # noqa: PLC0415  # tree-sitter

        search = MentionSearch(*self._open_index.open_linked_index())
        return search.find(name, query, limit=check_range("limit", limit, 0, MAX_COUNTED_MATCHES))

    def unused(self, path: str = "", *, limit: int = DEFAULT_MAX_UNUSED) -> UnusedReport:
        """Return functions, methods and types of source files that nothing is known to use.

        Args:
            path: File or folder to examine; empty for the whole repository.
            limit: Maximum number of returned declarations; all are counted.

        Raises:
            InvalidQueryError: No indexed file is at the path.
            IndexNotFoundError: Nothing is indexed yet.
        """
        from coderag.retrieval.mentions.unused import UnusedSearch  # noqa: PLC0415  # only this method needs it

        search = UnusedSearch(*self._open_index.open_linked_index())
        return search.find(path, limit=check_range("limit", limit, 1, MAX_COUNTED_MATCHES))

    def find_path_gap(self, start: str, end: str) -> PathGap:
        """Return what is known on both sides of two declarations that no known calls connect.

        Args:
            start: Name of the declaration where the path should begin, as for `graph`.
            end: Name of the declaration where it should end.

        Raises:
            UnknownNameError: No declaration has one of the names.
            AmbiguousNameError: Several declarations have one of the names.
            IndexNotFoundError: Nothing is indexed yet.
        """
        from coderag.retrieval.path_gaps import PathGapSearch  # noqa: PLC0415  # only this method needs it

        return PathGapSearch(*self._open_index.open_linked_index()).find(start, end)
