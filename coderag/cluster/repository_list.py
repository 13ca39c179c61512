"""Lists of repositories: one a line, as ``ADDRESS [NAME [REVISION]]``, with comments after ``#``."""

import re
import shlex
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from coderag.cluster.checkout import PROTOCOLS
from coderag.errors import ConfigurationError
from coderag.schema.cluster import ClusterRepository

_MAX_FIELDS: Final = 3
_MAX_NAMED: Final = 5
_is_scp_address = re.compile(r"[\w.-]+@[\w.-]+:[^/].*").fullmatch
_is_name = re.compile(r"[\w][\w./ -]{0,199}").fullmatch


def read_repositories(path: Path) -> list[ClusterRepository]:
    """Read a list; folders are relative to it.

    Raises:
        ConfigurationError: It cannot be read, is empty, or has an invalid line; all of them are named.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(f"cannot read the list {path}: {reason}") from error
    repositories: list[ClusterRepository] = []
    problems: list[str] = []
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            repository = _parse_line(line, path.resolve().parent)
        except ValueError as error:
            problems.append(f"line {number}: {error}")
            continue
        if repository is None:
            continue
        if repository.name in lines:
            problems.append(f"line {number}: {repository.name!r} is the name of line {lines[repository.name]}, too")
            continue
        lines[repository.name] = number
        repositories.append(repository)
    if problems:
        more = f"; and {len(problems) - _MAX_NAMED} more" if len(problems) > _MAX_NAMED else ""
        hint = "A line is ADDRESS [NAME [REVISION]]; put quotes around what has spaces."
        raise ConfigurationError(
            f"{path} is no list of repositories: {'; '.join(problems[:_MAX_NAMED])}{more}", hint=hint
        )
    if not repositories:
        raise ConfigurationError(f"{path} names no repository", hint="Write one address a line.")
    return repositories


def _parse_line(line: str, base: Path) -> ClusterRepository | None:
    """Parse a line; None for an empty one. Raises `ValueError`."""
    fields = shlex.split(line, comments=True)
    if not fields:
        return None
    if len(fields) > _MAX_FIELDS:
        message = f"{len(fields)} fields instead of at most {_MAX_FIELDS}"
        raise ValueError(message)
    address, name, revision = [*fields, *[""] * (_MAX_FIELDS - len(fields))]
    address = _resolve_address(address, base)
    name = name or re.split(r"[/:\\]", address.rstrip("/\\"))[-1].removesuffix(".git")
    if not _is_name(name) or ".." in name:
        message = f"{name!r} cannot be a name"
        raise ValueError(message)
    if revision.startswith("-"):
        message = f"{revision!r} is no revision"
        raise ValueError(message)
    return ClusterRepository(name, address, revision)


def _resolve_address(address: str, base: Path) -> str:
    """Return a git address as it is, and a folder as an absolute one. Raises `ValueError`."""
    if _is_scp_address(address):
        return address
    if "://" not in address:
        folder = (base / Path(address).expanduser()).resolve()
        if not folder.is_dir():
            message = f"there is no folder {folder}"
            raise ValueError(message)
        return str(folder)
    parts = urlsplit(address)
    if parts.scheme not in PROTOCOLS or not parts.hostname:
        message = f"addresses begin with {', '.join(f'{scheme}://' for scheme in PROTOCOLS)}, not {parts.scheme}://"
        raise ValueError(message)
    if parts.password is not None:
        message = "an address must not have a password; configure a credential helper of git"
        raise ValueError(message)
    return address
