"""Files of documentation systems as Markdown: Word, PowerPoint, PDF, HTML and text, by kept libraries and within limits."""

import mimetypes
import zipfile
from collections.abc import Callable
from contextlib import contextmanager
from io import BytesIO
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from coderag.errors import CodeRAGError, SourceError
from coderag.text.encodings import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DOCUMENT_BYTES: Final = 50 * 1024 * 1024
_MAX_UNPACKED_BYTES = 400 * 1024 * 1024
_MAX_XML_BYTES = 64 * 1024 * 1024  # of all XML parts together: a tree in memory takes about ten times as much
_MAX_PARTS = 20_000
_MAX_PROLOG_BYTES = 4_096
_MAX_MARKDOWN_CHARS = 20_000_000
_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # of encrypted Office files, and of those before 2007
_TEXT_SUFFIXES = frozenset(
    {
        ".adoc", ".asciidoc", ".bat", ".c", ".cc", ".cfg", ".clj", ".cmake", ".conf", ".cpp", ".cs", ".css", ".csv",
        ".cxx", ".dart", ".diff", ".ex", ".exs", ".fs", ".go", ".gradle", ".graphql", ".groovy", ".h", ".hpp", ".hs",
        ".ini", ".ipynb", ".java", ".jl", ".js", ".json", ".jsx", ".kt", ".kts", ".less", ".lua", ".m", ".markdown",
        ".md", ".mdx", ".mermaid", ".mmd", ".php", ".pl", ".plantuml", ".properties", ".proto", ".ps1", ".puml", ".py",
        ".r", ".rb", ".rst", ".rs", ".sass", ".scala", ".scss", ".sh", ".sql", ".svelte", ".swift", ".tex", ".text",
        ".tf", ".toml", ".ts", ".tsv", ".tsx", ".txt", ".vb", ".vue", ".wiki", ".xml", ".yaml", ".yml",
    }
)  # fmt: skip
_HTML_SUFFIXES = frozenset({".htm", ".html", ".xhtml"})


def can_convert(name: str) -> bool:
    """Return whether `convert_document` has a converter for a file of this name."""
    suffix = PurePosixPath(name.lower()).suffix
    guess = mimetypes.guess_type(f"x{suffix}")[0] or ""
    return suffix in _CONVERTERS or suffix in _HTML_SUFFIXES or suffix in _TEXT_SUFFIXES or guess.startswith("text/")


def convert_document(data: bytes, name: str) -> str:
    """Convert a file to Markdown; text and code stay as they are.

    Args:
        data: Contents of the file.
        name: Its name; the suffix chooses the converter. A name without a known suffix is read as text.

    Raises:
        SourceError: The file is too large, encrypted, damaged or not text, or the library for it is not installed.
    """
    if len(data) > MAX_DOCUMENT_BYTES:
        message = f"{name} has {len(data):,} bytes; {MAX_DOCUMENT_BYTES:,} are read at most"
        raise SourceError(message)
    suffix = PurePosixPath(name.lower()).suffix
    if convert := _CONVERTERS.get(suffix):
        text = convert(data, name)
    else:
        decoded = decode(data)
        if decoded is None:
            message = f"{name} is not text"
            raise SourceError(message)
        text = convert_html(decoded.text, name) if suffix in _HTML_SUFFIXES else decoded.text
    if len(text) > _MAX_MARKDOWN_CHARS:
        message = f"{name} has {len(text):,} characters of text; {_MAX_MARKDOWN_CHARS:,} are read at most"
        raise SourceError(message)
    return text


