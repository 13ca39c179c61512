"""Printing of text matches: grouped and coloured in a terminal, one line each in a pipe."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from coderag.interfaces.cli.output.streams import Output, escape_controls, escape_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from coderag.schema.text_matches import TextMatch, TextMatches

_MAX_LINE_CHARS = 240
"""Maximum characters shown around a match; minified code has lines of a megabyte."""

_LEAD_CHARS = 60
"""Characters shown before a match far to the right."""

_ELLIPSIS = "..."


class _MatchLine(NamedTuple):
    """A displayed line: half-open character ranges of its matches, and the match that begins in it."""

    number: int
    text: str
    ranges: list[tuple[int, int]]
    match: "TextMatch | None"


def print_matches(result: "TextMatches", root: Path, output: Output) -> None:
    """Print matches with context lines, grouped by file."""
    files = [list(matches) for _, matches in groupby(result.matches, key=lambda match: match.path)]
    if output.is_terminal:
        console = output.make_console()
        for index, matches in enumerate(files):
            if index:
                console.print()
            _print_file(console, matches, root, result.files[str(matches[0].path)])
    elif files:
        output.write("\n".join(line for matches in files for line in _format_lines(matches)))


def print_counts(result: "TextMatches", output: Output, *, with_numbers: bool) -> None:
    """Print the files with matches, optionally with the number of matches in each."""
    if result.files:
        names = (escape_line(path) + (f":{number}" if with_numbers else "") for path, number in result.files.items())
        output.write("\n".join(names))


def note_totals(result: "TextMatches", output: Output, *, filtered: bool, all_shown: bool) -> None:
    """Note the number of matches, and caveats, on standard error."""
    if not result.total:
        output.note("nothing found" + (" with these filters" if filtered else ""))
    else:
        total = f"{'' if result.complete else 'at least '}{_format_count(result.total, 'match', 'matches')}"
        is_cut = not all_shown and len(result.matches) < result.total
        limit_note = f"; the first {len(result.matches):,} are shown (-n for more)" if is_cut else ""
        output.note(f"{total} in {_format_count(len(result.files), 'file')}{limit_note}")
    if result.whitespace_ignored:
        output.note("no exact match: these lines differ in white space")
    if result.stale:
        changed = _format_count(len(result.stale), "file has", "files have")
        output.note(f"{changed} changed since the last 'coderag index': their matches have no declaration")
    if result.unread:
        path, reason = result.unread[0]
        output.note(f"{_format_count(len(result.unread), 'indexed file')} could not be read, such as {path}: {reason}")


def _format_count(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def _collect_lines(matches: Sequence["TextMatch"]) -> list[_MatchLine]:
    """Return the displayed lines of a file, without duplicates."""
    texts: dict[int, str] = {}
    ranges: dict[int, list[tuple[int, int]]] = defaultdict(list)
    matches_by_line: dict[int, TextMatch] = {}
    for match in matches:
        match_lines = match.text.split("\n")
        first = match.start_line - len(match.before)
        texts.update(enumerate([*match.before, *match_lines, *match.after], first))
        matches_by_line.setdefault(match.start_line, match)
        for number, text in enumerate(match_lines, match.start_line):
            start = match.start_column - 1 if number == match.start_line else 0
            end = match.end_column - 1 if number == match.end_line else len(text)
            ranges[number].append((start, end))
    return [_MatchLine(number, texts[number], ranges[number], matches_by_line.get(number)) for number in sorted(texts)]


def _cut_line(line: _MatchLine, width: int) -> tuple[str, list[tuple[int, int]]]:
    """Cut a line to `width` characters around its first match; return it with the shifted match ranges."""
    if len(line.text) <= width:
        return line.text, line.ranges
    first = line.ranges[0][0] if line.ranges else 0
    before_match = min(_LEAD_CHARS, width // 2)
    start = 0 if first < width - before_match else first - before_match
    prefix, suffix = _ELLIPSIS if start else "", _ELLIPSIS if start + width < len(line.text) else ""
    shift = len(prefix) - start
    text = prefix + line.text[start : start + width]
    return text + suffix, [
        (low + shift, min(high + shift, len(text))) for low, high in line.ranges if low < start + width
    ]


def _group_lines(lines: Sequence[_MatchLine]) -> Iterator[list[_MatchLine]]:
    """Yield runs of consecutive lines."""
    for _, run in groupby(enumerate(lines), key=lambda entry: entry[1].number - entry[0]):
        yield [line for _, line in run]


def _format_lines(matches: Sequence["TextMatch"]) -> Iterator[str]:
    """Yield ``path:line:column: text  [kind name]`` for matches, ``path-line- text`` for context lines."""
    path = escape_line(str(matches[0].path))
    with_context = any(match.before or match.after for match in matches)
    for index, group in enumerate(_group_lines(_collect_lines(matches))):
        if index and with_context:
            yield "--"
        for line in group:
            text = escape_controls(_cut_line(line, _MAX_LINE_CHARS)[0])
            if line.match:
                around = f"  [{_format_title(line.match)}]" if line.match.symbol else ""
                yield f"{path}:{line.number}:{line.match.start_column}: {text}{around}"
            else:
                mark = ":" if line.ranges else "-"
                yield f"{path}{mark}{line.number}{mark} {text}".rstrip()


def _format_title(match: "TextMatch") -> str:
    return f"{match.kind} {escape_controls(match.symbol)}".replace("\n", " ")


def _print_file(console: "Console", matches: Sequence["TextMatch"], root: Path, number: int) -> None:
    from rich.style import Style
    from rich.text import Text

    path = matches[0].path
    head = Text(escape_line(str(path)), Style(color="cyan", bold=True, link=(root.absolute() / path).as_uri()))
    head.append(f"  {_format_count(number, 'match', 'matches')}", "dim")
    console.print(head, soft_wrap=True)  # unbroken, for copying
    lines = _collect_lines(matches)
    digits = len(str(lines[-1].number))
    title = ""
    for index, group in enumerate(_group_lines(lines)):
        match = next(line.match for line in group if line.match)
        if match.symbol and _format_title(match) != title:
            title = _format_title(match)
            kind, _, name = title.partition(" ")
            console.print(Text.assemble("  ", (kind, "dim"), " ", (name, "bold")), no_wrap=True, overflow="ellipsis")
        elif index:
            console.print(Text("  ...", "dim"))
        for line in group:
            console.print(_format_line(line, digits, console.width), no_wrap=True, overflow="ellipsis")


def _format_line(line: _MatchLine, digits: int, width: int) -> "Text":
    """Format a line with its number and highlighted matches."""
    from rich.text import Text

    text, ranges = _cut_line(line, max(width - digits - 2 * len(_ELLIPSIS) - 4, 20))
    line_text = Text.assemble((f"  {line.number:>{digits}}  ", "dim"))
    position = 0
    for start, end in ranges:
        line_text.append(_expand_tabs(text[position:start]))
        line_text.append(_expand_tabs(text[start:end]), "bold red")
        position = end
    return line_text.append(_expand_tabs(text[position:]))


def _expand_tabs(text: str) -> str:
    return escape_controls(text).replace("\t", "    ")
