"""Files with embedded languages: markup with scripts and styles, notebooks.

The code of each language is parsed in place, with the rest of the file masked by spaces, and laid out as in a file of its
own. The text around it becomes blocks of markup, or sections of a notebook, with their own symbols and calls. Every chunk
has the language of the file, because reports and filters expect one language for each file.

Blank lines are in no part: they belong to the chunk above and do not count towards its size. Notebook outputs leave
thousands of them.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from coderag.ingestion.parsing.cells import find_cell_headings, find_cells
from coderag.ingestion.parsing.declaration_records import CALLABLE, CONTAINERS
from coderag.ingestion.parsing.declarations import Syntax, read_syntax
from coderag.ingestion.parsing.languages import Language
from coderag.ingestion.parsing.markup import ONLY_CLOSING_TAGS, find_tag_lines, find_used_files, find_used_names
from coderag.ingestion.parsing.regions import Region, find_elements, mask_outside
from coderag.ingestion.parsing.sections import build_sections, lay_out_section_range
from coderag.ingestion.parsing.spans import MAX_CALLS, Span
from coderag.ingestion.parsing.splitting import split_lines
from coderag.ingestion.parsing.trees import SyntaxUnusableError
from coderag.text.token_counts import estimate_tokens

_MAX_GAP_LINES: Final = 30
_MAX_MARKUP_TOKENS: Final = 700


@dataclass(slots=True)
class EmbeddedLayout:
    """Layout of a file with embedded languages.

    Attributes:
        parts: Regions and spans in order. A region is still to be split at the declarations of its language.
        syntaxes: Syntax by language; offsets are in the whole file.
        note: Problem of the file; empty if there is none.
    """

    parts: list[Region | Span] = field(default_factory=list)
    syntaxes: dict[str, Syntax] = field(default_factory=dict)
    note: str = ""


def lay_out_embedded(
    data: bytes,
    starts: Sequence[int],
    language: Language,
    *,
    max_tokens: int,
    min_tokens: int,
    timeout_s: float | None,
) -> EmbeddedLayout:
    """Lay out a file with embedded languages. The layout of a notebook without cells is empty.

    Args:
        language: A language with scripts or cells.
        timeout_s: Time limit of each parser, see `trees.parse`.
    """
    regions = (find_cells if language.cells else find_elements)(data, starts, language)
    layout = EmbeddedLayout()
    layout.syntaxes, layout.note = _read_syntaxes(data, starts, regions, timeout_s)
    is_small = len(data) < min_tokens or estimate_tokens(data.strip()) < min_tokens
    separate_regions = (
        []
        if is_small
        else [candidate for candidate in regions if _is_separate(candidate, data, starts, language, layout, min_tokens)]
    )
    if language.cells:
        sections = build_sections(list(find_cell_headings(data, starts, regions)), len(starts) - 1)
        for part in _group_cells(regions, separate_regions):
            if isinstance(part, Region):
                layout.parts.append(part)
            else:
                layout.parts += lay_out_section_range(
                    data, starts, sections, part, max_tokens=max_tokens, min_tokens=min_tokens
                )
        return layout
    line = 0
    for region in separate_regions:
        layout.parts += [*_lay_out_markup(data, starts, line, region.outer_start, max_tokens), region]
        line = region.outer_end
    layout.parts += _lay_out_markup(data, starts, line, len(starts) - 1, max_tokens)
    return layout


def _read_syntaxes(
    data: bytes, starts: Sequence[int], regions: Sequence[Region], timeout_s: float | None
) -> tuple[dict[str, Syntax], str]:
    """Return the syntax of each language that has a query, and a note on errors in the code."""
    syntaxes: dict[str, Syntax] = {}
    notes = []
    languages = {region.language.name: region.language for region in regions if region.language is not None}
    for name, language in languages.items():
        if not language.query:
            continue
        language_regions = [region for region in regions if region.language is language]
        try:
            syntax = read_syntax(mask_outside(data, language_regions), language, timeout_s=timeout_s)
        except SyntaxUnusableError as error:
            notes.append(f"{name}: {error}; cut by lines")
            continue
        # Scripts are often indented as a unit: then indentation does not show where a declaration is nested.
        syntax.has_callbacks = not any(
            data[starts[embedded.start] : starts[embedded.start] + 1].isspace() for embedded in language_regions
        )
        syntaxes[name] = syntax
        notes.append(syntax.note)
    return syntaxes, "; ".join(filter(None, notes))


def _is_separate(
    region: Region,
    data: bytes,
    starts: Sequence[int],
    language: Language,
    layout: EmbeddedLayout,
    min_tokens: int,
) -> bool:
    """Return whether a region becomes chunks of its own, rather than part of the text around it.

    A cell stays with the prose around it unless it is large and declares functions or types. A script stays with its markup
    only if it is small and declares neither.
    """
    syntax = layout.syntaxes.get(region.language.name) if region.language is not None else None
    if syntax is None:
        return False
    end = region.offset + len(region.code)
    low = bisect_left(syntax.roots, region.offset, key=lambda declaration: declaration.start)
    high = bisect_left(syntax.roots, end, key=lambda declaration: declaration.start)
    kinds = {declaration.kind for declaration in syntax.roots[low:high]}
    declares_much = not kinds.isdisjoint(CALLABLE | CONTAINERS)
    is_large = estimate_tokens(data[starts[region.outer_start] : starts[region.outer_end]]) >= min_tokens
    return is_large and declares_much if language.cells else is_large or declares_much


def _group_cells(cells: Sequence[Region], separate_cells: Sequence[Region]) -> Iterator[Region | tuple[int, int]]:
    """Yield separate cells, and line ranges ``[first, last)`` of the other cells between wide gaps."""
    run: tuple[int, int] | None = None
    separate_ids = {id(cell) for cell in separate_cells}
    for cell in cells:
        is_separate = id(cell) in separate_ids
        if run is not None and (is_separate or cell.outer_start - run[1] > _MAX_GAP_LINES):
            yield run
            run = None
        if is_separate:
            yield cell
        else:
            run = (run[0] if run is not None else cell.outer_start, cell.outer_end)
    if run is not None:
        yield run


def _lay_out_markup(data: bytes, starts: Sequence[int], first: int, last: int, max_tokens: int) -> Iterator[Span]:
    """Yield the blocks of a line range without blank lines at both ends; nothing if there are only closing tags."""
    while first < last and not data[starts[first] : starts[first + 1]].strip():
        first += 1
    while first < last and not data[starts[last - 1] : starts[last]].strip():
        last -= 1
    if ONLY_CLOSING_TAGS(data, starts[first], starts[last]):
        return
    limit = min(max_tokens, _MAX_MARKUP_TOKENS)
    cuts = find_tag_lines(data, starts, first, last, limit)
    for start, end in split_lines(data, starts, first, last, cuts=cuts, max_tokens=limit):
        text = data[start:end].decode("utf-8", "replace")
        yield Span(start, end, calls=find_used_names(text)[:MAX_CALLS], imports=find_used_files(text))
