"""The open-source projects of the golden sets: which revision, and how it gets onto this machine."""

import io
import subprocess
import tarfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coderag.errors import ConfigurationError, IngestionError

from .golden import faults

_HOST = "https://github.com"


class Source(BaseModel):
    """Where a project comes from.

    Attributes:
        repository: ``owner/name`` on GitHub.
        revision: The commit that the labels are about.
        root: Folder of it that is indexed, and from which the paths of the labels are seen; empty for all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    repository: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    language: str
    licence: str
    root: str = ""


def load_sources(path: Path) -> dict[str, Source]:
    """Return the projects of a ``sources.toml`` by name.

    Raises:
        ConfigurationError: The file or one of its tables cannot be used.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"sources {path}: {error}") from error
    sources = {}
    for name, table in sorted(tables.items()):
        try:
            sources[name] = Source.model_validate(table)
        except ValidationError as error:
            raise ConfigurationError(f"sources {path}: [{name}] {'; '.join(faults(error))}") from error
    return sources


def lay_out(name: str, source: Source, trees: Path, clones: Path | None = None) -> Path:
    """Return the folder with a project's files at its revision, made if it is not there yet.

    Args:
        name: Of the project.
        source: Where it comes from.
        trees: Folder of all projects' files.
        clones: Folder of git clones, bare or not, named ``owner+name``, ``owner+name/repo`` or ``name``; without it, the one
            revision is fetched.

    Raises:
        IngestionError: There is no clone of it, or the revision is not to be had.
    """
    target = trees / f"{name}-{source.revision[:12]}"
    if not target.is_dir():
        git_dir = _clone(source, clones) if clones else _fetched(source, trees / f"{name}.git")
        folder = [source.root] if source.root else []
        archive = _git(git_dir, "archive", "--format=tar", source.revision, *folder)
        unfinished = target.with_suffix(".unfinished")
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(unfinished, filter=_safe_member)  # noqa: S202  # the filter checks each
        unfinished.rename(target)
    return target / source.root


def _clone(source: Source, clones: Path) -> Path:
    owner, name = source.repository.split("/")
    for folder in (clones / f"{owner}+{name}" / "repo", clones / f"{owner}+{name}", clones / name):
        for path in (folder / ".git", folder):
            if (path / "HEAD").is_file() and (path / "objects").is_dir():
                return path
    raise IngestionError(f"no clone of {source.repository} in {clones}", hint="Leave --clones out to download it.")


def _fetched(source: Source, git_dir: Path) -> Path:
    """Return a bare repository with only the one revision in it."""
    git_dir.mkdir(parents=True, exist_ok=True)
    _git(git_dir, "init", "--bare", "--quiet")
    _git(git_dir, "fetch", "--quiet", "--depth=1", f"{_HOST}/{source.repository}.git", source.revision)
    return git_dir


def _git(git_dir: Path, *arguments: str) -> bytes:
    command = ["git", f"--git-dir={git_dir}", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise IngestionError("git is not installed") from error
    if done.returncode:
        told: Sequence[str] = done.stderr.decode(errors="replace").strip().splitlines()
        raise IngestionError(f"git {arguments[0]} failed in {git_dir}: {told[-1] if told else 'no message'}")
    return done.stdout


def _safe_member(member: tarfile.TarInfo, target: str) -> tarfile.TarInfo | None:
    """Return a file to extract; None leaves out what would be outside of the folder."""
    try:
        return tarfile.data_filter(member, target)
    except tarfile.FilterError:
        return None
