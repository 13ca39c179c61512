"""Detection of translated documents: files with a counterpart that has no language in its path, or English."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

_LANGUAGE_CODES: Final = (
    "ar|be|bg|bn|ca|ckb|cs|da|de|el|es|et|fa|fi|fil|fr|he|hi|hr|hu|id|it|ja|jp|ko|kr|lt|lv|ms|nb|nl|nn|no|pl|pt|ro|ru|sk|sl|sr|sv|"
    "ta|te|th|tr|uk|ur|uz|vi|zh"
)
_LANGUAGE_PATTERN: Final = rf"(?:{_LANGUAGE_CODES})(?:[-_](?:[A-Za-z]{{2}}|hans|hant|cmn[\w-]*|\d{{3}}))?"
_LANGUAGE_FOLDER: Final = re.compile(rf"(?:^|(?<=/)){_LANGUAGE_PATTERN}/", re.IGNORECASE)
_LANGUAGE_SUFFIX: Final = re.compile(rf"[._-]{_LANGUAGE_PATTERN}(?=\.\w+$)", re.IGNORECASE)
_ENGLISH_FOLDERS: Final = ("", "en/", "en-us/", "en_us/", "en-gb/")


def find_translations(paths: Sequence[str]) -> list[int]:
    """Find the positions of translations: ``docs/zh-CN/a.md`` with ``docs/a.md`` or ``docs/en/a.md``."""
    lower_paths = {path.lower() for path in paths}
    return [
        position
        for position, path in enumerate(paths)
        if any(original in lower_paths for original in _list_originals(path.lower()))
    ]


def _list_originals(path: str) -> Iterator[str]:
    """Yield the possible paths of the original of a translation."""
    for folder in _LANGUAGE_FOLDER.finditer(path):
        yield from (f"{path[: folder.start()]}{english}{path[folder.end() :]}" for english in _ENGLISH_FOLDERS)
    if suffix := _LANGUAGE_SUFFIX.search(path):
        yield from (f"{path[: suffix.start()]}{english}{path[suffix.end() :]}" for english in ("", ".en", "-en", "_en"))
