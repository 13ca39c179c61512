"""Conversion of Jira's rich text to Markdown: the Atlassian Document Format of Cloud, and wiki markup of Data Center.

Source: https://developer.atlassian.com/cloud/jira/platform/apis/document/structure
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from coderag.sources.jira.wiki_markup import convert_wiki

_Node = Mapping[str, Any]

_MARKS: Final = {"strong": "**", "em": "*", "strike": "~~"}
_PANELS: Final = {"info": "Info", "note": "Note", "warning": "Warning", "error": "Error", "success": "Success"}
_BLANK_LINES: Final = re.compile(r"\n{3,}")


def convert_document(value: object) -> str:
    """Convert a rich text value of either edition; empty for None. Unknown nodes keep the text in them."""
    if isinstance(value, str):
        return convert_wiki(value)
    if not isinstance(value, Mapping):
        return ""
    try:
        text = _convert_blocks([value])
    except RecursionError:  # nested more deeply than anybody writes
        text = " ".join(_find_texts(value))
    return _BLANK_LINES.sub("\n\n", text).strip()


def _convert_blocks(nodes: Sequence[_Node]) -> str:
    """Convert nodes in order; neighbours that are inline form one paragraph."""
    blocks: list[str] = []
    inline: list[_Node] = []
    for node in nodes:
        if convert := _BLOCKS.get(str(node.get("type"))):
            if inline:
                blocks.append(_convert_inline(inline))
                inline = []
            blocks.append(convert(node))
        else:
            inline.append(node)
    if inline:
        blocks.append(_convert_inline(inline))
    return "\n\n".join(block for block in blocks if block.strip())


def _convert_inline(nodes: Sequence[_Node]) -> str:
    return "".join(map(_convert_inline_node, nodes))


def _convert_inline_node(node: _Node) -> str:
    if convert := _INLINE.get(str(node.get("type"))):
        return convert(node)
    content = _get_content(node)
    return _convert_blocks(content) if content else str(_get_attributes(node).get("text") or "")


def _convert_text(node: _Node) -> str:
    return _mark(str(node.get("text", "")), node.get("marks"))


def _convert_mention(node: _Node) -> str:
    attributes = _get_attributes(node)
    return f"@{str(attributes.get('text') or attributes.get('id') or '').removeprefix('@')}"


def _convert_emoji(node: _Node) -> str:
    return str(_get_attributes(node).get("text") or _get_attributes(node).get("shortName") or "")


def _convert_card(node: _Node) -> str:
    url = _get_attributes(node).get("url")
    return f"<{url}>" if url else ""


def _convert_date(node: _Node) -> str:
    try:
        moment = datetime.fromtimestamp(int(str(_get_attributes(node).get("timestamp"))) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return moment.date().isoformat()


def _convert_file(node: _Node) -> str:
    attributes = _get_attributes(node)
    name, url = attributes.get("alt") or attributes.get("__fileName") or "", attributes.get("url") or ""
    return f"![{name}]({url})" if name or url else ""


def _mark(text: str, marks: object) -> str:
    """Wrap a text in its marks, leaving blanks at its ends outside, as Markdown wants it."""
    by_type = {str(mark.get("type")): mark for mark in marks or () if isinstance(mark, Mapping)}  # type: ignore[attr-defined]
    stripped = text.strip()
    if not stripped or not by_type:
        return text
    begin = len(text) - len(text.lstrip())
    before, after = text[:begin], text[begin + len(stripped) :]
    if "code" in by_type:
        fence = "``" if "`" in stripped else "`"
        stripped = f"{fence}{stripped}{fence}"
    for name, sign in _MARKS.items():
        if name in by_type:
            stripped = f"{sign}{stripped}{sign}"
    if "link" in by_type:
        href = str(_get_attributes(by_type["link"]).get("href", ""))
        if stripped == href:
            stripped = f"<{href}>"
        elif not re.match(r"\s*(?:javascript|vbscript|data):", href, re.IGNORECASE):
            stripped = f"[{stripped}]({href})"
    return before + stripped + after


def _convert_paragraph(node: _Node) -> str:
    return _convert_inline(_get_content(node))


def _convert_heading(node: _Node) -> str:
    level = _get_attributes(node).get("level")
    text = " ".join(_convert_inline(_get_content(node)).replace("\\\n", " ").split())
    return f"{'#' * (level if isinstance(level, int) and 1 <= level <= 6 else 1)} {text}"


def _convert_code(node: _Node) -> str:
    code = "".join(str(child.get("text", "")) for child in _get_content(node))
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{_get_attributes(node).get('language') or ''}\n{code}\n{fence}"


def _convert_quote(node: _Node) -> str:
    return _quote(_convert_blocks(_get_content(node)))


def _convert_panel(node: _Node) -> str:
    label = _PANELS.get(str(_get_attributes(node).get("panelType")), "")
    body = _convert_blocks(_get_content(node))
    return _quote(f"**{label}**\n\n{body}" if label else body)


def _convert_expand(node: _Node) -> str:
    title = _get_attributes(node).get("title")
    body = _convert_blocks(_get_content(node))
    return f"**{title}**\n\n{body}" if title else body


def _convert_list(node: _Node) -> str:
    order = _get_attributes(node).get("order")
    first = order if isinstance(order, int) else 1
    is_ordered = node.get("type") == "orderedList"
    entries = []
    for number, entry in enumerate(_get_content(node), first):
        if entry.get("type") in {"taskList", "bulletList", "orderedList", "decisionList"}:  # a nested list of tasks
            entries.append(_indent(_convert_list(entry), 2))
            continue
        state = _get_attributes(entry).get("state")
        box = ("[x] " if state == "DONE" else "[ ] ") if entry.get("type") == "taskItem" else ""
        marker = f"{number}. " if is_ordered else "- "
        body = _convert_blocks(_get_content(entry))
        body = re.sub(r"\n\n(?=\s*(?:-|\d+\.) )", "\n", body)  # a nested list follows its entry at once
        entries.append(marker + box + _indent(body, len(marker)).lstrip())
    return "\n".join(entries)


def _convert_table(node: _Node) -> str:
    rows = [
        [_flatten_cell(_convert_blocks(_get_content(cell))) for cell in _get_content(row)] for row in _get_content(node)
    ]
    width = max(map(len, rows), default=0)
    if not width:
        return ""
    rows = [row + [""] * (width - len(row)) for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * width}", *lines[1:]])


def _convert_media(node: _Node) -> str:
    return "\n".join(filter(None, (_convert_inline_node(child) for child in _get_content(node))))


def _convert_group(node: _Node) -> str:
    return _convert_blocks(_get_content(node))


def _convert_rule(_node: _Node) -> str:
    return "---"


_INLINE: Final[Mapping[str, Callable[[_Node], str]]] = {
    "text": _convert_text,
    "hardBreak": lambda _: "\\\n",
    "mention": _convert_mention,
    "emoji": _convert_emoji,
    "inlineCard": _convert_card,
    "date": _convert_date,
    "status": lambda node: f"`{_get_attributes(node).get('text', '')}`",
    "media": _convert_file,
    "mediaInline": _convert_file,
    "placeholder": lambda _: "",
}

_BLOCKS: Final[Mapping[str, Callable[[_Node], str]]] = {
    "doc": _convert_group,
    "paragraph": _convert_paragraph,
    "heading": _convert_heading,
    "codeBlock": _convert_code,
    "blockquote": _convert_quote,
    "panel": _convert_panel,
    "expand": _convert_expand,
    "nestedExpand": _convert_expand,
    "bulletList": _convert_list,
    "orderedList": _convert_list,
    "taskList": _convert_list,
    "decisionList": _convert_list,
    "table": _convert_table,
    "mediaSingle": _convert_media,
    "mediaGroup": _convert_media,
    "layoutSection": _convert_group,
    "layoutColumn": _convert_group,
    "bodiedExtension": _convert_group,
    "blockCard": _convert_card,
    "embedCard": _convert_card,
    "rule": _convert_rule,
}


def _get_content(node: _Node) -> list[_Node]:
    content = node.get("content")
    return [child for child in content if isinstance(child, Mapping)] if isinstance(content, list) else []


def _get_attributes(node: _Node) -> Mapping[str, Any]:
    attributes = node.get("attrs")
    return attributes if isinstance(attributes, Mapping) else {}


def _find_texts(node: _Node) -> Iterator[str]:
    stack: list[Any] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, Mapping):
            if isinstance(current.get("text"), str):
                yield current["text"]
            stack.extend(reversed(_get_content(current)))


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))


def _indent(text: str, width: int) -> str:
    return "\n".join(" " * width + line if line else "" for line in text.split("\n"))


def _flatten_cell(text: str) -> str:
    return " ".join(text.replace("\\\n", " ").replace("|", "\\|").split())
