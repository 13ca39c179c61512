"""Paths of mirrored items: safe on every file system, whatever a title or an id says."""

import hashlib
import unicodedata
from typing import Final

from coderag.config.source_sections import SOURCE_NAME_HINT, is_source_name
from coderag.errors import ConfigurationError
from coderag.schema.items import Item

_MAX_STEM_BYTES: Final = 80  # with hash and extension far below 143 bytes, the limit of encrypted Linux folders
_HASH_DIGITS: Final = 12


def check_source_name(name: str) -> str:
    """Return a name of a source, which is a folder's name, too.

    Raises:
        ConfigurationError: It has other characters than lower-case letters, digits, ``-`` and ``_``, or is reserved.
    """
    if not is_source_name(name):
        raise ConfigurationError(f"{name!r} is not a name of a source", hint=SOURCE_NAME_HINT)
    return name


def build_item_path(source: str, item: Item) -> str:
    """Return the path of an item's file, relative to the folder of the mirrored files.

    The name begins with a letter or digit and ends with a hash of the id, so that it is never hidden, reserved, a settings file
    or equal to another one on a file system that ignores case.
    """
    words = f"{item.id} {item.title}" if item.kind == "ticket" else item.title or item.id
    digest = hashlib.sha256(f"{source}\0{item.id}".encode("utf-8", "backslashreplace")).hexdigest()[:_HASH_DIGITS]
    return f"{source}/{item.kind}/{_build_stem(words) or item.kind}--{digest}.md"


def _build_stem(words: str) -> str:
    """Return words in lower case with hyphens between them, in any script, cut at a limit of bytes."""
    normalized = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", words).casefold())
    letters = "".join(character if _is_word_character(character) else " " for character in normalized)
    stem = "-".join(letters.split())
    return stem.encode()[:_MAX_STEM_BYTES].decode("utf-8", "ignore").strip("-")


def _is_word_character(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"
