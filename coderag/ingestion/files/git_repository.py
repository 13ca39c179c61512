"""Git repositories: discovery, configuration and commands.

All functions work without git, too: the two settings for ignore rules are then read from git's files.
"""

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

from coderag.ingestion.files.regular_files import read_regular_file
from coderag.system.git import run_git_command

_logger = logging.getLogger(__name__)

_MAX_SMALL_FILE_BYTES = 1 << 20
_GIT_TIMEOUT_S = 120
_GIT_LOCATION = re.compile("GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|PREFIX|NAMESPACE|OBJECT_DIRECTORY)")


@dataclass(frozen=True, slots=True)
class GitRepository:
    """A git working tree.

    Attributes:
        common_dir: The git directory shared by all working trees of the repository.
    """

    top: Path
    common_dir: Path


def find_repository(directory: Path) -> GitRepository | None:
    """Find the innermost repository around a directory."""
    return next(filter(None, map(read_repository, (directory, *directory.parents))), None)


def read_repository(directory: Path) -> GitRepository | None:
    """Read the repository whose working tree begins at a directory. ``.git`` is a file in worktrees and submodules."""
    try:
        git_dir = _find_git_directory(directory)
        common_dir = git_dir / (_read_line(git_dir / "commondir") or ".")
        if (git_dir / "HEAD").exists() and (common_dir / "objects").is_dir():
            return GitRepository(directory, common_dir.resolve())
    except (OSError, ValueError, RuntimeError):  # unreadable, a NUL in a path, a loop of links
        pass
    return None


def find_shared_git_directory(directory: Path) -> Path | None:
    """Return the git directory that a linked working tree shares; None if the directory is not the top of one.

    Both sides must reference each other, so that a distributed ``.git`` file cannot point outside its files.
    """
    link = directory / ".git"
    try:
        if not link.is_file():
            return None
        git_dir = _find_git_directory(directory).resolve()
        shared = (git_dir / _read_line(git_dir / "commondir")).resolve()
        back = (git_dir / _read_line(git_dir / "gitdir")).resolve()
    except (OSError, ValueError, RuntimeError):  # unreadable, a NUL in a path, a loop of links
        return None
    return shared if git_dir.parent == shared / "worktrees" and back == link.resolve() else None


def is_bare(common_dir: Path) -> bool:
    """Return whether the repository of a git directory has no main working tree."""
    return _read_core_section(common_dir / "config").get("core.bare", "false").lower() in _TRUE_VALUES


def _find_git_directory(directory: Path) -> Path:
    git_dir = directory / ".git"
    return directory / _read_line(git_dir).removeprefix("gitdir:").strip() if git_dir.is_file() else git_dir


def _read_line(path: Path) -> str:
    return os.fsdecode(read_small_file(path, follow=True)).rstrip("\r\n")


def run_git(
    directory: Path, *arguments: str, data: bytes = b"", variables: Mapping[str, str] | None = None
) -> bytes | None:
    """Run a git command and return its output, or None if git is missing or fails.

    The repository is not trusted: commands in its configuration and a ``git`` inside it are never run. Only ``directory``
    selects the repository, even inside a git hook, which sets ``GIT_DIR``.

    Args:
        directory: Working directory.
        arguments: Arguments of git.
        data: Standard input of the command.
        variables: Environment variables to set, such as the file of another staging area.
    """
    result = try_git(directory, *arguments, data=data, variables=variables)
    if result is None:
        return None
    if result.returncode != 0:
        _logger.warning("git %s in %s: %s", arguments[0], directory, os.fsdecode(result.stderr).strip())
        return None
    return result.stdout


def try_git(
    directory: Path, *arguments: str, data: bytes = b"", variables: Mapping[str, str] | None = None
) -> CompletedProcess[bytes] | None:
    """Run a git command and return its process with its errors; None if git is missing. Otherwise as `run_git`."""
    return run_git_command(
        directory,
        arguments,
        is_excluded=_GIT_LOCATION.fullmatch,
        timeout_s=_GIT_TIMEOUT_S,
        environment=variables,
        stdin=data,
    )


class GitConfig(NamedTuple):
    """The two git settings that affect ignore rules."""

    excludes_file: Path
    ignore_case: bool


_CONFIG_LINE = re.compile(r"""\s*(\w+)\s*(?:=\s*"?([^"#;]*?)"?\s*)?(?:[#;].*)?""")
_TRUE_VALUES = ("", "true", "yes", "on", "1")


def read_config(directory: Path, repository: GitRepository | None) -> GitConfig:
    """Read git's settings for a directory: from git or, without git, from its files."""
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    printed = run_git(directory, "config", "-z", "--list")
    if printed is None:
        values = _read_config_files(_expand_home(home), repository)
    else:
        pairs = (entry.partition("\n") for entry in os.fsdecode(printed).split("\0"))
        values = {key: value for key, _, value in pairs}
    excludes_file = values.get("core.excludesfile", f"{home}/git/ignore")
    return GitConfig(
        directory / _expand_home(excludes_file), values.get("core.ignorecase", "false").lower() in _TRUE_VALUES
    )


def _expand_home(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # no home directory
        return Path(path)


def _read_config_files(config_home: Path, repository: GitRepository | None) -> dict[str, str]:
    """Read the ``[core]`` sections of the user's and the repository's configuration; includes are not followed."""
    user = os.environ.get("GIT_CONFIG_GLOBAL")
    files = [Path(user)] if user else [config_home / "git" / "config", _expand_home("~/.gitconfig")]
    files += [repository.common_dir / "config"] if repository else []
    values: dict[str, str] = {}
    for file in files:
        values |= _read_core_section(file)
    return values


def _read_core_section(file: Path) -> dict[str, str]:
    """Read the ``[core]`` sections of a git configuration file."""
    values: dict[str, str] = {}
    section = ""
    for line in os.fsdecode(read_small_file(file, follow=True)).splitlines():
        if line.lstrip().startswith("["):
            section = line.strip().strip("[] \t").lower()
        elif section == "core" and (setting := _CONFIG_LINE.fullmatch(line)):
            values[f"core.{setting[1].lower()}"] = (setting[2] or "").replace("\\\\", "\\")
    return values


def read_small_file(path: Path, *, follow: bool = False) -> bytes:
    """Read a small file of git or CodeRAG, up to 1 MiB; empty if it cannot be read."""
    try:
        return read_regular_file(path, _MAX_SMALL_FILE_BYTES, follow=follow)[0]
    except OSError:
        return b""
