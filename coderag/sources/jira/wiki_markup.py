"""Conversion of Jira's wiki markup, which Data Center stores, to Markdown.

Source: https://jira.atlassian.com/secure/WikiRendererHelpAction.jspa?section=all
"""

import re
from typing import Final

_BLOCK: Final = re.compile(
    r"\{(?P<kind>code|noformat)(?::(?P<options>[^}\n]*))?\}(?P<body>.*?)\{(?P=kind)\}", re.DOTALL
)
_PANEL: Final = re.compile(
    r"\{(?P<kind>quote|panel|info|note|warning|tip)(?::(?P<options>[^}\n]*))?\}(?P<body>.*?)\{(?P=kind)\}", re.DOTALL
)
_LANGUAGE: Final = re.compile(r"[\w+#.-]+")
_STASHED: Final = re.compile("\x00(\\d+)\x00")
_HEADING: Final = re.compile(r"^\s*h([1-6])\.\s*(.*)$")
_LIST_ENTRY: Final = re.compile(r"^\s*([*#-]+)\s+(.*)$")
_ROW: Final = re.compile(r"^\s*\|.*\|\s*$")
_RULE: Final = re.compile(r"^\s*-{4,}\s*$")
_MONOSPACE: Final = re.compile(r"\{\{(.+?)\}\}")
_LINK: Final = re.compile(r"\[(?:([^\[\]|\n]*)\|)?([^\[\]|\n]+?)(?:\|[^\[\]\n]*)?\]")
_IMAGE: Final = re.compile(r"!([^\s!|][^!|\n]*\.[^!|\n]+?|https?://[^!|\n]+?)(?:\|[^!\n]*)?!")
_COLOR: Final = re.compile(r"\{color(?::[^}\n]*)?\}|\{anchor:[^}\n]*\}")
_ESCAPE: Final = re.compile(r"\\([\[\]{}*_+!|~^?-])")
_EMPHASES: Final = (
    (re.compile(r"(?<![\w*])\*(\S(?:[^*\n]*?\S)?)\*(?![\w*])"), r"**\1**"),
    (re.compile(r"(?<![\w_])_(\S(?:[^_\n]*?\S)?)_(?![\w_])"), r"*\1*"),
    (re.compile(r"(?<![\w-])-(\S(?:[^-\n]*?\S)?)-(?![\w-])"), r"~~\1~~"),
    (re.compile(r"(?<![\w+])\+(\S(?:[^+\n]*?\S)?)\+(?![\w+])"), r"\1"),
    (re.compile(r"\?\?(\S(?:[^?\n]*?\S)?)\?\?"), r"*\1*"),
)
_BLANK_LINES: Final = re.compile(r"\n{3,}")


def convert_wiki(markup: str) -> str:
    """Convert wiki markup; what is none stays as it is."""
    return _BLANK_LINES.sub("\n\n", _Converter().convert(markup.replace("\r\n", "\n").replace("\x00", ""))).strip()


