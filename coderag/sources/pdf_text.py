"""PDF files as Markdown: a heading for each page with text."""

import logging
import time
from typing import IO

from pypdf import PasswordType, PdfReader

from coderag.errors import SourceError

_MAX_PAGES = 10_000
_TIMEOUT_S = 120.0  # for all pages together, checked between pages
# The library reports each oddity of a file; what cannot be read raises anyway.
logging.getLogger("pypdf").setLevel(logging.ERROR)


def convert_pages(file: IO[bytes], name: str) -> str:
    """Convert a PDF to Markdown. A file that opens without a password is read even if it is encrypted.

    Raises:
        SourceError: It needs a password, has too many pages, takes too long, or has no text, as a scan.
    """
    reader = PdfReader(file)
    if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
        message = f"{name} is encrypted"
        raise SourceError(message, hint="Save it without a password.")
    count = len(reader.pages)
    if count > _MAX_PAGES:
        message = f"{name} has {count:,} pages; {_MAX_PAGES:,} are read at most"
        raise SourceError(message)
    end = time.monotonic() + _TIMEOUT_S
    sections = []
    for number, page in enumerate(reader.pages, start=1):
        if text := page.extract_text().strip():
            sections.append(f"## Page {number}\n\n{text}")
        if time.monotonic() > end:
            message = f"{name} takes longer than {_TIMEOUT_S:.0f} s to read; {number:,} of {count:,} pages are read"
            raise SourceError(message)
    if count and not sections:
        message = f"{name} has no text; it may be a scan"
        raise SourceError(message)
    return "\n\n".join(sections)
