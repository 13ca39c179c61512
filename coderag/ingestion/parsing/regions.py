"""Regions of other languages in markup: scripts, styles and front matter."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from coderag.ingestion.parsing.component_templates import TEMPLATE_LANGUAGES
from coderag.ingestion.parsing.languages import LANGUAGES, Language, find_language

_ELEMENT = re.compile(
    rb"<!--.*?(?:-->|\Z)"
    rb"|<(?P<tag>script|style)\b(?P<attributes>(?:[^>\"']|\"[^\"]*\"|'[^']*')*+)>(?P<content>.*?)(?:</(?P=tag)\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_FRONT_MATTER = re.compile(rb"\s*---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_LANGUAGE_ATTRIBUTE = re.compile(rb"\b(?:lang|type)\s*=\s*[\"']?(?:[\w.-]+/)?(?:x-)?([\w+#-]+)", re.IGNORECASE)
_PLAIN_SCRIPT: Final = frozenset({"javascript", "ecmascript", "module", "babel", "jsx"})
_TEMPLATE_TAG = re.compile(rb"\{\{[^{}\n]{0,300}\}\}|\{%[^\n]{0,300}?%\}|<[%?].{0,3000}?[%?]>", re.DOTALL)
_VALUE_TAG_OPENINGS: Final = (b"{{", b"<%=", b"<?=")  # openings of tags that stand for a value
_TO_SPACES = bytes(byte if byte == ord("\n") else ord(" ") for byte in range(256))

_Element = tuple[tuple[int, int], tuple[int, int], Language]
"""Bytes of an element and of its content, and the language of the content."""


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a file in a language of its own; line ranges are 0-based and half-open.

    Attributes:
        outer_start, outer_end: Line range including the tags, fences or marker around it.
        start, end: Line range of its code.
        language: Language of the code; None for prose.
        offset: Byte offset of its code.
        code: Code to parse, with the same line lengths as in the file.
    """

    outer_start: int
    outer_end: int
    start: int
    end: int
    language: Language | None
    offset: int
    code: bytes


def find_elements(data: bytes, starts: Sequence[int], markup: Language) -> list[Region]:
    """Return the scripts, styles and front matter of a file, in order; only the first of those that share a line."""
    elements: list[_Element] = []
    begin = 0
    if markup.front_matter and (fences := _FRONT_MATTER.match(data)):
        elements.append((fences.span(), fences.span(1), LANGUAGES[markup.front_matter]))
        begin = fences.end()
    elements += [
        (element.span(), element.span("content"), language)
        for element in _ELEMENT.finditer(data, begin)
        if element["tag"] is not None and (language := _detect_language(element, markup)) is not None
    ]
    if markup.name in TEMPLATE_LANGUAGES:
        elements = _normalize_scripts(elements)
    regions: list[Region] = []
    for outer, (first, last), language in elements:
        code = data[first:last].strip()
        offset = last - len(data[first:last].lstrip())
        lines = _find_lines(starts, outer)
        if code and (not regions or lines[0] >= regions[-1].outer_end):
            inner = _find_lines(starts, (offset, offset + len(code)))
            if markup.template_extensions:  # in other languages ``{{`` is an object in JSX
                code = _mask_template_tags(code)
            regions.append(Region(*lines, *inner, language, offset, code))
    return regions


def _normalize_scripts(elements: list[_Element]) -> list[_Element]:
    """Return the elements with scripts in one language: those of a component form one module."""
    common = next((name for name in ("tsx", "typescript") if any(name == element[2].name for element in elements)), "")
    return [
        (outer, content, LANGUAGES[common] if common and language.name == "javascript" else language)
        for outer, content, language in elements
    ]


def mask_elements(data: bytes, markup: Language) -> bytes:
    """Replace scripts, styles, comments and front matter by spaces; length and line breaks stay the same."""
    fences = _FRONT_MATTER.match(data) if markup.front_matter else None
    begin = fences.end() if fences is not None else 0
    return to_spaces(data[:begin]) + _ELEMENT.sub(lambda element: to_spaces(element[0]), data[begin:])


def mask_outside(data: bytes, regions: Iterable[Region]) -> bytes:
    """Replace everything except the code of the regions by spaces; length and line breaks stay the same."""
    masked = bytearray(to_spaces(data))
    for region in regions:
        masked[region.offset : region.offset + len(region.code)] = region.code
    return bytes(masked)


def to_spaces(data: bytes) -> bytes:
    """Replace all bytes except line breaks by spaces."""
    return data.translate(_TO_SPACES)


def _find_lines(starts: Sequence[int], span: tuple[int, int]) -> tuple[int, int]:
    return bisect_right(starts, span[0]) - 1, bisect_right(starts, span[1] - 1)


def _detect_language(element: re.Match[bytes], markup: Language) -> Language | None:
    """Return the language of a script or style element; None for data and templates."""
    default_name = markup.scripts if element["tag"].lower() == b"script" else "css"
    named = _LANGUAGE_ATTRIBUTE.search(element["attributes"])
    word = named[1].decode().lower() if named is not None else default_name
    language = LANGUAGES[default_name] if word in _PLAIN_SCRIPT else find_language(word)
    return language if language is not None and language.query and not language.data else None


def _mask_template_tags(code: bytes) -> bytes:
    """Replace tags of Jinja, ERB, Handlebars or PHP by spaces, or by ``0`` for values; the length stays the same."""
    return _TEMPLATE_TAG.sub(
        lambda tag: (b"0" if tag[0].startswith(_VALUE_TAG_OPENINGS) else b" ") + to_spaces(tag[0][1:]), code
    )