class _Converter:
    """Sets literal parts aside while the others are converted."""

    def __init__(self) -> None:
        self._stash: list[str] = []

    def convert(self, markup: str) -> str:
        text = _BLOCK.sub(self._convert_code, markup)
        text = self._convert_panels(text)
        return self._restore(text)

    def _convert_panels(self, text: str) -> str:
        parts: list[str] = []
        end = 0
        for match in _PANEL.finditer(text):
            parts.append(self._convert_lines(text[end : match.start()]))
            title = _find_option(match["options"] or "", "title")
            label = title or ("" if match["kind"] in {"quote", "panel"} else match["kind"].capitalize())
            body = self._restore(self._convert_lines(match["body"].strip("\n")))
            quoted = _quote(f"**{label}**\n\n{body}" if label else body)
            parts.append(f"\n\n{self._set_aside(quoted)}\n\n")
            end = match.end()
        parts.append(self._convert_lines(text[end:]))
        return "".join(parts)

    def _convert_lines(self, text: str) -> str:
        lines: list[str] = []
        has_table = False
        for line in text.split("\n"):
            is_row = bool(_ROW.match(line))
            if has_table and not is_row:
                lines.append("")
            if is_row:
                lines += self._convert_row(line.strip(), is_first=not has_table)
            elif match := _HEADING.match(line):
                lines += ["", f"{'#' * int(match[1])} {self._convert_inline(match[2])}", ""]
            elif match := _LIST_ENTRY.match(line):
                lines.append(self._convert_entry(match[1], match[2]))
            elif _RULE.match(line):
                lines += ["", "---", ""]
            elif line.lstrip().startswith("bq. "):
                lines += ["", f"> {self._convert_inline(line.lstrip()[4:])}", ""]
            else:
                lines.append(self._convert_inline(line))
            has_table = is_row
        return "\n".join(lines)

    def _convert_entry(self, markers: str, text: str) -> str:
        marker = "1." if markers[-1] == "#" else "-"
        width = sum(3 if letter == "#" else 2 for letter in markers[:-1])
        return f"{' ' * width}{marker} {self._convert_inline(text)}"

    def _convert_row(self, line: str, *, is_first: bool) -> list[str]:
        # Bars of links and literals split no cell.
        line = _MONOSPACE.sub(lambda match: self._set_aside(_escape_bars(f"`{match[1]}`")), line)
        line = _LINK.sub(lambda match: self._set_aside(_escape_bars(_format_link(match))), line)
        is_header = line.startswith("||")
        cells = [cell.strip() for cell in re.split(r"\|\|?", line.strip().strip("|"))]
        row = f"| {' | '.join(self._convert_inline(cell) for cell in cells)} |"
        separator = f"|{' --- |' * len(cells)}"
        if is_first and is_header:
            return ["", row, separator]
        return ["", f"|{'  |' * len(cells)}", separator, row] if is_first else [row]

    def _convert_inline(self, text: str) -> str:
        text = _MONOSPACE.sub(lambda match: self._set_aside(f"`{match[1]}`"), text)
        text = _ESCAPE.sub(lambda match: self._set_aside(match[1]), text)
        text = _COLOR.sub("", text)
        text = _IMAGE.sub(lambda match: self._set_aside(_format_image(match[1])), text)
        text = _LINK.sub(lambda match: self._set_aside(_format_link(match)), text)
        text = re.sub(r"\bhttps?://\S+", lambda match: self._set_aside(match[0]), text)
        for pattern, replacement in _EMPHASES:
            text = pattern.sub(replacement, text)
        return re.sub(r"\\\\(?:\s+|$)", lambda _match: "\\\n", text)

    def _convert_code(self, match: re.Match[str]) -> str:
        code = match["body"].strip("\n")
        options = (match["options"] or "").split("|")
        names = [option for option in options if "=" not in option and _LANGUAGE.fullmatch(option)]
        language = _find_option(match["options"] or "", "language") or (names[0] if names else "")
        if match["kind"] == "noformat":
            language = ""
        title = _find_option(match["options"] or "", "title")
        longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
        fence = "`" * (longest + 1)
        block = f"{fence}{language}\n{code}\n{fence}"
        return f"\n\n{self._set_aside(f'**{title}**{chr(10) * 2}{block}' if title else block)}\n\n"

    def _set_aside(self, text: str) -> str:
        self._stash.append(text)
        return f"\x00{len(self._stash) - 1}\x00"

    def _restore(self, text: str) -> str:
        while _STASHED.search(text):  # a stashed text may name earlier ones
            text = _STASHED.sub(lambda match: self._stash[int(match[1])], text)
        return text


def _format_link(match: re.Match[str]) -> str:
    text, target = (match[1] or "").strip(), match[2].strip()
    if target.startswith("~"):
        return f"@{text or target[1:]}"
    if target.startswith("^"):  # an attachment
        return text or target[1:]
    if re.match(r"(?:https?|ftp|mailto|file):", target):
        return f"[{text}]({target})" if text else f"<{target}>"
    if match[1] is not None or target.startswith("#"):  # an anchor, or a page of Confluence
        return f"{text} ({target})" if text else target.lstrip("#")
    return match[0]  # brackets of a text, such as an array's index


def _format_image(source: str) -> str:
    name = source.rsplit("/", 1)[-1]
    return f"![{name}]({source})" if source.startswith(("http://", "https://")) else f"![{name}]()"


def _find_option(options: str, name: str) -> str:
    for option in options.split("|"):
        key, separator, value = option.partition("=")
        if separator and key.strip() == name:
            return value.strip()
    return ""


def _escape_bars(text: str) -> str:
    return text.replace("|", "\\|")


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" if line.strip() else ">" for line in text.strip("\n").split("\n"))
