"""Guard against sources whose pages never end: loops of pages, repeated contents, endless empty pages."""

from typing import Final

from coderag.sources.protocol import Page
from coderag.sources.record_rows import dump_checkpoint

_MAX_REPEATED_PAGES: Final = 3
_MAX_EMPTY_PAGES: Final = 1_000


class PageGuard:
    """Watches the pages of one run."""

    def __init__(self) -> None:
        self.pages = 0
        self.items = 0
        self._checkpoints: dict[str, int] = {}
        self._seen: set[tuple[str, str]] = set()
        self._repeated_pages = 0
        self._empty_pages = 0

    def find_problem(self, page: Page) -> str:
        """Count a page; return why the run must end before it, or an empty text.

        A page that only repeats revisions is harmless once, since windows overlap.
        """
        self.pages += 1
        revisions = {(item.id, item.revision) for item in page.items} | {(item_id, "") for item_id in page.deleted}
        revisions |= {(failure.id, "\0") for failure in page.failures}
        is_new = not revisions <= self._seen
        self._seen |= revisions
        self.items += len({item.id for item in page.items})
        checkpoint = dump_checkpoint(page.checkpoint)
        earlier = self._checkpoints.setdefault(checkpoint, self.pages)
        self._empty_pages = 0 if revisions else self._empty_pages + 1
        self._repeated_pages = 0 if is_new or not revisions else self._repeated_pages + 1
        if earlier != self.pages and not is_new:
            return (
                f"page {self.pages} repeats the position of page {earlier} and has nothing new: the pages run in a loop"
            )
        if self._repeated_pages >= _MAX_REPEATED_PAGES:
            return f"the last {_MAX_REPEATED_PAGES} pages have only items that came before: the pages run in a loop"
        if self._empty_pages > _MAX_EMPTY_PAGES:
            return f"{_MAX_EMPTY_PAGES:,} pages in a row are empty"
        return ""
