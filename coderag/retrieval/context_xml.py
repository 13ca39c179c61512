"""Write an assembled context as XML: documents in tags, as models are used to read them.

The text is well-formed whatever the repository has in it: source can neither close a tag nor the section that it is in.
"""

import re
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from coderag.retrieval.context_parts import SECTION_NAMES, ContextParts, one_line, told_of
from coderag.schema.context import ContextItem

_NO_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS: Final = re.compile(
    r"\]\]>|</?(?:context|note|results|related|relations|relation|document|left_out|omission|shown_before|place)\b",
    re.IGNORECASE,
)
"""What may end the section around source, for a parser or for a model that reads it."""


class XmlWriter:
    """A tag for each section and, in it, for each piece of code."""

    def item(self, item: ContextItem) -> str:
        """Return one item."""
        if not item.path:
            return f"<relation>{_text(item.text)}</relation>\n"
        tag = f"document{_attributes(told_of(item))}"
        return f"<{tag}>\n{_source(item.text)}\n</document>\n" if item.text.strip() else f"<{tag}/>\n"

    def write(self, parts: ContextParts) -> list[str]:
        """Return the whole text, in parts."""
        told = [f"<context{_attributes({'question': parts.question})}>\n"]
        if parts.note:
            told.append(f"<note>{_text(parts.note)}</note>\n")
        for section in parts.sections:
            name = SECTION_NAMES[section.name]
            told += [f"<{name}>\n", *map(self.item, section.items), f"</{name}>\n"]
        if parts.omitted:
            told.append(f"<left_out{_attributes({'more': str(parts.more_omitted or '')})}>\n")
            told += [
                f"<omission{_attributes({'name': one.title, 'tokens': str(one.tokens), 'fetch': one.fetch})}/>\n"
                for one in parts.omitted
            ]
            told.append("</left_out>\n")
        if parts.before:
            more = _attributes({"more": str(parts.more_before or "")})
            told.append(f"<shown_before{more}>{_text(', '.join(parts.before))}</shown_before>\n")
        return [*told, "</context>\n"]


def _attributes(values: dict[str, str]) -> str:
    return "".join(f" {name}={quoteattr(_clean(one_line(value)))}" for name, value in values.items() if value)


def _source(text: str) -> str:
    """Return source as it is, but escaped sign by sign where it has what looks like one of our tags."""
    clean = _clean(text)
    return escape(clean) if _TAGS.search(clean) else f"<![CDATA[{clean}]]>"


def _text(text: str) -> str:
    return escape(_clean(one_line(text)))


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
