"""Lines of code that give a name its value: assignments, entries, defaults of arguments and options, fallbacks.

By the syntax that most languages share; a value is quoted from its line.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

ValueForm = Literal["option", "fallback", "argument", "assignment"]
"""``option``: ``default=`` of an option or field; ``fallback``: what is taken if nothing is set; ``argument``: of a lookup."""

MAX_LINE_CHARS: Final = 400
"""Characters of a line that is looked through; a longer one is data."""

_MAX_VALUE_CHARS: Final = 70
_MAX_OPTION_LINES: Final = 10  # between the name of an option and its default
_ASSIGNED: Final = re.compile(
    r"(?P<name>[\w$@][\w$.\-]*)[\"'`\])]*\??(?:\s*\{[^{}]*\})?\s*(?::\s*[\w$<>\[\]., |?*&\"':]{1,60}?\s*(?==))?"
    r"(?::=|\|\|=|\?\?=|//=|=>|=(?![=>~])|:(?![:=/]))\s*(?=[^\s=])"
)
_DEFINED: Final = re.compile(r"^\s*#\s*define\s+(?P<name>\w+)\s+(?=\S)")
_LOOKED_UP: Final = re.compile(
    r"\w[!?]?[(\[]\s*(?P<name>[\"'][\w.\-/]+[\"']|[A-Z][A-Z\d_]{2,}|\w+\.[A-Z][A-Z\d_]{2,})[\])]?\s*,\s*"
)
_FALLEN_BACK: Final = re.compile(
    r"(?:\|\||\?\?|\?:|(?<=[\s)\]])or(?=\s)|//(?=\s*[\d\"'])|\.(?:unwrap_or|get_?or_?else|or_?else|value_?or|or_?default)\w*\s*\()\s*(?=\S)",
    re.IGNORECASE,
)
_DEFAULT: Final = re.compile(
    r"(?:^|[\s,({.@:\"'])default(?:[-_]?values?(?:_t)?|s_to)?[\"']?\s*(?:=>|=(?!=)|:(?!:)|\()\s*(?=[^\s=])",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*(?:[.\-][\w$]+)*")
_QUOTED_NAME: Final = re.compile(r"[\"'](-{0,2}[A-Za-z_][\w.\-/]*)[\"']")
_LITERAL: Final = re.compile(
    r"[-+]?\.?\d|[\"'`/]|[bfru][\"']|(?i:true|false|null|nil|none|undefined|nullptr)\b|[\[{]|[%:]\w"
    r"|(?:\w{1,80}(?:::|\.)){0,6}[A-Z][A-Z\d_]{2,80}(?!\s*[\w.(])"
    r"|[\w.:]{1,120}\(\s{0,9}[-+]?\d[\w.]{0,80}\s{0,9}\)|[\w.]{1,120}\s{0,9}\*\s{0,9}\d|\[\]\w+[({]"
)
_CONSTANT: Final = re.compile(r"^(?:[\w.]+(?:::|\.))?([A-Za-z_]\w*)$")
_PROSE: Final = re.compile(r"^\s*(?:\*|//|/\*|#(?!\s*define\b|\[)|>>>|--\s)")
_OPENING: Final = "([{"
_CLOSING: Final = ")]}"
_COMMENT: Final = re.compile(r"\s(?://|#(?!\[)|--\s|/\*).*$")


@dataclass(frozen=True, slots=True)
class ValueLine:
    """A value that a line gives.

    Attributes:
        offset: Number of the line, from 0.
        names: Names that it gives it to; of a fallback all on its left, the nearest last.
        value: As it is written.
        is_literal: Whether it is a literal or a constant rather than a computation.
    """

    offset: int
    names: Sequence[str]
    value: str
    form: ValueForm
    is_literal: bool

    @property
    def constant(self) -> str:
        """Last part of the constant or variable that is the value; empty if the value is something else."""
        match = _CONSTANT.match(self.value)
        return match[1] if match else ""


def find_value_lines(lines: Sequence[str]) -> Iterator[ValueLine]:
    """Find what lines of code give values to, in order; a line may give several."""
    for offset, line in enumerate(lines):
        if len(line) > MAX_LINE_CHARS or not line.strip() or _PROSE.match(line):
            continue
        code = _COMMENT.sub("", line)
        if default := _DEFAULT.search(code):
            names = [*_list_option_names(lines, offset), *_QUOTED_NAME.findall(code[: default.start()])]
            yield from _build(offset, names, code[default.end() :], "option")
        for match in (*_DEFINED.finditer(code), *_ASSIGNED.finditer(code)):
            if code[max(match.start() - 2, 0) : match.start()] in ("['", '["'):  # written at run time
                continue
            is_typed = match[0].rstrip().endswith(":")  # what follows may be a type
            values = _build(offset, [match["name"]], code[match.end() :], "assignment")
            yield from (value for value in values if value.is_literal or not is_typed)
        for match in _LOOKED_UP.finditer(code):
            yield from _build(offset, [match["name"].strip("\"'")], code[match.end() :], "argument")
        for match in _FALLEN_BACK.finditer(code):
            yield from _build(offset, _NAME.findall(code[: match.start()]), code[match.end() :], "fallback")


def _build(offset: int, names: Sequence[str], rest: str, form: ValueForm) -> Iterator[ValueLine]:
    value = _cut_value(rest)
    is_literal = _LITERAL.match(value) is not None
    if (
        names
        and len(value.strip(_OPENING)) > 0
        and names[-1].lower() != "default"
        and (is_literal or form in ("assignment", "option"))
    ):
        yield ValueLine(offset, names, value, form, is_literal)


def _cut_value(rest: str) -> str:
    """Return the expression at the beginning of the rest of a line."""
    depth, quote = 0, ""
    for position, sign in enumerate(rest):
        if quote:
            quote = "" if sign == quote and rest[position - 1] != "\\" else quote
        elif sign in "\"'`":
            quote = sign
        elif sign in _OPENING:
            depth += 1
        elif sign in _CLOSING or (sign in ",;" and not depth):
            if not depth:
                return rest[:position].strip()[:_MAX_VALUE_CHARS]
            depth -= sign in _CLOSING
    return rest.strip()[:_MAX_VALUE_CHARS]


def _list_option_names(lines: Sequence[str], offset: int) -> list[str]:
    """List what the default in a line may be of: quoted names above it in the same call, and what opens the call or block."""
    indent = _measure_indent(lines[offset])
    names: list[str] = []
    for line in reversed(lines[max(offset - _MAX_OPTION_LINES, 0) : offset]):
        if not line.strip():
            continue
        if _measure_indent(line) < indent:
            opener = line.split("//")[0]
            return [*(_QUOTED_NAME.findall(opener) or _NAME.findall(opener)), *names]
        if _measure_indent(line) == indent and line.lstrip()[0] in "\"'.":
            names += _QUOTED_NAME.findall(line)
    return names


def _measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip())
