"""Sessions of contexts: the keys that each has shown, one file per session beside the index."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from coderag.errors import InvalidQueryError, StoreError
from coderag.stores.disk import create_index_directory, map_storage_errors, replace_file

_SESSION_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_])?")
_MAX_SESSIONS: Final = 100
_LOCK_TIMEOUT_S: Final = 10.0


class ContextSessions:
    """Sessions of one index, safe for use by several threads and processes.

    Args:
        index_directory: Folder of the index.
        namespace: Reader to whom the sessions belong; others cannot name them. Empty for the owner of the index.
    """

    def __init__(self, index_directory: Path, namespace: str = "") -> None:
        self._index_directory = index_directory
        self._directory = index_directory / "sessions"
        if namespace:
            self._directory /= f"reader-{namespace}"

    def with_namespace(self, namespace: str) -> "ContextSessions":
        """Return the sessions of a reader of the same index."""
        return ContextSessions(self._index_directory, namespace)

    def read(self, name: str) -> list[str]:
        """Return the keys of a session; empty if it does not exist yet.

        Raises:
            InvalidQueryError: The name is invalid.
            StoreError: The file cannot be read.
        """
        path = self._build_session_path(name)
        with map_storage_errors(f"read the session {name}", hint=_format_forget_hint(name)):
            return _read_keys(path)

    def update(self, name: str, change: Callable[[Sequence[str]], Sequence[str]]) -> None:
        """Replace the keys of a session; beyond 100 sessions the least recently used are deleted.

        Args:
            name: Name of the session.
            change: Computes the new keys from the current ones.
        """
        path = self._build_session_path(name)
        with self._lock_sessions(name), map_storage_errors(f"write the session {name}", hint=_format_forget_hint(name)):
            replace_file(path, json.dumps([*change(_read_keys(path))], indent=0, ensure_ascii=False).encode("utf-8"))
            by_age = sorted(self._directory.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
            for oldest in by_age[_MAX_SESSIONS:]:
                oldest.unlink(missing_ok=True)

    def forget(self, name: str) -> bool:
        """Delete a session; return whether it existed."""
        path = self._build_session_path(name)
        if not path.exists():
            return False
        with self._lock_sessions(name), map_storage_errors(f"forget the session {name}"):
            path.unlink(missing_ok=True)
        return True

    def _build_session_path(self, name: str) -> Path:
        if not _SESSION_NAME.fullmatch(name):
            hint = "Use letters, digits, '-', '_' and '.', at most 64 characters."
            raise InvalidQueryError(f"{name[:80]!r} is not a valid session name", hint=hint)
        return self._directory / f"{name.lower()}.json"

    @contextmanager
    def _lock_sessions(self, name: str) -> Iterator[None]:
        import filelock  # noqa: PLC0415  # 0.07 s

        with map_storage_errors(f"write the session {name}"):
            create_index_directory(self._index_directory)
            self._directory.mkdir(parents=True, exist_ok=True)
        try:
            with filelock.FileLock(self._directory / "sessions.lock", timeout=_LOCK_TIMEOUT_S):
                yield
        except filelock.Timeout as error:
            raise StoreError(f"Cannot write the session {name}: another process is writing sessions") from error


def _read_keys(path: Path) -> list[str]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    keys = json.loads(content)  # a damaged file is a ValueError, which `map_storage_errors` explains
    if not (isinstance(keys, list) and all(isinstance(key, str) for key in keys)):
        raise ValueError("not a list of keys")
    return keys


def _format_forget_hint(name: str) -> str:
    return f"`coderag context --session {name} --forget` starts it over."
