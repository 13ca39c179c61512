"""The formats of a context's text, by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from coderag.retrieval.context_json import JsonContextWriter
from coderag.retrieval.context_markdown import MarkdownContextWriter
from coderag.retrieval.context_parts import ContextWriter
from coderag.retrieval.context_xml import XmlContextWriter
from coderag.schema.vocabulary import ContextFormat

WRITERS: Final[Mapping[ContextFormat, ContextWriter]] = MappingProxyType(
    {"markdown": MarkdownContextWriter(), "xml": XmlContextWriter(), "json": JsonContextWriter()}
)
