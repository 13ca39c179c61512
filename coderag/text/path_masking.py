"""Paths as servers may see them: every name of a file or folder replaced by a keyed hash, and the way back.

``src/billing/invoice.test.ts`` becomes ``3f9a1c0d27b4/90ab12cd34ef/5d6e7f8091a2.ts``: the same name is always the same
token; separators, leading dots and the last extension stay. Without the key a token says nothing. The way back is made from
the paths of the index, so that no table of names lies anywhere.
"""

import hmac
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Final

from coderag.schema.chunks import get_module_name

TOKEN_DIGITS: Final = 12
"""48 bits: among 100,000 different names, two share a token with a probability of 2e-5. That is noticed, never mistaken."""

_FILE_NAME = re.compile(r"(\.*)(.*?)(\.[A-Za-z0-9]{1,6})?", re.DOTALL)
_TOKEN = rf"[0-9a-f]{{{TOKEN_DIGITS}}}"
_MASKED_PATH = re.compile(rf"(?<![0-9A-Za-z_]){_TOKEN}(?:/\.*{_TOKEN})*(?![0-9A-Za-z_])")
_PLAIN_NAME = r"[\w.+@~-]+"
_PATH_LIKE = re.compile(rf"(?:{_PLAIN_NAME}|/)+")
_FINGERPRINT = b"\0fingerprint"  # no name of a file has a NUL


class PathMask:
    """Masks paths with one key.

    Args:
        key: Secret: whoever has it can find out by trial which name a token stands for.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._tokens: dict[str, str] = {"": ""}

    @cached_property
    def fingerprint(self) -> str:
        """What tells the key from others and gives nothing of it away."""
        return self._hash(_FINGERPRINT)

    def mask_path(self, path: str) -> str:
        """Return a file's path, masked."""
        folder, slash, name = path.rpartition("/")
        dots, stem, extension = _split_name(name)
        return f"{self.mask_folder(folder)}{slash}{dots}{self.get_token(stem)}{extension}"

    def mask_folder(self, path: str) -> str:
        """Return a folder's path, masked, or that of a file without its extension: no part of it is one."""
        return "/".join(_get_leading_dots(name) + self.get_token(name.lstrip(".")) for name in path.split("/"))

    def mask_module(self, path: str) -> str:
        """Return what `get_module_name` gives for a file, masked."""
        return self.mask_folder(get_module_name(path))

    def get_token(self, name: str) -> str:
        """Return what stands for a name that has no leading dots and no extension."""
        token = self._tokens.get(name)
        if token is None:
            token = self._tokens[name] = self._hash(name.encode("utf-8", "surrogatepass"))
        return token

    def _hash(self, data: bytes) -> str:
        return hmac.digest(self._key, data, "sha256").hex()[:TOKEN_DIGITS]


class MaskedPaths:
    """The paths of an index, masked and unmasked within texts.

    Args:
        mask: How they are masked.
        paths: All files of the index.
    """

    def __init__(self, mask: PathMask, paths: Iterable[str]) -> None:
        self.mask = mask
        self._paths = tuple(paths)

    def mask_text(self, text: str) -> str:
        """Return a text with names of the repository masked where they are part of a path, or a file's with its extension."""
        for name in self._irregular_names:
            text = text.replace(name, self._masked_files.get(name) or self._masked_stems[name])
        return _PATH_LIKE.sub(lambda match: self._mask_match(match[0]), text)

    def unmask_text(self, text: str) -> str:
        """Return a text with the real names of masked paths, parts of paths, and files without their extension.

        What stands for no place of the repository stays as it is.
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
        """Each file's name, masked."""
        return {name: self.mask.mask_path(name) for name in {path.rpartition("/")[2] for path in self._paths}}

    @cached_property
    def _masked_stems(self) -> dict[str, str]:
        """Each folder's name and each file's without its extension, masked."""
        folders = {name for path in self._paths for name in path.split("/")[:-1]}
        return {name: self.mask.mask_folder(name) for name in folders | set(map(get_module_name, self._masked_files))}

    @cached_property
    def _irregular_names(self) -> list[str]:
        """Names that no pattern of paths matches, such as those with blanks, the longest first."""
        odd = (name for name in {*self._masked_files, *self._masked_stems} if not re.fullmatch(_PLAIN_NAME, name))
        return sorted(odd, key=len, reverse=True)

    @cached_property
    def _names_by_token(self) -> dict[str, str]:
        """The name that each token stands for."""
        names: dict[str, str] = {}
        stems = (_split_name(name)[1] for name in self._masked_files)
        for name in (*(name.lstrip(".") for name in self._masked_stems), *stems):
            registered = names.setdefault(self.mask.get_token(name), name)
            assert registered == name, "two names share a token: set another privacy.key"
        return names


def _split_name(name: str) -> tuple[str, str, str]:
    """Return the leading dots, the stem and the extension of a file's name; a long extension belongs to the stem."""
    match = _FILE_NAME.fullmatch(name)
    assert match is not None
    return match[1], match[2], match[3] or ""


def _get_leading_dots(name: str) -> str:
    return name[: len(name) - len(name.lstrip("."))]
