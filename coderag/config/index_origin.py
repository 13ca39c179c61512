"""Tell an index that this user made from one that came with the repository (docs/trust.md).

A mark in the folder says that it was, made with a key that only this user has. The folder's path is part of it, so that a mark
which a stranger copied from elsewhere says nothing. What git tracks in the folder came with the repository in any case: git
overwrites ignored files when it updates a working tree.
"""

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from coderag.config.repository_root import INDEX_FOLDER
from coderag.config.user_folders import find_cache_folder, find_data_folder
from coderag.system.atomic_write import create_private
from coderag.system.git import is_tracked

MARK_FILE: Final = "owner"

_SHARED_NAMES: Final = frozenset(
    {".gitignore", "prompts"}
)  # what projects keep in git; not used unless the repository is trusted
_KEY_BYTES: Final = 32


def is_foreign_index(root: Path) -> bool:
    """Whether the index's folder in a repository is not this user's own, or leads elsewhere; no if there is none."""
    folder = root / INDEX_FOLDER
    if _is_link(folder):
        return True
    return _has_state(folder) and (not _is_marked(folder) or is_tracked(root, _build_state_patterns()))


def find_fallback_folder(root: Path) -> Path:
    """Return where the index of a repository is whose own folder cannot be believed: in this user's cache."""
    digest = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
    return find_cache_folder() / "indexes" / f"{root.resolve().name}-{digest}"


def mark_as_own(folder: Path) -> None:
    """Mark an index's folder in a repository as this user's own if nothing is in it yet.

    Nothing is done elsewhere, where this user wanted an index to be, nor where no mark can be made.
    """
    if folder.name != INDEX_FOLDER or _has_state(folder):
        return
    with suppress(OSError):
        (folder / MARK_FILE).write_text(_compute_mark(folder, _load_key()) + "\n", encoding="ascii")


def _build_state_patterns() -> list[str]:
    """Return what to ask git for: all of the folder but what projects share."""
    # Whatever the case: where names are not told apart by it, git puts `.CodeRAG` into the same folder.
    return [f":(icase){INDEX_FOLDER}", *(f":(icase,exclude){INDEX_FOLDER}/{name}" for name in sorted(_SHARED_NAMES))]


def _is_link(folder: Path) -> bool:
    try:
        expected = folder.parent.resolve() / folder.name  # a junction of Windows is no symbolic link to Python 3.11
        return folder.is_symlink() or os.path.normcase(folder.resolve()) != os.path.normcase(expected)
    except (OSError, RuntimeError):  # a loop
        return True


def _has_state(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(entry.name not in _SHARED_NAMES or entry.is_symlink() for entry in entries)
    except OSError:
        return False


def _is_marked(folder: Path) -> bool:
    try:
        key = _load_key()
    except OSError:  # this user cannot keep a key, so that there are no marks to go by
        return True
    try:
        mark = (folder / MARK_FILE).read_bytes()[: 2 * hashlib.sha256().digest_size]
    except OSError:
        return False
    return hmac.compare_digest(mark, _compute_mark(folder, key).encode())


def _compute_mark(folder: Path, key: bytes) -> str:
    return hmac.new(key, b"index " + os.fsencode(folder.resolve()), hashlib.sha256).hexdigest()


def _load_key() -> bytes:
    """Return this user's key, made on first use; an `OSError` if it can neither be read nor made."""
    path = find_data_folder() / "index.key"
    with suppress(FileNotFoundError):
        if len(key := path.read_bytes()) == _KEY_BYTES:
            return key
        path.unlink()  # cut off by a crash
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    create_private(path, secrets.token_bytes(_KEY_BYTES))
    return path.read_bytes()
