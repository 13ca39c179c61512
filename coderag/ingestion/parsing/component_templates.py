"""Templates of single-file components as programs: their expressions in order, each in its line.

A program has a statement for each expression, handler, directive and component of a template. Blocks in it have the scopes of
``v-for``, ``v-slot``, ``{#each}``, ``{#await}``, ``{#snippet}`` and ``let:``. The facts of a program are those of the template.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, NamedTuple

_TOKEN = re.compile(r"(?P<mustache>\{\{)|(?P<brace>\{)|<(?P<tag>[A-Za-z][\w.:-]*)|</(?P<closed>[\w.:-]+)\s*>")
_ATTRIBUTE = re.compile(
    r"\s*(?:(?P<end>/?>)|(?P<brace>\{)"
    r"|(?P<name>[^\s\"'<>/={}]+)(?:\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<value>[{`])|(?P<bare>[^\s\"'<>={}`]+)))?)"
)
_CODE_TOKEN = re.compile(
    r"[{}`]|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|(?<![:\w\"'/])//[^\n]*|/\*.*?\*/", re.DOTALL
)
_LITERAL_TOKEN = re.compile(r"\\.|`|\$\{", re.DOTALL)
_PATH = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*")
_LOOP = re.compile(r"\s*(.*?)\s+(?:in|of)\s+(.*)", re.DOTALL)
_EACH = re.compile(r"(.*)\s+as\s+(.*)", re.DOTALL)
_AWAIT = re.compile(r"(.*?)\s+(?:then|catch)\b\s*(.*)", re.DOTALL)
_SNIPPET = re.compile(r"([\w$]+)\s*(?:<.*?>)?\s*\((.*)\)\s*", re.DOTALL)
_KEY = re.compile(r"(.*?)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*", re.DOTALL)
_BLOCK = re.compile(r"([#:@])(\w+(?: if)?)\s*|/[a-z]")
_VUE_TEMPLATE = re.compile(r"<template\b([^>]*)>")
_LANGUAGE = re.compile(r"\blang\s*=\s*[\"']?(\w+)")
_VOID_TAGS: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_PLAIN_VUE_DIRECTIVES: Final = frozenset({"bind", "if", "else-if", "show", "html", "text", "model", "memo"})
_ACTIONS: Final = frozenset({"use", "transition", "in", "out", "animate"})
_MAX_EXPRESSION_CHARS = 20_000
_MAX_HEAD_CHARS = 2_000  # of a block: patterns backtrack
_MAX_OPEN_EXPRESSIONS = 20  # a template with more unclosed ones is malformed
_MAX_OPEN_ELEMENTS = 64  # around a closing tag


def build_template_program(text: str, language: str, names: Collection[str]) -> str:
    """Build the program of a component's template, with the lines of its file.

    Args:
        text: The file, with spaces in the place of scripts, styles, comments and front matter.
        language: A key of `TEMPLATE_LANGUAGES`.
        names: Names that the scripts declare or import at module level.
    """
    if language != "vue":
        return _TEMPLATE_CLASSES[language](text, names).build(0, len(text))
    template = _VUE_TEMPLATE.search(text)
    language_attribute = _LANGUAGE.search(template[1]) if template is not None else None
    if template is None or (language_attribute is not None and language_attribute[1] != "html"):
        return ""
    return _VueTemplate(text, names).build(template.end(), max(template.end(), text.rfind("</template")))


class _Attribute(NamedTuple):
    """An attribute of a tag.

    Attributes:
        offset: Where the value begins; without a value, where the name does.
        value: None without one.
        is_code: Whether the value stands in braces.
    """

    tag: str
    name: str
    offset: int
    value: str | None
    is_code: bool


@dataclass(slots=True)
class _Program:
    """Code in the lines of a file."""

    text: str
    parts: list[str] = field(default_factory=list)
    line: int = 0
    starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.starts = list(accumulate((len(line) + 1 for line in self.text.split("\n")), initial=0))

    def write(self, offset: int, code: str) -> None:
        """Write code in the line of an offset, or in the current line if that is below it."""
        line = bisect_right(self.starts, offset) - 1
        if line > self.line:
            self.parts.append("\n" * (line - self.line))
            self.line = line
        self.parts.append(code)
        self.line += code.count("\n")


class _Template:
    """A template whose expressions stand in braces.

    Args:
        text: See `build_template_program`.
        names: See `build_template_program`.
    """

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.names = names
        self._text = text
        self._program = _Program(text)
        self._open: list[tuple[str, str]] = []  # tag or ``{``, and the code that closes its scope
        self._n_unclosed = 0

    def build(self, position: int, end: int) -> str:
        """Build the program of a range of the text."""
        while position < end and (token := _TOKEN.search(self._text, position, end)) is not None:
            position = token.end()
            if token["tag"]:
                position = self._read_tag(token["tag"], token.start(), position, end)
            elif token["closed"]:
                self._close(token["closed"], token.start())
            else:
                position = self.read_expression(token, end)
        self.write(end, "".join(code for _, code in reversed(self._open)))
        return "".join(self._program.parts)

    def write(self, offset: int, code: str) -> None:
        """Write code in the line of an offset."""
        if code:
            self._program.write(offset, code)

    def write_expression(self, offset: int, code: str) -> None:
        """Write an expression as a statement, in which a bare name is a mention."""
        if code.strip():
            self.write(offset, f";[{code}];")

    def write_handler(self, offset: int, code: str) -> None:
        """Write a function that is mentioned and called."""
        self.write_expression(offset, code)
        if _PATH.fullmatch(code.strip()):
            self.write(offset, f"{code.strip()}();")

    def open_scope(self, offset: int, kind: str, opening: str, closing: str) -> None:
        """Write the beginning of a block whose end is written with that of a tag or block."""
        self.write(offset, opening)
        self._open.append((kind, closing))

    # Parts of a template

    def read_expression(self, token: re.Match[str], end: int) -> int:
        """Write the expression at a token and return the offset behind it."""
        code, position = self.read_braces(token.start(), end)
        self.write_expression(token.start() + 1, code)
        return position

    def read_attribute(self, attribute: _Attribute) -> None:
        """Write an attribute."""
        if attribute.is_code and attribute.value:
            self.write_expression(attribute.offset, attribute.value)

    def find_component(self, tag: str) -> str:
        """Return the name of the component of a tag; empty if the tag is an element."""
        return tag if ":" not in tag and "-" not in tag and (tag[0].isupper() or "." in tag) else ""

    def read_braces(self, start: int, end: int) -> tuple[str, int]:
        """Return the code between the brace at an offset and the matching one, and the offset behind that."""
        closed = _find_closing_brace(self._text, start, min(end, start + _MAX_EXPRESSION_CHARS))
        if closed < 0:
            self._n_unclosed += 1
            return "", end if self._n_unclosed > _MAX_OPEN_EXPRESSIONS else start + 1
        return self._text[start + 1 : closed], closed + 1

    def _read_tag(self, tag: str, start: int, position: int, end: int) -> int:
        depth = len(self._open)
        if component := self.find_component(tag):
            self.write(start, f";{component}();")
        is_closed = False
        while (attribute := _ATTRIBUTE.match(self._text, position, end)) is not None:
            position = attribute.end()
            if attribute["end"]:
                is_closed = attribute["end"] == "/>" or tag.lower() in _VOID_TAGS
                break
            position = self._read_attribute_match(tag, attribute, end)
        scopes = "".join(code for _, code in reversed(self._open[depth:]))
        del self._open[depth:]
        if is_closed:
            self.write(position, scopes)
        else:
            self._open.append((tag, scopes))
        return position

    def _read_attribute_match(self, tag: str, attribute: re.Match[str], end: int) -> int:
        position = attribute.end()
        if attribute["brace"]:
            code, position = self.read_braces(attribute.start("brace"), end)
            self.write_expression(attribute.end(), code)
            return position
        if attribute["value"] == "{":
            offset = attribute.end()
            code, position = self.read_braces(offset - 1, end)
            self.read_attribute(_Attribute(tag, attribute["name"], offset, code, is_code=True))
            return position
        if attribute["value"]:
            position = _find_literal_end(self._text, attribute.end(), end)
            self.write_expression(attribute.end(), self._text[attribute.end() - 1 : position])
            return position
        group = next((name for name in ("double", "single", "bare") if attribute[name] is not None), "name")
        value = None if group == "name" else attribute[group]
        self.read_attribute(_Attribute(tag, attribute["name"], attribute.start(group), value, is_code=False))
        return position

    def _close(self, kind: str, offset: int) -> None:
        """Close a tag or block, and everything in it that has no end."""
        candidates = range(len(self._open) - 1, max(-1, len(self._open) - _MAX_OPEN_ELEMENTS), -1)
        position = next((number for number in candidates if self._open[number][0] == kind), -1)
        if position >= 0:
            self.write(offset, "".join(code for _, code in reversed(self._open[position:])))
            del self._open[position:]

    def _reopen(self, offset: int, opening: str, closing: str) -> None:
        """Begin another branch of the innermost block."""
        self._close("{", offset)
        self.open_scope(offset, "{", opening, closing)


class _SvelteTemplate(_Template):
    """A template of Svelte."""

    def read_expression(self, token: re.Match[str], end: int) -> int:
        """Write the expression or the part of a block at a token and return the offset behind it."""
        offset = token.start() + 1
        code, position = self.read_braces(token.start(), end)
        block = _BLOCK.match(code)
        if block is None:
            self.write_expression(offset, code)
        elif block[1] is None:
            self._close("{", offset)
        else:
            self._read_block(f"{block[1]}{block[2]}", offset + block.end(), code[block.end() :])
        return position

    def _read_block(self, word: str, offset: int, code: str) -> None:
        is_short = len(code) <= _MAX_HEAD_CHARS
        if word == "#each":
            self.open_scope(offset, "{", _open_each(code), "}")
        elif word == "#snippet":
            snippet = _SNIPPET.fullmatch(code) if is_short else None
            if snippet is not None:
                self.write(offset, f";let {snippet[1]};")
            self.open_scope(offset, "{", f";(({snippet[2] if snippet else ''}) => {{", "});")
        elif word == "#await":
            match = _AWAIT.fullmatch(code) if is_short else None
            self.write_expression(offset, match[1] if match else code)
            self.open_scope(offset, "{", *_open_function(match[2] if match else ""))
        elif word in (":then", ":catch"):
            self._reopen(offset, *_open_function(code))
        elif word.startswith("#"):
            self.write_expression(offset, code)
            self.open_scope(offset, "{", "{", "}")
        elif word.startswith(":"):
            self._reopen(offset, f";[{code}];{{" if code.strip() else ";{", "}")
        elif word == "@const":
            self.write(offset, f";const {code};")
        else:
            self.write_expression(offset, code)

    def read_attribute(self, attribute: _Attribute) -> None:
        """Write an attribute or a directive."""
        offset, value = attribute.offset, attribute.value
        kind, separator, rest = attribute.name.partition(":")
        target = rest.partition("|")[0]
        code = value if attribute.is_code or value is None else ", ".join(_iterate_braces(value))
        if separator and kind == "let":
            self.open_scope(offset, attribute.tag, f";(({code or target}) => {{", "});")
        elif separator and kind in _ACTIONS:
            self.write_handler(offset, target)
            self.write_expression(offset, code or "")
        elif (separator and kind == "on") or re.match(r"on[a-z]", attribute.name):
            self.write_handler(offset, code or "")
        elif code is not None:
            self.write_expression(offset, code)
        elif separator and kind in ("bind", "class", "style") and _PATH.fullmatch(target):
            self.write_expression(offset, target)


class _VueTemplate(_Template):
    """A template of Vue."""

    def read_expression(self, token: re.Match[str], end: int) -> int:
        """Write the interpolation at a token and return the offset behind it."""
        closed = self._text.find("}}", token.end(), min(end, token.end() + _MAX_EXPRESSION_CHARS))
        if not token["mustache"] or closed < 0:
            self._n_unclosed += bool(token["mustache"])
            return end if self._n_unclosed > _MAX_OPEN_EXPRESSIONS else token.end()
        self.write_expression(token.end(), self._text[token.end() : closed])
        return closed + 2

    def read_attribute(self, attribute: _Attribute) -> None:
        """Write a directive."""
        name, offset, value = attribute.name, attribute.offset, attribute.value or ""
        code = html.unescape(value) if "&" in value else value
        directive, _, argument = name.removeprefix("v-").partition(":") if name.startswith("v-") else ("", "", "")
        directive = directive.partition(".")[0]
        if name.startswith("@") or directive == "on":
            self._write_statements(offset, code)
        elif directive == "for":
            self.open_scope(offset, attribute.tag, _open_loop(code), "}")
        elif name.startswith("#") or directive == "slot":
            if code.strip():
                self.open_scope(offset, attribute.tag, f";(({code}) => {{", "});")
        elif name.startswith((":", ".")) or directive in _PLAIN_VUE_DIRECTIVES:
            same_name = _to_camel_case((argument or name.lstrip(":.")).partition(".")[0])
            self.write_expression(offset, code or (same_name if same_name in self.names else ""))
        elif directive:
            if (function := _to_camel_case(f"v-{directive}")) in self.names:
                self.write_expression(offset, function)
            self.write_expression(offset, code)

    def find_component(self, tag: str) -> str:
        """Return the name under which the scripts know a tag; empty if it is an element, or a component known elsewhere."""
        if "-" not in tag:
            return super().find_component(tag)
        camel_case = _to_camel_case(tag)
        spellings = (camel_case[:1].upper() + camel_case[1:], camel_case)
        return next((name for name in spellings if name in self.names), "")

    def _write_statements(self, offset: int, code: str) -> None:
        if _PATH.fullmatch(code.strip()) or re.match(r"\s*(?:async\s+)?function\b", code):
            self.write_handler(offset, code)
        elif code.strip():
            self.write(offset, f";{{{code}}};")


_TEMPLATE_CLASSES: Final[Mapping[str, Callable[[str, Collection[str]], _Template]]] = {
    "vue": _VueTemplate,
    "svelte": _SvelteTemplate,
    "astro": _Template,
}
TEMPLATE_LANGUAGES: Final = frozenset(_TEMPLATE_CLASSES)
"""Languages of single-file components."""


def _find_closing_brace(text: str, start: int, end: int) -> int:
    """Return the offset of the brace that closes the one at an offset; -1 if there is none."""
    open_literals: list[int] = []  # depth of braces around each template literal
    depth, position, is_literal = 1, start + 1, False
    while (token := (_LITERAL_TOKEN if is_literal else _CODE_TOKEN).search(text, position, end)) is not None:
        position, word = token.end(), token[0]
        if word == "`":
            if is_literal:
                open_literals.pop()
            else:
                open_literals.append(depth)
            is_literal = not is_literal
        elif word in ("{", "${"):
            depth, is_literal = depth + 1, False
        elif word == "}":
            depth -= 1
            if not depth:
                return token.start()
            is_literal = bool(open_literals) and open_literals[-1] == depth
    return -1


def _find_literal_end(text: str, start: int, end: int) -> int:
    """Return the offset behind a template literal whose content begins at an offset."""
    closed = text.find("`", start, end)
    return end if closed < 0 else closed + 1


def _iterate_braces(value: str) -> Iterator[str]:
    """Yield the expressions in braces in a quoted value."""
    start = value.find("{")
    while start >= 0 and (closed := _find_closing_brace(value, start, len(value))) > 0:
        yield value[start + 1 : closed]
        start = value.find("{", closed)


def _open_loop(code: str) -> str:
    """Return the beginning of the loop of ``v-for``."""
    loop = _LOOP.fullmatch(code) if len(code) <= _MAX_HEAD_CHARS else None
    if loop is None:
        return ";{"
    alias = loop[1].removeprefix("(").removesuffix(")") if loop[1].startswith("(") else loop[1]
    return _open_iteration(alias, loop[2])


def _open_each(code: str) -> str:
    """Return the beginning of the loop of ``{#each}``."""
    each = _EACH.fullmatch(code) if len(code) <= _MAX_HEAD_CHARS else None
    if each is None:
        return f";[{code}];{{"
    key = _KEY.fullmatch(each[2])
    return _open_iteration(key[1] if key else each[2], each[1]) + (f"[{key[2]}];" if key else "")


def _open_iteration(alias: str, collection: str) -> str:
    first, *further = _split_outside_brackets(alias)
    names = ", ".join(name.strip() for name in further if name.strip())
    return f";for (const {first.strip()} of {collection}) {{" + (f"let {names};" if names else "")


def _open_function(parameter: str) -> tuple[str, str]:
    """Return the beginning and the end of a block with a parameter."""
    return (f";(({parameter}) => {{", "});") if parameter.strip() else (";{", "}")


def _split_outside_brackets(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character in "{[(") - (character in "}])")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _to_camel_case(name: str) -> str:
    first, *further = name.split("-")
    return first + "".join(word[:1].upper() + word[1:] for word in further)