def convert_html(html: str, name: str = "a field with HTML") -> str:
    """Convert HTML to Markdown, without scripts, styles and embedded images.

    Raises:
        SourceError: The library is not installed.
    """
    with _convert(name):
        from bs4 import BeautifulSoup  # noqa: PLC0415  # of the extra `sources`
        from markdownify import MarkdownConverter  # noqa: PLC0415  # as above

        soup = BeautifulSoup(html, "html.parser")
        for tag in soup(["script", "style", "template", "noscript", "title"]):
            tag.decompose()
        for anchor in soup("a"):
            if str(anchor.get("href", "")) in {"", "#"}:  # a mention of a person
                anchor.unwrap()
        for image in soup("img"):
            if str(image.get("src", "")).startswith("data:"):
                image.replace_with(str(image.get("alt", "")))
        try:
            # Escapes would break names with underscores apart, which searches look for.
            text: str = MarkdownConverter(
                heading_style="ATX", bullets="-", escape_underscores=False, escape_asterisks=False
            ).convert_soup(soup)
        except RecursionError:  # thousands of nested tags
            text = soup.get_text("\n")
        return text.strip()


def _convert_docx(data: bytes, name: str) -> str:
    _check_package(data, name)
    with _convert(name):
        import mammoth  # noqa: PLC0415  # of the extra `sources`

        result = mammoth.convert_to_html(
            BytesIO(data),
            convert_image=mammoth.images.img_element(lambda _: {"src": ""}),
            style_map="comment-reference => sup",  # comments are left out without it
            external_file_access=False,
        )
        return convert_html(result.value, name)


def _convert_pptx(data: bytes, name: str) -> str:
    _check_package(data, name)
    with _convert(name):
        from coderag.sources.slide_text import convert_slides  # noqa: PLC0415  # of the extra `sources`

        return convert_slides(BytesIO(data))


def _convert_pdf(data: bytes, name: str) -> str:
    with _convert(name):
        from coderag.sources.pdf_text import convert_pages  # noqa: PLC0415  # of the extra `sources`

        return convert_pages(BytesIO(data), name)


def _check_package(data: bytes, name: str) -> None:
    """Check an Office file before a library unpacks it: its encryption, and its size when unpacked."""
    if data.startswith(_OLE_MAGIC):
        message = f"{name} is encrypted, or in the format before Office 2007"
        raise SourceError(message, hint="Save it without a password, in the current format.")
    with _convert(name), zipfile.ZipFile(BytesIO(data)) as package:
        parts = package.infolist()
        if any(part.flag_bits & 1 for part in parts):
            message = f"{name} is encrypted"
            raise SourceError(message, hint="Save it without a password.")
        xml_parts = [part for part in parts if part.filename.lower().endswith((".xml", ".rels"))]
        unpacked = sum(part.file_size for part in parts)
        xml_bytes = sum(part.file_size for part in xml_parts)
        if len(parts) > _MAX_PARTS or unpacked > _MAX_UNPACKED_BYTES or xml_bytes > _MAX_XML_BYTES:
            message = f"{name} unpacks to {unpacked:,} bytes in {len(parts):,} parts, which is too large"
            raise SourceError(message)
        for part in xml_parts:
            with package.open(part) as file:
                head = file.read(_MAX_PROLOG_BYTES).replace(b"\0", b"")  # UTF-16, too
            if b"<!DOCTYPE" in head:  # entities could expand without limit; the format has none
                message = f"{name} is damaged: {part.filename} declares a document type"
                raise SourceError(message)


@contextmanager
def _convert(name: str) -> "Iterator[None]":
    """Translate the exceptions of a conversion to `SourceError`."""
    try:
        yield
    except CodeRAGError:
        raise
    except ModuleNotFoundError as error:
        message = f"{name} cannot be converted: the Python package {error.name} is not installed"
        raise SourceError(message, hint="Install coderag-engine[sources].") from None
    except Exception as error:  # the libraries raise any exception on damaged files
        message = f"{name} is damaged: {type(error).__name__}: {error}"
        raise SourceError(message) from error


_CONVERTERS: dict[str, Callable[[bytes, str], str]] = {
    ".docx": _convert_docx,
    ".docm": _convert_docx,
    ".pptx": _convert_pptx,
    ".pptm": _convert_pptx,
    ".pdf": _convert_pdf,
}
