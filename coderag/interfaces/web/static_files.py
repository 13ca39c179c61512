"""Built files of the web interface, stored compressed."""

import gzip
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Final

PAGE: Final = "index.html"
"""The one page; its script shows the view of the address."""

ASSET_PREFIX: Final = "assets/"
"""Files below it have the hash of their content in their names, so browsers may keep them."""

COMPRESSED_SUFFIX: Final = ".gz"

_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A built file.

    Attributes:
        content: Its content, compressed with gzip.
        media_type: Its media type, with the charset of texts.
    """

    content: bytes
    media_type: str

    def decompress(self) -> bytes:
        """Return the content for clients that do not accept gzip."""
        return gzip.decompress(self.content)


class StaticFiles:
    """Built files by name, read once."""

    def find(self, name: str) -> StaticFile | None:
        """Return a file by its path below the root; None if there is none. Nothing outside the list can be named."""
        return self._files.get(name)

    @cached_property
    def _files(self) -> Mapping[str, StaticFile]:
        folder = files("coderag.interfaces.web") / "static"
        root_files = {entry.name: entry for entry in folder.iterdir()} if folder.is_dir() else {}
        assets = root_files.pop(ASSET_PREFIX.rstrip("/"), None)
        entries = {**root_files, **{ASSET_PREFIX + entry.name: entry for entry in (assets.iterdir() if assets else ())}}
        return {
            name.removesuffix(COMPRESSED_SUFFIX): StaticFile(
                entry.read_bytes(), find_media_type(name.removesuffix(COMPRESSED_SUFFIX))
            )
            for name, entry in entries.items()
            if name.endswith(COMPRESSED_SUFFIX)
        }


def find_media_type(name: str) -> str:
    """Return the media type of a file name; the system's table may be incomplete or changed."""
    suffix = name[name.rfind(".") :] if "." in name else ""
    media_type = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return f"{media_type}; charset=utf-8" if media_type.startswith(("text/", "image/svg")) else media_type
