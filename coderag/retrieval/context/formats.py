"""Output formats of contexts, by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from coderag.retrieval.context.json_writer import JsonContextWriter
from coderag.retrieval.context.markdown_writer import MarkdownContextWriter
from coderag.retrieval.context.parts import ContextWriter
from coderag.retrieval.context.xml_writer import XmlContextWriter
from coderag.schema.vocabulary import ContextFormat

WRITERS: Final[Mapping[ContextFormat, ContextWriter]] = MappingProxyType(
    {"markdown": MarkdownContextWriter(), "xml": XmlContextWriter(), "json": JsonContextWriter()}
)
