"""Values that code uses: constants, settings and fields with their initial value, found by name."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from coderag.schema.vocabulary import VALUE_KINDS
from coderag.stores.corpus import Corpus
from coderag.stores.snippets import Snippet
from coderag.stores.symbol_table import SymbolMatch

_IDENTIFIER: Final = re.compile(r"(?<![\w$])[A-Za-z_$][\w$]{2,}")
_DISTINCTIVE: Final = re.compile(r"_|[a-z][A-Z]|^[A-Z][A-Z\d]+$")
"""Names that are no plain words; only they mean a value of another file."""

_LITERAL_VALUE: Final = re.compile(
    r"[^=(){};]*(?<![=!<>])=\s*(?:new\s+)?(?:[\"'`/.+-]|[\[{(](?!\s*[\]})])|\d|[A-Z][A-Z\d_]+\b|(?i:true|false|nil|none|null|iota)\b)"
)
"""Rest of a declaration after its name: a type perhaps, and a literal value; calls and imports say little."""

_MAX_SNIPPETS = 3  # values of later results are rarely what decides
_MAX_VALUES = 5
_MAX_DECLARATIONS = 3  # a name of more declarations says nothing about which of them is used


def find_used_values(corpus: Corpus, snippets: Sequence[Snippet]) -> list[Snippet]:
    """Find the values that the first snippets use but do not show, each with the line that gives its initial value.

    A name means the declaration in the same file, or else the only one.
    """
    values: dict[tuple[str, int], Snippet] = {}
    for snippet in snippets[:_MAX_SNIPPETS]:
        for value in _iter_values(corpus, snippet):
            is_visible = any(
                value.path == other.path and other.start_line <= value.start_line <= other.end_line
                for other in snippets
            )
            if not is_visible:
                values.setdefault((value.path, value.start_line), value)
    return list(values.values())[:_MAX_VALUES]


def _iter_values(corpus: Corpus, snippet: Snippet) -> Iterator[Snippet]:
    for name in dict.fromkeys(_IDENTIFIER.findall(snippet.text)):
        match = _find_value(corpus, snippet, name) if name in corpus.symbols else None
        if match is None:
            continue
        position = match.start_line - int(corpus.start_lines[match.row])
        lines = corpus.read_texts([match.row])[0].split("\n")
        text = lines[position] if 0 <= position < len(lines) else ""
        if _LITERAL_VALUE.match(text.partition(name)[2]) or match.kind == "key":
            yield Snippet(
                chunk_id=corpus.get_value("id", match.row),
                path=corpus.get_value("path", match.row),
                start_line=match.start_line,
                end_line=match.start_line,
                name=match.qualified_name,
                kind=match.kind,
                language=corpus.get_value("language", match.row),
                signature=text.strip(),
                docstring="",
                summary="",
                text=text,
                score=1.0,
                relation="value",
                related_to=snippet.name,
                origin=snippet.chunk_id,
            )


def _find_value(corpus: Corpus, snippet: Snippet, name: str) -> SymbolMatch | None:
    """Return the declaration of a value that a name in a snippet means; None if it is unclear."""
    matches = [match for match in corpus.symbols.find(name) if match.name == name]
    if any(match.kind not in VALUE_KINDS for match in matches):
        return None
    in_file = [match for match in matches if corpus.get_value("path", match.row) == snippet.path]
    if in_file:
        return in_file[0] if len(in_file) <= _MAX_DECLARATIONS else None
    is_clear = len(matches) == 1 and _DISTINCTIVE.search(name)
    return matches[0] if is_clear and _is_of_same_part(corpus, snippet, matches[0].row) else None


def _is_of_same_part(corpus: Corpus, snippet: Snippet, row: int) -> bool:
    """Return whether a chunk has the language and the role of a snippet."""
    roles = (corpus.get_value("role", other) for other in (row, corpus.rows_by_id[snippet.chunk_id]))
    return corpus.get_value("language", row) == snippet.language and len(set(roles)) == 1
