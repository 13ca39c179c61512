"""Masking of paths for remote servers: each file or folder name becomes a keyed hash, reversible with the index.

``src/billing/invoice.test.ts`` becomes ``3f9a1c0d27b4/90ab12cd34ef/5d6e7f8091a2.ts``: equal names have equal tokens;
separators, leading dots and the last extension stay. Without the key a token reveals nothing. Unmasking uses the paths of
the index, so no table of names is stored.
"""

import hmac
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Final

from coderag.schema.chunks import get_module_name

TOKEN_DIGITS: Final = 12
"""48 bits: among 100,000 names, two collide with a probability of 2e-5. A collision is detected."""

_FILE_NAME = re.compile(r"(\.*)(.*?)(\.[A-Za-z0-9]{1,6})?", re.DOTALL)
_TOKEN = rf"[0-9a-f]{{{TOKEN_DIGITS}}}"
_MASKED_PATH = re.compile(rf"(?<![0-9A-Za-z_]){_TOKEN}(?:/\.*{_TOKEN})*(?![0-9A-Za-z_])")
_PLAIN_NAME = r"[\w.+@~-]+"
_PATH_LIKE = re.compile(rf"(?:{_PLAIN_NAME}|/)+")
_FINGERPRINT = b"\0fingerprint"  # no name of a file has a NUL


class PathMask:
    """Masks paths with one key.

    Args:
        key: Secret: with it, names can be guessed and verified against tokens.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._tokens: dict[str, str] = {"": ""}

    @cached_property
    def fingerprint(self) -> str:
        """Identifier of the key that does not reveal it."""
        return self._hash(_FINGERPRINT)

    def mask_path(self, path: str) -> str:
        """Mask a file's path."""
        folder, slash, name = path.rpartition("/")
        dots, stem, extension = _split_name(name)
        return f"{self.mask_folder(folder)}{slash}{dots}{self.get_token(stem)}{extension}"

    def mask_folder(self, path: str) -> str:
        """Mask a folder's path, or a file's path without extension: no part is treated as an extension."""
        return "/".join(_get_leading_dots(name) + self.get_token(name.lstrip(".")) for name in path.split("/"))

    def mask_module(self, path: str) -> str:
        """Mask the result of `module_of` for a file."""
        return self.mask_folder(get_module_name(path))

    def get_token(self, name: str) -> str:
        """Return the token of a name without leading dots and extension."""
        token = self._tokens.get(name)
        if token is None:
            token = self._tokens[name] = self._hash(name.encode("utf-8", "surrogatepass"))
        return token

    def _hash(self, data: bytes) -> str:
        return hmac.digest(self._key, data, "sha256").hex()[:TOKEN_DIGITS]


class MaskedPaths:
    """Masking and unmasking of an index's paths within texts.

    Args:
        mask: The mask.
        paths: All files of the index.
    """

    def __init__(self, mask: PathMask, paths: Iterable[str]) -> None:
        self.mask = mask
        self._paths = tuple(paths)

    def mask_text(self, text: str) -> str:
        """Mask the repository's names in a text: parts of paths, and file names with their extension."""
        for name in self._irregular_names:
            text = text.replace(name, self._masked_files.get(name) or self._masked_stems[name])
        return _PATH_LIKE.sub(lambda match: self._mask_match(match[0]), text)

    def unmask_text(self, text: str) -> str:
        """Restore the real names of masked paths, parts of paths, and files without their extension.

        Tokens that do not form a path of the repository are kept.
        """
        return _MASKED_PATH.sub(lambda match: self._unmask_match(match[0]), text)

    def _mask_match(self, match_text: str) -> str:
        path = match_text.rstrip(".")  # of the sentence
        folder, slash, name = path.rpartition("/")
        if slash:
            masked_folder = "/".join(self._masked_stems.get(part, part) for part in folder.split("/"))
            path = masked_folder + slash + (self._masked_files.get(name) or self._masked_stems.get(name, name))
        elif "." in name:
            path = self._masked_files.get(name, name)
        return path + match_text[len(match_text.rstrip(".")) :]

    def _unmask_match(self, masked: str) -> str:
        parts = masked.split("/")
        tokens = [part.lstrip(".") for part in parts]
        if not all(token in self._names_by_token for token in tokens):
            return masked
        real = "/".join(
            _get_leading_dots(part) + self._names_by_token[token] for part, token in zip(parts, tokens, strict=True)
        )
        is_place = any(f"{prefix}{real}{suffix}" in self._listing for prefix in "/." for suffix in "/.\n")
        return real if is_place else masked

    @cached_property
    def _listing(self) -> str:
        return "".join(f"/{path}\n" for path in self._paths)

    @cached_property
    def _masked_files(self) -> dict[str, str]:
        """Masked name of each file name."""
        return {name: self.mask.mask_path(name) for name in {path.rpartition("/")[2] for path in self._paths}}

    @cached_property
    def _masked_stems(self) -> dict[str, str]:
        """Masked name of each folder, and of each file without its extension."""
        folders = {name for path in self._paths for name in path.split("/")[:-1]}
        return {name: self.mask.mask_folder(name) for name in folders | set(map(get_module_name, self._masked_files))}

    @cached_property
    def _irregular_names(self) -> list[str]:
        """Names that the path pattern does not match, such as those with blanks, the longest first."""
        odd = (name for name in {*self._masked_files, *self._masked_stems} if not re.fullmatch(_PLAIN_NAME, name))
        return sorted(odd, key=len, reverse=True)

    @cached_property
    def _names_by_token(self) -> dict[str, str]:
        """Name of each token."""
        names: dict[str, str] = {}
        stems = (_split_name(name)[1] for name in self._masked_files)
        for name in (*(name.lstrip(".") for name in self._masked_stems), *stems):
            registered = names.setdefault(self.mask.get_token(name), name)
            assert registered == name, "two names share a token: set another privacy.key"
        return names


def _split_name(name: str) -> tuple[str, str, str]:
    """Split a file name into leading dots, stem and extension; a long extension belongs to the stem."""
    match = _FILE_NAME.fullmatch(name)
    assert match is not None
    return match[1], match[2], match[3] or ""


def _get_leading_dots(name: str) -> str:
    return name[: len(name) - len(name.lstrip("."))]
