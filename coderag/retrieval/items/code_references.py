"""Declarations and files of a repository that the text of an item names: textual references, and nothing more."""

from collections.abc import Iterator
from typing import Final

from coderag.question.entities import find_entities
from coderag.schema.item_search import ItemReference
from coderag.stores.corpus import Corpus

_NAME_KINDS: Final = frozenset({"identifier", "qualified_name"})
_PATH_KINDS: Final = frozenset({"path", "location"})
_MAX_DECLARATIONS: Final = 3  # a name with more of them, such as ``run``, says nothing of which is meant
_MAX_LINE_CHARS: Final = 2_000
_EXACT_QUALITY: Final = 1.0
_MIN_NAME_CHARS: Final = 3


def find_references(text: str, corpus: Corpus, limit: int) -> list[ItemReference]:
    """Find the declarations and files that a text names exactly, each once, in the order of the text.

    A plain word is no name: it stands in backticks, is qualified, or has the form of an identifier of several words.

    Args:
        text: Text of an item.
        corpus: The open index of the repository.
        limit: Maximum number of references.
    """
    references: dict[tuple[str, int, str], ItemReference] = {}
    for reference in _iter_references(text, corpus):
        references.setdefault((reference.path, reference.line, reference.name), reference)
        if len(references) == limit:
            break
    return list(references.values())


def _iter_references(text: str, corpus: Corpus) -> Iterator[ItemReference]:
    files = _FileNames(corpus.paths)
    seen: set[tuple[str, str]] = set()
    for number, line in enumerate(text.split("\n"), 1):
        for entity in find_entities(line[:_MAX_LINE_CHARS]):
            kind, name = entity["kind"], entity["text"]
            if (kind, name) in seen:
                continue
            seen.add((kind, name))
            if kind in _PATH_KINDS:
                yield from _find_file(name, number, files)
            elif kind in _NAME_KINDS:
                yield from _find_declarations(name, number, corpus)


def _find_file(text: str, item_line: int, files: "_FileNames") -> Iterator[ItemReference]:
    path_text, _, line = text.partition(":")
    path = files.find(path_text.removeprefix("./"))
    if path:
        yield ItemReference(text, path, int(line) if line.isdecimal() else 1, "", "file", item_line)


def _find_declarations(name: str, item_line: int, corpus: Corpus) -> Iterator[ItemReference]:
    if len(name) < _MIN_NAME_CHARS or "/" in name:
        return
    matches = [
        match for match in corpus.symbols.find(name) if match.quality == _EXACT_QUALITY and match.kind != "section"
    ]
    if len(matches) <= _MAX_DECLARATIONS:
        for match in matches:
            path = corpus.paths[corpus.chunk_files[match.row]]
            yield ItemReference(name, path, match.start_line, match.qualified_name, match.kind, item_line)


class _FileNames:
    """Paths by their ends, to resolve one that is written from an inner folder on."""

    def __init__(self, paths: list[str]) -> None:
        self._paths = frozenset(paths)
        self._by_name: dict[str, list[str]] = {}
        for path in paths:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def find(self, text: str) -> str:
        """Return the path, or the only one that ends with it; empty if there is none or several."""
        if text in self._paths:
            return text
        candidates = self._by_name.get(text.rpartition("/")[2], ())
        matches = [path for path in candidates if path.endswith(f"/{text}")]
        return matches[0] if len(matches) == 1 else ""
