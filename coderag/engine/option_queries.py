"""Query for the options of searches."""

from typing import TYPE_CHECKING

from coderag.config.settings import Settings
from coderag.engine.mention_queries import MentionQueries

if TYPE_CHECKING:
    from coderag.engine.search_options import SearchOptions


class OptionQueries(MentionQueries):
    """Base class of the facade: options of searches."""

    settings: Settings

    def list_options(self) -> "SearchOptions":
        """List what searches can be filtered and ranked by.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
            IndexModelError: The index was built with another embedding model.
        """
        from coderag.engine.search_options import list_search_options  # noqa: PLC0415  # only this method needs it

        context = self._open_index.open_context(self.settings.search)
        has_reranker = context.reranker is not None
        return list_search_options(context.corpus, self.settings.search, has_reranker=has_reranker)
