"""Which documents are translations of others: files beside the same one without a language in its path, or in English."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

_CODES: Final = (
    "ar|be|bg|bn|ca|ckb|cs|da|de|el|es|et|fa|fi|fil|fr|he|hi|hr|hu|id|it|ja|jp|ko|kr|lt|lv|ms|nb|nl|nn|no|pl|pt|ro|ru|sk|sl|sr|sv|"
    "ta|te|th|tr|uk|ur|uz|vi|zh"
)
_LANGUAGE: Final = rf"(?:{_CODES})(?:[-_](?:[A-Za-z]{{2}}|hans|hant|cmn[\w-]*|\d{{3}}))?"
_FOLDER: Final = re.compile(rf"(?:^|(?<=/)){_LANGUAGE}/", re.IGNORECASE)
_NAME: Final = re.compile(rf"[._-]{_LANGUAGE}(?=\.\w+$)", re.IGNORECASE)
_ENGLISH: Final = ("", "en/", "en-us/", "en_us/", "en-gb/")


def translated(paths: Sequence[str]) -> list[int]:
    """Return the positions of the paths that are translations: ``docs/zh-CN/a.md`` beside ``docs/a.md`` or ``docs/en/a.md``."""
    known = {path.lower() for path in paths}
    return [place for place, path in enumerate(paths) if any(one in known for one in _originals(path.lower()))]


def _originals(path: str) -> Iterator[str]:
    """Yield the paths that a document has if this one is its translation."""
    for found in _FOLDER.finditer(path):
        yield from (f"{path[: found.start()]}{english}{path[found.end() :]}" for english in _ENGLISH)
    if named := _NAME.search(path):
        yield from (f"{path[: named.start()]}{english}{path[named.end() :]}" for english in ("", ".en", "-en", "_en"))
