"""Lines of mirrored items as snippets, beside those of indexed files."""

from collections.abc import Sequence

from coderag.retrieval.items.item_finder import ItemFinder
from coderag.schema.query import FoundItem
from coderag.stores.corpus import Corpus
from coderag.stores.snippets import Snippet, find_snippets_at_lines


def to_item_snippet(item: FoundItem, start_line: int, end_line: int, text: str) -> Snippet:
    """Return lines of an item as a snippet."""
    return Snippet(
        chunk_id="",
        path=item["path"],
        start_line=start_line,
        end_line=end_line,
        name=item["title"],
        kind=item["kind"],
        language="markdown",
        signature="",
        docstring="",
        summary="",
        text=text,
        score=item["score"],
    )


def find_snippets(
    corpus: Corpus, items: ItemFinder | None, path: str, start_line: int, end_line: int
) -> Sequence[Snippet]:
    """Find the declarations in some lines of a file, or the lines of a mirrored item.

    Raises:
        InvalidQueryError: The file is neither in the index nor of an item, or has no such lines.
    """
    item = read_item(corpus, items, path, start_line, end_line)
    if item is None:
        return find_snippets_at_lines(corpus, path, start_line, end_line)
    return [to_item_snippet(item, item["start_line"], item["end_line"], item["text"])]


def read_item(corpus: Corpus, items: ItemFinder | None, path: str, start_line: int, end_line: int) -> FoundItem | None:
    """Read lines of a mirrored item; None if the path is of an indexed file, or of no item."""
    return None if items is None or path in corpus.paths else items.read(path, start_line, end_line)
