"""Origin of an index: made by this user, or shipped with the repository (docs/trust.md).

This user's index has a mark: an HMAC of the folder's path with the user's key, so that copied marks are invalid. Files
tracked by git came with the repository in any case: git overwrites ignored files when it updates a working tree.
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
)  # kept in git by projects; used only in trusted repositories
_KEY_BYTES: Final = 32


def is_foreign_index(root: Path) -> bool:
    """Return whether a repository's index folder is a link or not this user's own; False if it is missing."""
    folder = root / INDEX_FOLDER
    if _is_link(folder):
        return True
    return _has_state(folder) and (not _is_marked(folder) or is_tracked(root, _build_state_patterns()))


def find_fallback_folder(root: Path) -> Path:
    """Find the cache folder for the index of a repository whose own index folder is not trusted."""
    digest = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
    return find_cache_folder() / "indexes" / f"{root.resolve().name}-{digest}"


def mark_as_own(folder: Path) -> None:
    """Mark an empty index folder in a repository as this user's own.

    Does nothing for a configured location, or if the mark cannot be written.
    """
    if folder.name != INDEX_FOLDER or _has_state(folder):
        return
    with suppress(OSError):
        (folder / MARK_FILE).write_text(_compute_mark(folder, _load_key()) + "\n", encoding="ascii")


def _build_state_patterns() -> list[str]:
    """Build the git pathspecs of the index folder, without shared files."""
    # On case-insensitive file systems git puts `.CodeRAG` into the same folder.
    return [f":(icase){INDEX_FOLDER}", *(f":(icase,exclude){INDEX_FOLDER}/{name}" for name in sorted(_SHARED_NAMES))]


def _is_link(folder: Path) -> bool:
    try:
        expected = folder.parent.resolve() / folder.name  # Python 3.11 does not report Windows junctions as links
        return folder.is_symlink() or os.path.normcase(folder.resolve()) != os.path.normcase(expected)
    except (OSError, RuntimeError):  # a link loop
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
    except OSError:  # no key can be stored, so there are no marks
        return True
    try:
        mark = (folder / MARK_FILE).read_bytes()[: 2 * hashlib.sha256().digest_size]
    except OSError:
        return False
    return hmac.compare_digest(mark, _compute_mark(folder, key).encode())


def _compute_mark(folder: Path, key: bytes) -> str:
    return hmac.new(key, b"index " + os.fsencode(folder.resolve()), hashlib.sha256).hexdigest()


def _load_key() -> bytes:
    """Load this user's key, created on first use; raise `OSError` if that fails."""
    path = find_data_folder() / "index.key"
    with suppress(FileNotFoundError):
        if len(key := path.read_bytes()) == _KEY_BYTES:
            return key
        path.unlink()  # truncated by a crash
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    create_private(path, secrets.token_bytes(_KEY_BYTES))
    return path.read_bytes()
