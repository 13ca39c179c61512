"""AsciiDoc and reStructuredText with headings and code blocks of Markdown, so that they are cut at headings.

Everything else stays as it is written: it is searched as text.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

_ASCIIDOC_HEADING: Final = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
_ASCIIDOC_SOURCE: Final = re.compile(r"\[(?:source|%?[\w%]*)?(?:,\s*([\w+#-]+))?.*\]")
_ASCIIDOC_DELIMITER: Final = re.compile(r"(-{4,}|\.{4,}|`{3,})(\w*)[ \t]*")
_ASCIIDOC_COMMENT: Final = re.compile(r"//(?!//).*")
_RST_LINE: Final = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*")
_RST_CODE: Final = re.compile(r"( *)\.\. (?:code-block|code|sourcecode|highlight)::[ \t]*([\w+#-]*)[ \t]*")
_MAX_LEVEL: Final = 6


def convert_markup(path: str, text: str) -> str:
    """Convert a document to Markdown by its file extension; Markdown stays as it is."""
    lowered = path.lower()
    if lowered.endswith((".adoc", ".asciidoc", ".asc")):
        return "\n".join(_convert_asciidoc(text.splitlines()))
    if lowered.endswith(".rst"):
        return "\n".join(_convert_restructured_text(text.splitlines()))
    return text


def build_title(path: str, text: str) -> str:
    """Build the title of a document: its first heading, or the name of its file without one.

    A heading with equals, such as the first release of a changelog, is no title: it stands behind the name of the file.

    Args:
        path: Path of the document.
        text: The document as Markdown.
    """
    name = PurePosixPath(path)
    headings = _iter_headings(text)
    level, title = next(headings, (0, ""))
    if not title:
        return name.name
    return f"{name.stem}: {title}" if any(other <= level for other, _ in headings) else title


def find_title(text: str) -> str:
    """Return the first heading of a Markdown text; empty if there is none."""
    return next((title for _, title in _iter_headings(text)), "")


def _iter_headings(text: str) -> Iterator[tuple[int, str]]:
    """Yield level and text of each heading, except those of level 2 that are underlined."""
    lines = text.lstrip("\ufeff").splitlines()
    start = 0
    if lines[:1] == ["---"]:  # front matter
        start = next((number for number, line in enumerate(lines[1:], 2) if line.strip() in {"---", "..."}), 0)
    fence = ""
    for number in range(start, len(lines)):
        line = lines[number]
        if marks := re.match(r" {0,3}(`{3,}|~{3,})", line):
            fence = "" if fence and marks[1].startswith(fence) else fence or marks[1]
        elif fence:
            continue
        elif heading := re.match(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$", line):
            yield len(heading[1]), heading[2].strip()
        elif line.strip() and number + 1 < len(lines) and re.fullmatch(r" {0,3}=+[ \t]*", lines[number + 1]):
            yield 1, line.strip()


def _convert_asciidoc(lines: list[str]) -> Iterator[str]:
    fence = language = ""
    for line in lines:
        delimiter = _ASCIIDOC_DELIMITER.fullmatch(line)
        if fence:
            is_end = delimiter is not None and delimiter[1] == fence
            yield "```" if is_end else line
            fence = "" if is_end else fence
        elif delimiter:
            fence = delimiter[1]
            yield f"```{language or delimiter[2]}"
            language = ""
        elif heading := _ASCIIDOC_HEADING.fullmatch(line):
            yield f"{'#' * len(heading[1])} {heading[2].rstrip()}"
        elif (source := _ASCIIDOC_SOURCE.fullmatch(line.strip())) and "source" in line:
            language = source[1] or ""
        elif not _ASCIIDOC_COMMENT.fullmatch(line):
            language = language if line.strip().startswith((".", "[")) else ""
            yield line
    if fence:
        yield "```"


def _convert_restructured_text(lines: list[str]) -> Iterator[str]:
    styles: list[str] = []
    number = 0
    while number < len(lines):
        if (title := _find_rst_title(lines, number)) is not None:
            text, style, size = title
            if style not in styles:
                styles.append(style)
            yield f"{'#' * min(styles.index(style) + 1, _MAX_LEVEL)} {text}"
            number += size
        elif code := _RST_CODE.fullmatch(lines[number]):
            block, number = _take_block(lines, number + 1, len(code[1]))
            yield from (f"```{code[2]}", *block, "```")
        else:
            yield lines[number]
            number += 1


def _find_rst_title(lines: list[str], number: int) -> tuple[str, str, int] | None:
    """Return text, style and number of lines of a section title that begins at a line."""
    line = lines[number]
    following = lines[number + 1] if number + 1 < len(lines) else ""
    last = lines[number + 2] if number + 2 < len(lines) else ""
    is_above_blank = number == 0 or not lines[number - 1].strip()
    if _RST_LINE.fullmatch(line) and following.strip() and line.rstrip() == last.rstrip():
        return (following.strip(), line[0] * 2, 3) if len(line.rstrip()) >= len(following.strip()) else None
    if not line.strip() or line[0].isspace() or not is_above_blank or _RST_LINE.fullmatch(line):
        return None
    if _RST_LINE.fullmatch(following) and len(following.rstrip()) >= len(line.rstrip()):
        return line.strip(), following[0], 2
    return None


def _take_block(lines: list[str], number: int, indent: int) -> tuple[list[str], int]:
    """Return the lines of an indented block without their indentation and options, and the line behind it."""
    end = number
    while end < len(lines) and (not lines[end].strip() or _count_indent(lines[end]) > indent):
        end += 1
    block = lines[number:end]
    while block and (not block[0].strip() or re.match(r"\s+:[\w-]+:", block[0])):
        block.pop(0)
    while block and not block[-1].strip():
        block.pop()
    margin = min((_count_indent(line) for line in block if line.strip()), default=0)
    return [line[margin:] for line in block], end


def _count_indent(line: str) -> int:
    return len(line) - len(line.lstrip())
