"""FileOutline of a file: its declarations with lines and signatures, named as the index names them, without chunks."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from coderag.ingestion.files.file_text import MAX_FILE_BYTES
from coderag.ingestion.files.skip_reasons import MINIFIED_REASON, POINTER_REASON, find_skip_reason
from coderag.ingestion.parsing.chunking import MAX_DATA_TREE_BYTES, PARSE_TIMEOUT_S, parse_file
from coderag.ingestion.parsing.declaration_layout import DeclarationLayout
from coderag.ingestion.parsing.declaration_records import DATA, Declaration
from coderag.ingestion.parsing.declarations import Syntax, read_syntax
from coderag.ingestion.parsing.embedded import lay_out_embedded
from coderag.ingestion.parsing.languages import LANGUAGES, PLAIN_TEXT, Language, detect_language
from coderag.ingestion.parsing.parsed_file import derive_module_name
from coderag.ingestion.parsing.sections import DOCUMENT_LANGUAGES, list_section_symbols
from coderag.ingestion.parsing.trees import SyntaxUnusableError, find_line_starts
from coderag.schema.chunks import SymbolRecord
from coderag.system.gc_tuning import pause_gc
from coderag.text.encodings import decode
from coderag.text.readable_text import to_readable_text

_MAX_SIGNATURE_BYTES = 2_000
_MODULE = -1


@dataclass(frozen=True, slots=True)
class OutlinedDeclaration:
    """A declaration.

    Attributes:
        qualified_names: Its names; several for ``var a, b``.
        first_line: First line with the decorators, attributes and comments above it.
        start_line, end_line: Lines as the index has them (1-based, inclusive).
        signature: Header as one line: decorators, parameters, types; without comments, body and value.
    """

    qualified_names: tuple[str, ...]
    kind: str
    first_line: int
    start_line: int
    end_line: int
    signature: str


@dataclass(frozen=True, slots=True)
class FileOutline:
    """Declarations of a file, outer before inner.

    Attributes:
        module_name: Qualified name of code outside any declaration.
        lines: Number of lines.
        note: Reason why there are no declarations; empty otherwise.
    """

    module_name: str
    lines: int
    entries: Sequence[OutlinedDeclaration] = field(default_factory=tuple)
    note: str = ""

    def find_innermost(self, ranges: Iterable[tuple[int, int]]) -> tuple[set[int], bool]:
        """Find the innermost declarations around lines.

        A declaration that starts or ends on a line that it shares with another one counts for that line, too.

        Args:
            ranges: First and last line of each range (1-based, inclusive).

        Returns:
            Positions in `entries`, and whether any line is outside all declarations.
        """
        changed = np.zeros(self.lines + 2, bool)
        for first, last in ranges:
            changed[max(1, first) : max(0, last) + 1] = True
        if not changed.any():
            return set(), False
        owners = np.full(self.lines + 2, _MODULE, np.int32)
        for position, entry in enumerate(self.entries):
            owners[entry.first_line : entry.end_line + 1] = position
        positions = set(np.unique(owners[changed]).tolist())
        for position, entry in enumerate(self.entries):
            owner = int(owners[min(entry.end_line, self.lines)])
            ends_inside = (
                owner != _MODULE
                and self.entries[owner].start_line > entry.start_line
                and (self.entries[owner].end_line <= entry.end_line)
            )
            if changed[min(entry.start_line, self.lines)] or (
                changed[min(entry.end_line, self.lines)] and not ends_inside
            ):
                positions.add(position)
        is_outside = _MODULE in positions
        positions.discard(_MODULE)
        return positions, is_outside


def read_outline(path: str, data: bytes) -> FileOutline | None:
    """Read the outline of a file; None for binary data. Never fails: a file that does not parse has no declarations.

    Args:
        path: Relative to the repository's root, with ``/``; selects the language.
        data: Its bytes in any encoding.
    """
    module_name = derive_module_name(path)[1]
    decoded = decode(data)
    if decoded is None:
        return None
    text = to_readable_text(path, decoded.text)
    lines = text.count("\n") + (not text.endswith("\n")) if text else 0
    if len(data) > MAX_FILE_BYTES:
        return FileOutline(module_name, lines, note=f"larger than {MAX_FILE_BYTES:,} bytes")
    if (reason := find_skip_reason(path, text)) in (MINIFIED_REASON, POINTER_REASON):
        return FileOutline(module_name, lines, note=reason)
    with pause_gc():
        entries, note = _read_entries(path, text)
    return FileOutline(module_name, lines, entries, note)


def _read_entries(path: str, text: str) -> tuple[list[OutlinedDeclaration], str]:
    name = detect_language(path, text)
    language = LANGUAGES.get(name) or LANGUAGES[PLAIN_TEXT]
    data = text.encode("utf-8", "surrogatepass")
    starts = find_line_starts(data)
    if language.scripts or language.cells:
        layout = lay_out_embedded(data, starts, language, max_tokens=800, min_tokens=0, timeout_s=PARSE_TIMEOUT_S)
        entries = [entry for syntax in layout.syntaxes.values() for entry in _list_entries(syntax, data, starts)]
        if layout.syntaxes or layout.parts:
            symbols = [symbol for part in layout.parts for symbol in getattr(part, "symbols", ())]
            entries += map(_convert_symbol, symbols)
            return sorted(entries, key=lambda entry: (entry.start_line, -entry.end_line)), layout.note
    if language.query and not (language.data and len(data) > MAX_DATA_TREE_BYTES):
        try:
            syntax = read_syntax(data, language, timeout_s=PARSE_TIMEOUT_S)
        except SyntaxUnusableError as error:
            note = str(error)
        else:
            entries = _list_entries(syntax, data, starts)
            syntax.unlink_declarations()
            return entries, ""
    else:
        note = ""
    if name in DOCUMENT_LANGUAGES:
        return [_convert_symbol(symbol) for symbol in list_section_symbols(data, starts, name)], ""
    return _list_block_entries(path, text, language, note), note


def _list_block_entries(path: str, text: str, language: Language, note: str) -> list[OutlinedDeclaration]:
    """List the symbols of a file that has no query or does not parse, by the patterns that the index uses."""
    if language.name == PLAIN_TEXT or language.data:
        return []
    parsed = parse_file(path, text, language.name, "source", failure=note)
    symbols = [symbol for chunk in parsed.chunks for symbol in chunk.metadata["symbols"]]
    return [_convert_symbol(symbol) for symbol in sorted(symbols, key=lambda s: (s["start_line"], -s["end_line"]))]


def _convert_symbol(symbol: SymbolRecord) -> OutlinedDeclaration:
    lines = symbol["start_line"], symbol["start_line"], max(symbol["start_line"], symbol["end_line"])
    return OutlinedDeclaration((symbol["qualified_name"],), symbol["kind"], *lines, symbol["name"])


def _list_entries(syntax: Syntax, data: bytes, starts: Sequence[int]) -> list[OutlinedDeclaration]:
    layout = DeclarationLayout(data, starts, syntax, max_tokens=0, min_tokens=0)
    comment_starts = [start for start, _ in syntax.comments]
    entries = []
    for declaration in syntax.declarations:
        start_line = layout.find_line(declaration.start)
        end_line = max(start_line, layout.find_line(max(declaration.start, declaration.end - 1)))
        parent = declaration.parent
        lowest = layout.find_line(parent.start) + 1 if parent is not None else 0
        first_line = min(start_line, layout.find_leading_line(declaration, min(lowest, start_line)))
        entries.append(
            OutlinedDeclaration(
                tuple(_list_qualified_names(declaration)),
                declaration.kind,
                first_line + 1,
                start_line + 1,
                end_line + 1,
                _read_signature(declaration, syntax, data, comment_starts, starts[first_line]),
            )
        )
    return entries


def _list_qualified_names(declaration: Declaration) -> list[str]:
    qualified_name = declaration.qualified_name
    scope = qualified_name[: len(qualified_name) - len(declaration.name)]
    return [scope + name for name in declaration.names]


def _read_signature(
    declaration: Declaration, syntax: Syntax, data: bytes, comment_starts: Sequence[int], first: int
) -> str:
    """Return the header of a declaration as one line, from its first attribute to its body or value."""
    start = min(first, declaration.outer_start, declaration.start)
    end = declaration.end
    if declaration.body is not None:
        end = max(declaration.start, declaration.body[0])
    elif declaration.kind == "key":
        return declaration.name
    text = data[start : min(end, start + _MAX_SIGNATURE_BYTES)]
    low, high = bisect_left(comment_starts, start), bisect_left(comment_starts, end)
    for comment_start, comment_end in reversed(syntax.comments[low:high]):
        text = text[: comment_start - start] + text[comment_end - start :]
    line = " ".join(text.decode("utf-8", "ignore").split())
    if declaration.body is None and declaration.kind in DATA:
        line = _cut_value(line)
    return line


def _cut_value(text: str) -> str:
    """Return a declaration of a variable without its value."""
    depth = 0
    for position, char in enumerate(text):
        if char in "([{<":
            depth += 1
        elif char in ")]}>":
            depth = max(0, depth - 1)
        elif char == "=" and depth == 0:
            return text[:position].rstrip(" :")
    return text
