"""Matches of exact text for people: grouped and coloured in a terminal, one line each in a pipe."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from coderag.interfaces.cli._streams import Output, visible, visible_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from coderag.retrieval.text_search.text_matches import TextMatch, TextMatches

_LONGEST_LINE = 240
"""Characters of a line shown around a match; minified code has lines of a megabyte."""

_BEFORE_MATCH = 60
"""Characters shown before a match that is far to the right."""

_CUT = "..."


class _Line(NamedTuple):
    """A line to show: parts of matches in it, as half-open ranges of its characters, and the match that begins in it."""

    number: int
    text: str
    ranges: list[tuple[int, int]]
    match: "TextMatch | None"


def print_matches(found: "TextMatches", root: Path, output: Output) -> None:
    """Print the matches with the lines around them, file by file."""
    files = [list(matches) for _, matches in groupby(found.matches, key=lambda match: match.path)]
    if output.for_people:
        console = output.console()
        for place, matches in enumerate(files):
            if place:
                console.print()
            _print_file(console, matches, root, found.files[str(matches[0].path)])
    elif files:
        output.write("\n".join(line for matches in files for line in _plain_lines(matches)))


def print_counts(found: "TextMatches", output: Output, *, with_numbers: bool) -> None:
    """Print the files with matches, with the number of matches in each if asked for."""
    if found.files:
        names = (visible_line(path) + (f":{number}" if with_numbers else "") for path, number in found.files.items())
        output.write("\n".join(names))


def tell(found: "TextMatches", output: Output, *, filtered: bool, all_shown: bool) -> None:
    """Say on standard error how many matches there are, and what should be known of them."""
    if not found.total:
        output.note("nothing found" + (" with these filters" if filtered else ""))
    else:
        total = f"{'' if found.complete else 'at least '}{_number(found.total, 'match', 'matches')}"
        cut = not all_shown and len(found.matches) < found.total
        shown = f"; the first {len(found.matches):,} are shown (-n for more)" if cut else ""
        output.note(f"{total} in {_number(len(found.files), 'file')}{shown}")
    if found.whitespace_ignored:
        output.note("exactly so it is nowhere: these places differ in white space")
    if found.stale:
        changed = _number(len(found.stale), "file has", "files have")
        output.note(
            f"{changed} changed since the last 'coderag index': which declaration a match is in is not told there"
        )
    if found.unread:
        path, reason = found.unread[0]
        output.note(f"{_number(len(found.unread), 'indexed file')} could not be read, such as {path}: {reason}")


def _number(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def _lines(matches: Sequence["TextMatch"]) -> list[_Line]:
    """Return the lines to show of a file, each once."""
    texts: dict[int, str] = {}
    ranges: dict[int, list[tuple[int, int]]] = defaultdict(list)
    beginning: dict[int, TextMatch] = {}
    for match in matches:
        own = match.text.split("\n")
        first = match.start_line - len(match.before)
        texts.update(enumerate([*match.before, *own, *match.after], first))
        beginning.setdefault(match.start_line, match)
        for number, text in enumerate(own, match.start_line):
            start = match.start_column - 1 if number == match.start_line else 0
            end = match.end_column - 1 if number == match.end_line else len(text)
            ranges[number].append((start, end))
    return [_Line(number, texts[number], ranges[number], beginning.get(number)) for number in sorted(texts)]


def _cut(line: _Line, width: int) -> tuple[str, list[tuple[int, int]]]:
    """Return at most `width` characters of a line, with its first match among them, and where its matches are in that."""
    if len(line.text) <= width:
        return line.text, line.ranges
    first = line.ranges[0][0] if line.ranges else 0
    before_match = min(_BEFORE_MATCH, width // 2)
    start = 0 if first < width - before_match else first - before_match
    before, after = _CUT if start else "", _CUT if start + width < len(line.text) else ""
    shift = len(before) - start
    text = before + line.text[start : start + width]
    return text + after, [
        (low + shift, min(high + shift, len(text))) for low, high in line.ranges if low < start + width
    ]


def _groups(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Yield the runs of lines that follow on one another."""
    for _, run in groupby(enumerate(lines), key=lambda entry: entry[1].number - entry[0]):
        yield [line for _, line in run]


def _plain_lines(matches: Sequence["TextMatch"]) -> Iterator[str]:
    """Yield ``path:line:column: text  [kind name]`` of a match, ``path-line- text`` of the lines around it."""
    path = visible_line(str(matches[0].path))
    with_context = any(match.before or match.after for match in matches)
    for place, group in enumerate(_groups(_lines(matches))):
        if place and with_context:
            yield "--"
        for line in group:
            text = visible(_cut(line, _LONGEST_LINE)[0])
            if line.match:
                around = f"  [{_title(line.match)}]" if line.match.symbol else ""
                yield f"{path}:{line.number}:{line.match.start_column}: {text}{around}"
            else:
                mark = ":" if line.ranges else "-"
                yield f"{path}{mark}{line.number}{mark} {text}".rstrip()


def _title(match: "TextMatch") -> str:
    return f"{match.kind} {visible(match.symbol)}".replace("\n", " ")


def _print_file(console: "Console", matches: Sequence["TextMatch"], root: Path, number: int) -> None:
    from rich.style import Style
    from rich.text import Text

    path = matches[0].path
    head = Text(visible_line(str(path)), Style(color="cyan", bold=True, link=(root.absolute() / path).as_uri()))
    head.append(f"  {_number(number, 'match', 'matches')}", "dim")
    console.print(head, soft_wrap=True)  # whole, so that it can be copied
    lines = _lines(matches)
    digits = len(str(lines[-1].number))
    title = ""
    for place, group in enumerate(_groups(lines)):
        match = next(line.match for line in group if line.match)
        if match.symbol and _title(match) != title:
            title = _title(match)
            kind, _, name = title.partition(" ")
            console.print(Text.assemble("  ", (kind, "dim"), " ", (name, "bold")), no_wrap=True, overflow="ellipsis")
        elif place:
            console.print(Text("  ...", "dim"))
        for line in group:
            console.print(_code(line, digits, console.width), no_wrap=True, overflow="ellipsis")


def _code(line: _Line, digits: int, width: int) -> "Text":
    """Return a line with its number, and its matches highlighted."""
    from rich.text import Text

    text, ranges = _cut(line, max(width - digits - 2 * len(_CUT) - 4, 20))
    shown = Text.assemble((f"  {line.number:>{digits}}  ", "dim"))
    position = 0
    for start, end in ranges:
        shown.append(_tabless(text[position:start]))
        shown.append(_tabless(text[start:end]), "bold red")
        position = end
    return shown.append(_tabless(text[position:]))


def _tabless(text: str) -> str:
    return visible(text).replace("\t", "    ")
