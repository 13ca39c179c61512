"""Context as XML: documents in tags, a format that models know.

The text is well-formed whatever the repository contains: source cannot close a tag or its section.
"""

import re
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from coderag.retrieval.context.parts import SECTION_NAMES, ContextParts, item_attributes, to_single_line
from coderag.schema.context import ContextItem

_INVALID_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_RESERVED_TAGS: Final = re.compile(
    r"\]\]>|</?(?:context|note|items|results|related|relations|relation|document|left_out|omission|shown_before|place)\b",
    re.IGNORECASE,
)
"""Tags that a parser or a model may take for the end of a source section."""


class XmlContextWriter:
    """Writer of a tag per section and item."""

    def format_item(self, item: ContextItem) -> str:
        """Format one item."""
        if not item.path:
            return f"<relation>{_format_text(item.text)}</relation>\n"
        tag = f"document{_format_attributes(item_attributes(item))}"
        return f"<{tag}>\n{_format_source(item.text)}\n</document>\n" if item.text.strip() else f"<{tag}/>\n"

    def write(self, parts: ContextParts) -> list[str]:
        """Write the context, in parts."""
        lines = [f"<context{_format_attributes({'question': parts.question})}>\n"]
        if parts.note:
            lines.append(f"<note>{_format_text(parts.note)}</note>\n")
        for section in parts.sections:
            name = SECTION_NAMES[section.name]
            lines += [f"<{name}>\n", *map(self.format_item, section.items), f"</{name}>\n"]
        if parts.omitted:
            lines.append(f"<left_out{_format_attributes({'more': str(parts.unlisted_omitted or '')})}>\n")
            for omission in parts.omitted:
                values = {"name": omission.title, "tokens": str(omission.tokens), "fetch": omission.fetch}
                lines.append(f"<omission{_format_attributes(values)}/>\n")
            lines.append("</left_out>\n")
        if parts.shown_before:
            more = _format_attributes({"more": str(parts.unlisted_before or "")})
            lines.append(f"<shown_before{more}>{_format_text(', '.join(parts.shown_before))}</shown_before>\n")
        return [*lines, "</context>\n"]


def _format_attributes(values: dict[str, str]) -> str:
    return "".join(
        f" {name}={quoteattr(_replace_invalid(to_single_line(value)))}" for name, value in values.items() if value
    )


def _format_source(text: str) -> str:
    """Return source as CDATA, or escaped if it contains something like one of our tags."""
    clean = _replace_invalid(text)
    return escape(clean) if _RESERVED_TAGS.search(clean) else f"<![CDATA[{clean}]]>"


def _format_text(text: str) -> str:
    return escape(_replace_invalid(to_single_line(text)))


def _replace_invalid(text: str) -> str:
    return _INVALID_XML.sub("\ufffd", text)
